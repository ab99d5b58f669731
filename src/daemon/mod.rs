//! The running daemon: one writer, and the drivers that it sends out; and the same state without a daemon.
//!
//! Invariant: an event is on disk before anything that follows from it happens; only the actor decides, and no driver touches the state.
//!
//! `run` starts and ends it; `actor` is the loop; `ledger`, `snapshots` and `views` are what it writes; `dispatch` sends effects to `runs`,
//! `git_effects` and `inbox`; `hooks` knows which programs of a person's are told of what; `attend` looks at files, `ending` heeds signals; `clean` makes room.

mod actor;
mod attend;
mod began;
mod briefing;
pub mod checkpoints;
pub mod clean;
pub mod clock;
mod dispatch;
mod ear;
mod ending;
pub mod error;
mod git_effects;
pub mod handle;
pub mod hooks;
mod inbox;
mod launch;
mod ledger;
mod listen;
mod loader;
mod log;
mod memory;
mod merge_effects;
pub mod muster;
pub mod offline;
pub mod paths;
mod redirect;
mod remains;
pub mod repair;
mod returns;
pub mod run;
mod runs;
mod settings;
mod signals;
mod snapshots;
mod store;
pub mod supervisor;
#[doc(hidden)]
pub mod testkit;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests;
mod tools;
pub mod trust;
pub mod views;
mod watch;

pub(crate) use began::transcript;
pub use error::DaemonError;
pub use handle::{Accepted, CommandError, Handle};
pub use loader::{owned_arguments, unasked};
pub use paths::Paths;
pub use run::{Daemon, End, Options};
