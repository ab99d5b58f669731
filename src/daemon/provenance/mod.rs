//! Provenance records: what each iteration was given, what it did, and what came of it.
//!
//! `inputs` keeps what only the launch knows. `build` makes a record of a run's directory and of
//! git, with `response` from the run's output, `reads` and `artifacts` from git and `gate` from the
//! quality commands; `store` keeps its file. `log` reads what the event log says, `find` the record
//! that somebody means, and `verify` checks all of it. In a daemon, `recorder` writes the records
//! that are owed, `expiry` deletes old ones, and `replay` repeats an iteration.
//! Invariant: a record says only what was found; nothing waits for one, and no decision reads one.

mod artifacts;
pub mod build;
mod expiry;
pub mod find;
mod gate;
pub mod inputs;
pub mod log;
mod reads;
pub(crate) mod recorder;
pub(crate) mod replay;
mod response;
pub mod store;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod testkit;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests;
pub mod verify;

pub use build::{RecordError, build};
