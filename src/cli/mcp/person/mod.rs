//! The tools of a person's own agent: they show the swarm, add and change ideas, and speak to its
//! agents.
//!
//! Invariant: they do what the command line does, by the same code, and answer with what its
//! `--json` prints. What loses work or decides what lands is no tool: rollback, cancel, stop,
//! retract and the decisions on merges.
//!
//! `tools` describes them, `arguments` reads what a client passes, `calls` carries a call out, and
//! `limit` shortens long answers.

mod arguments;
mod calls;
mod limit;
mod tools;

pub(super) use arguments::Call;
pub(super) use calls::carry_out;
pub(super) use tools::PersonTool;
