//! What agents get to see of the shared memory.
//!
//! `index` finds texts by their words, which `words` cuts into terms; `finder` searches for
//! commands; `selection` writes the section of a prompt; `recall` does both for an attempt;
//! `freshness` asks git which facts may be out of date; `log` reads what happened; `news` groups
//! new learnings; `tally` counts what no event says. Nothing here decides: the rules never ask the
//! index, and it can be built anew from the state at any time.

pub mod finder;
pub mod freshness;
pub mod index;
pub mod log;
pub mod news;
pub mod recall;
pub mod selection;
pub mod tally;
mod words;
