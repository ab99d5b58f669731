//! Events about checkpoints and rollbacks.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::ids::{CheckpointName, IdeaId, Oid};
use crate::domain::state::checkpoint::{Checkpoint, IdeaThen, Rollback, RollbackStep};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointMade {
    pub name: CheckpointName,
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
    /// Target checkpoint and options.
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
    /// Commit of the target now.
    pub commit: Oid,
    /// Checkpoint that undoes the rollback.
    pub safety: CheckpointName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackAbandoned {
    pub to: CheckpointName,
    /// Why, and what to do next; for people.
    pub why: String,
    /// Files in the way, if that is why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}
