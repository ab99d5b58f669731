//! Effects about checkpoints and rollbacks.

#![allow(missing_docs)] // the variants of `Effect` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, CheckpointName, Oid};
use crate::domain::state::checkpoint::Reason;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MakeCheckpoint {
    pub name: CheckpointName,
    pub reason: Reason,
    /// Branch whose commit is recorded.
    pub target: String,
    /// Date of its tag object.
    pub at: Timestamp,
    /// Whether `refs/tags/swarm/checkpoint/<name>` is made, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tag: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteCheckpoint {
    pub name: CheckpointName,
    /// Agents whose saved work ideas continue from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_use: Vec<AgentId>,
    /// Set for an automatic deletion: this commit and agents' work that only the checkpoint has are
    /// kept under `refs/swarm/rescue/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Oid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckRollback {
    pub name: CheckpointName,
    pub commit: Oid,
    pub tag: Oid,
    /// SHA-256 of the checkpoint's file, in hex.
    pub sha256: String,
    pub target: String,
    /// Target commit that the person confirmed; if it has moved, nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Oid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveTarget {
    pub target: String,
    /// Commit that the target must be at.
    pub expected: Oid,
    pub commit: Oid,
    /// When the rollback was requested.
    pub at: Timestamp,
}
