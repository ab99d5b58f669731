//! The daemon: one actor that writes, and the drivers that carry out its effects.
//!
//! `lifecycle` starts and stops it. `actor` decides; `effects`, `runs`, `hooks` and `checkpoints`
//! carry out. `files` reads and writes `.swarm/`; `offline` reads and changes the state without a
//! daemon. `preflight` checks programs, `clean` frees space, `repair` repairs a damaged state,
//! `review` shows finished work.
//! `memory` selects what agents get to see of the shared memory.
//! `error` has the errors of all of these, `testkit` an actor's double for tests.
//! Invariant: an event is on disk before anything follows from it; no driver touches the state.

pub mod actor;
pub mod checkpoints;
pub mod clean;
pub mod effects;
pub mod error;
pub mod files;
pub mod hooks;
pub mod lifecycle;
pub mod memory;
pub mod offline;
pub mod preflight;
pub mod repair;
pub mod review;
mod runs;
#[doc(hidden)]
pub mod testkit;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests;

pub use actor::handle::{Accepted, CommandError, Handle};
pub use error::DaemonError;
pub use files::config_loader::{owned_arguments, unasked};
pub use files::paths::Paths;
pub use lifecycle::daemon::{Daemon, End, Options};
pub(crate) use runs::launch_record::transcript;
