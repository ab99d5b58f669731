//! Effects of the merge queue.

#![allow(missing_docs)] // the variants of `Effect` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::ids::{IdeaId, Oid};
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildMerge {
    pub idea: IdeaId,
    pub branch: String,
    /// Commit to merge.
    pub source: Oid,
    /// Commit where the attempt started.
    pub base: Oid,
    /// Tips of the target that rollbacks took back. What the branch has of them, for example from
    /// its resolver's merge, is not its own work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rolled_back: Vec<Oid>,
    /// Branch to merge into.
    pub target: String,
    /// Last known commit of the target; if it is no longer in the history, the target was
    /// force-pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_target: Option<Oid>,
    /// After a force-push: replay the branch's own commits onto the new target first.
    pub rebase: bool,
    /// First line of the idea, for the commit message.
    pub title: String,
    /// Date of the commit, fixed so that a repeated effect gives the same object.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareVerify {
    pub idea: IdeaId,
    pub commit: Oid,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareBaseline {
    /// Branch to check.
    pub target: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Land {
    pub idea: IdeaId,
    pub target: String,
    /// Commit that the target must be at.
    pub expected: Oid,
    pub commit: Oid,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartResolution {
    pub idea: IdeaId,
    pub branch: String,
    pub worktree: String,
    pub target: Oid,
    /// The work to merge: the branch's commit when it was queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Oid>,
    /// Date of the merge commit.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishResolution {
    pub idea: IdeaId,
    pub branch: String,
    pub worktree: String,
    /// Target commit being merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Oid>,
    /// The work to merge: the branch's commit when it was queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Oid>,
    /// Date of the merge commit.
    pub at: Timestamp,
}
