//! The pure rules: what may happen, and what follows. See the architecture in the crate's
//! documentation.
//!
//! Invariant: nothing here touches a file, a process, git, the clock or randomness; time and fresh
//! ids come in with the input.

pub mod backlog;
pub mod checkpoint;
pub mod command;
pub mod decide;
pub mod effect;
pub mod event;
pub mod evolve;
pub mod hook;
pub mod ids;
pub mod lifecycle;
pub mod message;
pub mod observation;
pub mod provider;
pub mod redirect;
pub mod rejection;
pub mod retention;
pub mod scheduling;
pub mod session;
pub mod settings;
pub mod signal;
pub mod state;
pub mod time;
pub mod usage;
pub mod verdict;

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, clippy::manual_assert)]
// stories read best with plain values
pub(crate) mod testkit;
#[cfg(test)]
#[allow(clippy::items_after_statements, clippy::for_kv_map)]
// a test names its words where it uses them
mod tests;
