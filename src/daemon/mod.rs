//! The daemon: one actor that writes, and the drivers that carry out its effects.
//!
//! `lifecycle` starts and stops it. `actor` decides; `effects`, `runs`, `hooks` and `checkpoints`
//! carry out. `files` reads and writes `.swarm/`; `offline` reads and changes the state without a
//! daemon, `checks_probe` finds out whether the checks see their tree. `preflight` checks
//! programs, `clean` frees space, `repair` repairs a damaged state,
//! `review` shows finished work, `snapshot_rebuild` writes the snapshot anew, `export` packs a
//! swarm as an archive, `transfer` continues one from an archive. `memory` selects what agents get
//! to see of the shared memory, `provenance` records what each iteration was given and did, and
//! `agent_state` gathers what one agent knows, which `agent_import` lets an idea go on from.
//! `error` has the errors of all of these, `testkit` an actor's double for tests.
//! Invariant: an event is on disk before anything follows from it; no driver touches the state.

pub mod actor;
pub mod agent_import;
pub mod agent_state;
pub mod checkpoints;
pub mod checks_probe;
pub mod clean;
pub mod effects;
pub mod error;
pub mod export;
pub mod files;
pub mod hooks;
pub mod lifecycle;
pub mod memory;
pub mod offline;
pub mod preflight;
pub mod provenance;
pub mod repair;
pub mod review;
mod runs;
pub mod snapshot_rebuild;
#[doc(hidden)]
pub mod testkit;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests;
pub mod transfer;

pub use actor::handle::{Accepted, CommandError, Handle};
pub use error::DaemonError;
pub use files::config_loader::{owned_arguments, unasked};
pub use files::paths::Paths;
pub use lifecycle::daemon::{Daemon, End, Options};
pub(crate) use runs::launch_record::transcript;
