//! The pure rules: what may happen, and what follows. See the architecture in the crate's
//! documentation.
//!
//! | place | does |
//! | --- | --- |
//! | [`command`], [`observation`], [`rejection`] | what comes in from people and from drivers; why a command is refused |
//! | [`decide`] | the rules: input and state in, events and effects out |
//! | [`event`], [`effect`] | what happened; what is to be done outside |
//! | [`state`], [`evolve`], [`lifecycle`] | what is kept; how an event changes it; the phases |
//! | [`scheduling`], [`retention`] | which idea is next; what may be thrown away |
//! | [`signal`], [`session`], [`usage`], [`verdict`] | what an agent's program says, resumes, uses and reports at its end |
//! | [`hook`], [`settings`] | the person's own programs; the configuration that decisions use |
//! | [`ids`], [`time`] | names and points in time, valid from the moment they exist |
//!
//! Invariant: nothing here touches a file, a process, git, the clock or randomness; time and fresh
//! ids come in with the input.

pub mod command;
pub mod decide;
pub mod effect;
pub mod event;
pub mod evolve;
pub mod hook;
pub mod ids;
pub mod lifecycle;
pub mod observation;
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
