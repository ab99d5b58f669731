//! Effects on the work of an attempt (its worktree, its runs), and on the inbox.

#![allow(missing_docs)] // the variants of `Effect` describe the structs, field names most fields

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
    /// Name of its worktree; that of `from`, if there is one.
    pub worktree: String,
    /// Branch whose current commit the attempt starts from.
    pub target: String,
    /// Kept worktree to take over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<KeptWorktree>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The run, which also names its directory.
    pub run: RunId,
    pub purpose: Purpose,
    /// Time limit, in milliseconds.
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
    /// Commit where the attempt started.
    pub base: Oid,
    /// Whether to commit leftovers.
    pub commit: bool,
    /// Whether the commit hooks have to pass before leftovers are committed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hooks: bool,
    /// Date of the commit, fixed so that a repeated effect gives the same object.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SaveWork {
    pub agent: AgentId,
    pub idea: IdeaId,
    pub branch: String,
    pub worktree: String,
    /// Commit where the attempt started.
    pub base: Oid,
    /// Date of the commit, fixed so that a repeated effect gives the same object.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LendWorktree {
    pub agent: AgentId,
    pub branch: String,
    pub worktree: String,
    /// Commit of the branch that everything in the worktree must be in.
    pub head: Oid,
    /// Date of a rescue commit, fixed so that a repeated effect gives the same object.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseWorktree {
    pub worktree: String,
    pub branch: String,
    /// After a landing: the proof needed to delete the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<Landing>,
    /// Date of a rescue commit, fixed so that a repeated effect gives the same object.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveInbox {
    pub name: String,
    /// SHA-256 of the content that became an idea, in hex; other content under this name is a new
    /// idea.
    pub sha256: String,
}
