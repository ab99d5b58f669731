//! Programs of a person's that are told of certain moments: where they lie, whether they may run, what they are told.
//!
//! Invariant: nothing is run here, and nothing is asked but the files. A file is run only when [`look`] has nothing against it; who brought
//! its content in is for git to say.

mod catalogue;
mod invocation;
mod trust;

pub use catalogue::{Entry, FOLDER, From, catalogue, in_folder};
pub use invocation::{Invocation, invocation, sample};
pub use trust::{Refused, Way, look, names};
