//! One entry of the merge queue.

use serde::{Deserialize, Serialize};

use super::{is_false, is_zero};
use crate::domain::effect::ConflictLevel;
use crate::domain::hook::Passage;
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::lifecycle::MergePhase;
use crate::domain::time::Timestamp;

/// One entry of the merge queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeEntry {
    /// The idea.
    pub idea: IdeaId,
    /// Whose work.
    pub agent: AgentId,
    /// The branch.
    pub branch: String,
    /// The commit to merge.
    pub source: Oid,
    /// Where it stands.
    pub phase: MergePhase,
    /// A person must say go (`merge.autoMerge` is off).
    #[serde(default, skip_serializing_if = "is_false")]
    pub held: bool,
    /// The merge commit that was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// The target's commit that it was built on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Oid>,
    /// The merged tree is checked out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub checked_out: bool,
    /// Where it stands with the hook before its landing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_merge: Option<Passage>,
    /// The next quality command.
    #[serde(default)]
    pub verify_next: usize,
    /// The quality command that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What was merged with what when the merged tree last passed: the same need not be checked
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Quality commands in a row whose runner was killed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_runs: u32,
    /// The conflict that it met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
    /// The conflict lies in the worktree, ready to be settled.
    #[serde(default, skip_serializing_if = "is_false")]
    pub laid_out: bool,
    /// How often a resolver tried.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resolver_tries: u32,
    /// Not to be tried before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Why it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// When it came.
    pub queued_at: Timestamp,
}

impl MergeEntry {
    /// Whether its work passed, merged with this commit of the target.
    pub fn is_verified_on(&self, target: &Oid) -> bool {
        let same =
            |verified: &Verified| verified.source == self.source && verified.target == *target;
        self.verified.as_ref().is_some_and(same)
    }
}

/// A merged tree that passed, by what it was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// The branch's commit.
    pub source: Oid,
    /// The target's commit.
    pub target: Oid,
}

/// Why an entry waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waits {
    /// What for.
    pub reason: String,
    /// The files in the way, at most 100; of more, the last entry says how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Whether only a person can change that.
    pub person: bool,
}

/// A conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// Who can resolve it.
    pub level: ConflictLevel,
    /// Where: at most 100 files; of more, the last entry says how many.
    pub files: Vec<String>,
    /// The target's commit.
    pub target: Oid,
}
