//! Checkpoints and rollbacks outside the log. Called by `effects` and the API.
//!
//! `create` and `delete` make and remove a checkpoint's references, and `file` reads and writes its
//! file. `work_refs` puts lost references to work back. `rollback` checks a rollback and moves the
//! target; `list` shows checkpoints and previews a rollback; `request` asks a daemon for these and
//! waits.
//! Invariant: a checkpoint exists if the reference to its tag object does, which is made last and
//! removed first. What `.swarm/checkpoints/` shows is a view of the file in git. Every call may be
//! repeated after a kill: the file carries the number of its effect.

mod create;
mod delete;
pub mod file;
pub mod list;
pub mod request;
mod rollback;
pub mod work_refs;

pub(super) use create::{create, settled};
pub use delete::retire_all;
pub(super) use delete::{delete, sweep};
pub(super) use rollback::{check, move_target};

use crate::domain::ids::{AgentId, CheckpointName};

/// Prefix of the references to their tag objects.
pub(in crate::daemon) const REFERENCES: &str = "refs/swarm/checkpoints/";

/// Prefix of the references to their files.
const FILES: &str = "refs/swarm/checkpoint-files/";

/// Prefix of the references to agents' work in them.
const WORK: &str = "refs/swarm/checkpoint-work/";

/// Prefix of the tags that people asked for.
pub(in crate::daemon) const TAGS: &str = "refs/tags/swarm/checkpoint/";

/// The reference to a checkpoint's tag object.
pub fn reference_of(name: &CheckpointName) -> String {
    format!("{REFERENCES}{name}")
}

/// The reference to its file.
pub(in crate::daemon) fn file_reference(name: &CheckpointName) -> String {
    format!("{FILES}{name}")
}

/// The tag that a person may have asked for.
fn tag_reference(name: &CheckpointName) -> String {
    format!("{TAGS}{name}")
}

/// The prefix of the references to agents' work in it.
fn works_of(name: &CheckpointName) -> String {
    format!("{WORK}{name}/")
}

fn work_reference(name: &CheckpointName, agent: &AgentId) -> String {
    format!("{}{agent}", works_of(name))
}
