//! Effects about checkpoints and rollbacks.

#![allow(missing_docs)] // the variants of `Effect` say what each is, the fields what they are

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, CheckpointName, Oid};
use crate::domain::state::checkpoint::Reason;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MakeCheckpoint {
    pub name: CheckpointName,
    pub reason: Reason,
    /// The branch whose commit it names.
    pub target: String,
    /// The date of its tag.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteCheckpoint {
    pub name: CheckpointName,
    /// Agents whose work ideas go on from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_use: Vec<AgentId>,
    /// Nobody asked for this: what it alone has, this commit and the work of agents, is kept under
    /// `refs/swarm/rescue/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Oid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckRollback {
    pub name: CheckpointName,
    pub commit: Oid,
    pub tag: Oid,
    /// SHA-256 of its file.
    pub sha256: String,
    pub target: String,
    /// Always `false`, see [`Rollback::stash`](crate::domain::state::checkpoint::Rollback).
    pub stash: bool,
    /// Where the target stood for whoever said yes; elsewhere, nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Oid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveTarget {
    pub target: String,
    /// Where it must stand.
    pub expected: Oid,
    pub commit: Oid,
    /// Always `None`; older versions named what they put aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stash: Option<String>,
    /// When the rollback was asked for.
    pub at: Timestamp,
}
