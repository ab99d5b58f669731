//! The running daemon: one writer, and the drivers that it sends out; and the same state without a
//! daemon (`offline`).
//!
//! `lifecycle` starts and ends it; `actor` is the one writer; `effects` has the drivers, `runs`
//! those of agents and commands, `hooks` the person's own programs, `checkpoints` going back.
//! `files` is what it reads and writes. `preflight` looks at programs before a start, `clean` makes
//! room, `repair` mends a damaged state.
//! Invariant: an event is on disk before anything that follows from it happens; only the actor
//! decides, and no driver touches the state.

pub mod actor;
pub mod checkpoints;
pub mod clean;
pub mod effects;
pub mod error;
pub mod files;
pub mod hooks;
pub mod lifecycle;
pub mod offline;
pub mod preflight;
pub mod repair;
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
