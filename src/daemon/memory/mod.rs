//! What agents get to see of the shared memory.
//!
//! `index` finds texts by their words, `finder` keeps an index up with the state and searches it;
//! `selection` writes the section of a prompt. `words` cuts a text into the terms that the index
//! compares. Nothing here decides: the rules never ask the
//! index, and the index can be built anew from the state at any time.

pub mod finder;
pub mod index;
pub mod selection;
mod words;
