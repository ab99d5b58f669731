//! Checkpoints and rollbacks.

#![allow(missing_docs)] // the variants of `Event` say what each is, the fields what they are

use serde::{Deserialize, Serialize};

use crate::domain::ids::{CheckpointName, IdeaId, Oid};
use crate::domain::state::checkpoint::{Checkpoint, IdeaThen, Rollback, RollbackStep};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointMade {
    pub name: CheckpointName,
    /// What is known of it.
    pub checkpoint: Box<Checkpoint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointDeleted {
    pub name: CheckpointName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackBegun {
    /// To what, and how.
    pub rollback: Box<Rollback>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackPlanned {
    pub id: IdeaId,
    pub idea: Box<IdeaThen>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackStepped {
    pub step: RollbackStep,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    pub to: CheckpointName,
    /// Where the target is.
    pub commit: Oid,
    /// The checkpoint that undoes it.
    pub safety: CheckpointName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackAbandoned {
    pub to: CheckpointName,
    /// What, why and what to do.
    pub why: String,
    /// The files in the way, if it was files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}
