//! Effects about the work of an attempt: its worktree, its runs, what becomes of both; and the
//! inbox.

#![allow(missing_docs)] // the variants of `Effect` say what each is, the fields what they are

use serde::{Deserialize, Serialize};

use super::{KeptWorktree, Landing, Purpose};
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareWorktree {
    pub agent: AgentId,
    pub idea: IdeaId,
    pub branch: String,
    /// The new worktree's name under `.swarm/worktrees/`.
    pub worktree: String,
    /// The branch to start from, by its commit at that moment.
    pub target: String,
    /// The kept worktree to take over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<KeptWorktree>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Which run; also its directory.
    pub run: RunId,
    pub purpose: Purpose,
    /// How long it may take.
    pub timeout_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopRun {
    pub run: RunId,
    pub now: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seal {
    pub agent: AgentId,
    pub idea: IdeaId,
    pub branch: String,
    pub worktree: String,
    /// The commit that the attempt started from.
    pub base: Oid,
    /// Whether leftovers are committed.
    pub commit: bool,
    /// The commit's date, so that a redo gives the same object.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SaveWork {
    pub agent: AgentId,
    pub idea: IdeaId,
    pub branch: String,
    pub worktree: String,
    /// The commit that the attempt started from.
    pub base: Oid,
    /// The commit's date, so that a redo gives the same object.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseWorktree {
    pub worktree: String,
    pub branch: String,
    /// After a landing: what the branch stood at and where it landed, to be proven before the
    /// branch goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<Landing>,
    /// The date of a rescue commit, so that a redo gives the same object.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveInbox {
    pub name: String,
    /// SHA-256 of the content that was taken; a file with another content is a new idea.
    pub sha256: String,
}
