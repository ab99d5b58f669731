//! Effects of the merge queue.

#![allow(missing_docs)] // the variants of `Effect` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use super::SetupTree;
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::state::setup::{CONTROL_TREE, VERIFY_TREE};
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
    /// rewritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_target: Option<Oid>,
    /// After a rewrite or a rollback: replay the branch's own commits onto the new target first.
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
    #[serde(default, skip_serializing_if = "TargetTree::is_verify")]
    pub tree: TargetTree,
}

/// Worktree in which the untouched target is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub enum TargetTree {
    /// The merge worktree, before work begins.
    #[default]
    Verify,
    /// A worktree beside it, to judge a failed check. Landings go on meanwhile.
    Control,
}

impl TargetTree {
    /// Name of the worktree, also in `State::setups`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verify => VERIFY_TREE,
            Self::Control => CONTROL_TREE,
        }
    }

    /// How its setup is called.
    pub const fn setup(self) -> SetupTree {
        match self {
            Self::Verify => SetupTree::Target,
            Self::Control => SetupTree::Control,
        }
    }

    /// Whether it is the merge worktree.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(crate) fn is_verify(&self) -> bool {
        *self == Self::Verify
    }
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
    /// The work to merge: the branch's commit when it was queued. Absent where the target is merged
    /// into work that was given back.
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
