//! Checkpoints and the moves of a rollback: what they are made of outside the log.
//!
//! | file | does |
//! | --- | --- |
//! | `file` | the JSON file of a checkpoint: written whole or not at all, read with suspicion |
//! | `create`, `delete` | a checkpoint comes and goes: private references, tag, file |
//! | `rollback` | whether a rollback can be done, and the move of the target |
//! | `list` | what there is, and what a rollback would change |
//! | `request` | asking a daemon for one of these, and waiting for its end |
//!
//! Invariant: a checkpoint is there when its file is: that comes last and goes first. Everything
//! may be done again after a kill; what a call that was cut short left is known by the number of
//! its effect, which tag and file carry.

mod create;
mod delete;
pub mod file;
pub mod list;
pub mod request;
mod rollback;

pub(super) use create::{create, settled};
pub(super) use delete::{delete, sweep};
pub(super) use rollback::{check, move_target};

use crate::domain::ids::{AgentId, CheckpointName};

/// The name of a checkpoint's tag, below `refs/tags/`.
pub fn tag_of(name: &CheckpointName) -> String {
    format!("swarm/checkpoint/{name}")
}

/// Where the private references of all are.
const REFERENCES: &str = "refs/swarm/checkpoints/";

/// Where its private references are.
fn references(name: &CheckpointName) -> String {
    format!("{REFERENCES}{name}/")
}

fn reference(name: &CheckpointName, agent: &AgentId) -> String {
    format!("{}{agent}", references(name))
}
