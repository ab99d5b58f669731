//! The pure rules: what may happen, and what follows. See the architecture in the crate's
//! documentation.
//!
//! | place | does |
//! | --- | --- |
//! | [`operation`], [`request`] | the commands, who may send each, and who sent one |
//! | [`observation`] | input from drivers |
//! | [`rejection`] | why a command was refused |
//! | [`decide`] | the rules: input and state in, events and effects out |
//! | [`event`], [`effect`], [`outcome`] | what happened; what to do outside; what it led to |
//! | [`state`], [`evolve`], [`lifecycle`] | the state; how an event changes it; its phases |
//! | [`scheduling`], [`retention`] | which idea is next; what may be deleted |
//! | [`attention`] | what needs a person, and whether anything can continue without one |
//! | [`signal`], [`session`] | what an agent's program signals, and the conversation it resumes |
//! | [`memory`] | what agents know together: learnings, facts, notes |
//! | [`usage`], [`verdict`] | what it uses, and what it reports of its own end |
//! | [`hook`], [`settings`] | a person's programs; the settings that decisions use |
//! | [`likeness`], [`reads`] | how alike two iterations are; which files a tool's call reads |
//! | [`secrets`] | text that has the shape of a secret, and what it becomes |
//! | [`ids`], [`time`] | names and points in time, checked when created |
//!
//! Invariant: nothing here touches files, processes, git, the clock or randomness; time and new ids
//! come in with the input. `daemon` calls `decide` and `evolve`; every room may use the types.

pub mod attention;
pub mod decide;
pub mod effect;
pub mod event;
pub mod evolve;
pub mod hook;
pub mod ids;
pub mod lifecycle;
pub mod likeness;
pub mod memory;
pub mod observation;
pub mod operation;
pub mod outcome;
pub mod reads;
pub mod rejection;
pub mod request;
pub mod retention;
pub mod scheduling;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod signal;
pub mod state;
pub mod time;
pub mod usage;
pub mod verdict;
pub mod warning;

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, clippy::manual_assert)]
// stories read best with plain values
pub(crate) mod testkit;
#[cfg(test)]
#[allow(clippy::items_after_statements, clippy::for_kv_map)]
// a test names its words where it uses them
mod tests;
