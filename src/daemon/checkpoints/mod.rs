//! Checkpoints and rollbacks outside the log. Called by `effects` and the API.
//!
//! `create` and `delete` make and remove a checkpoint (references, tag, file), and `file` reads and
//! writes its file. `rollback` checks a rollback and moves the target; `list` shows checkpoints and
//! previews a rollback; `request` asks a daemon for these and waits.
//! Invariant: a checkpoint exists if its file does, which is written last and removed first. Every
//! call may be repeated after a kill: tag and file carry the number of their effect.

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

/// Prefix of the names of all their tags.
pub(in crate::daemon) const TAGS: &str = "refs/tags/swarm/checkpoint/";

/// The prefix of all private references.
const REFERENCES: &str = "refs/swarm/checkpoints/";

/// The prefix of its private references.
fn references(name: &CheckpointName) -> String {
    format!("{REFERENCES}{name}/")
}

fn reference(name: &CheckpointName, agent: &AgentId) -> String {
    format!("{}{agent}", references(name))
}
