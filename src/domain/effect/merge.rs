//! Effects of the merge queue.

#![allow(missing_docs)] // the variants of `Effect` say what each is, the fields what they are

use serde::{Deserialize, Serialize};

use crate::domain::ids::{IdeaId, Oid};
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildMerge {
    pub idea: IdeaId,
    pub branch: String,
    /// The commit to merge.
    pub source: Oid,
    /// The commit that the attempt started from.
    pub base: Oid,
    /// The branch to merge into.
    pub target: String,
    /// Where the target stood when it was last seen; another history there means a force-push.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_target: Option<Oid>,
    /// After a force-push: replay the own commits onto the new target first.
    pub rebase: bool,
    /// First line of the idea, for the message.
    pub title: String,
    /// The commit's date, so that a redo gives the same object.
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
pub struct Land {
    pub idea: IdeaId,
    pub target: String,
    /// Where it must stand.
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
    /// The work that is merged: the branch's commit when it was queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Oid>,
    /// The merge commit's date.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishResolution {
    pub idea: IdeaId,
    pub branch: String,
    pub worktree: String,
    /// The target's commit that is being merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Oid>,
    /// The work that is merged: the branch's commit when it was queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Oid>,
    /// The merge commit's date.
    pub at: Timestamp,
}
