//! Entries of the merge queue.
//!
//! Invariant: only [`evolve`](crate::domain::evolve) changes these; JSON names are part of
//! snapshots.

use serde::{Deserialize, Serialize};

use super::{is_false, is_zero};
use crate::domain::effect::ConflictLevel;
use crate::domain::hook::Passage;
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::lifecycle::MergePhase;
use crate::domain::state::baseline::Doubt;
use crate::domain::state::setup::SetupDue;
use crate::domain::time::Timestamp;

/// One entry of the merge queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeEntry {
    /// The idea.
    pub idea: IdeaId,
    /// Agent that did the work.
    pub agent: AgentId,
    /// Branch of the attempt.
    pub branch: String,
    /// Commit to merge.
    pub source: Oid,
    /// Current phase.
    pub phase: MergePhase,
    /// Whether it waits for a person to approve `source`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub held: bool,
    /// The commit that a person approved. If `source` becomes another one, that waits for review
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Oid>,
    /// Merge commit that was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// Target commit that it was built on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Oid>,
    /// Whether the merged tree is checked out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub checked_out: bool,
    /// Setup that the merge worktree needs before the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Box<SetupDue>>,
    /// Digest of what a probe of the checks depends on, in the merged tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// State of the `pre-merge` hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_merge: Option<Passage>,
    /// Index of the next quality command, from 0.
    pub verify_next: usize,
    /// Run of the current quality or setup command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Commits whose merge last passed; the same pair need not be verified again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Quality or setup commands in a row whose runner was killed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_runs: u32,
    /// How often in a row the setup has failed on the merged tree.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub setup_failures: u32,
    /// The failed quality command on the merged tree that nobody is charged for yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Box<Doubt>>,
    /// Its conflict, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
    /// Whether the conflict is in the worktree, ready to be resolved.
    #[serde(default, skip_serializing_if = "is_false")]
    pub laid_out: bool,
    /// Number of tries by a resolver.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resolver_tries: u32,
    /// Must not be tried before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Why it is waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// When it entered the queue.
    pub queued_at: Timestamp,
}

impl MergeEntry {
    /// Whether a person must look at its work now: approve it, or return it.
    pub fn is_in_review(&self) -> bool {
        self.held && self.phase == MergePhase::Queued
    }

    /// Whether its work passed when merged with this target commit.
    pub fn is_verified_on(&self, target: &Oid) -> bool {
        let same =
            |verified: &Verified| verified.source == self.source && verified.target == *target;
        self.verified.as_ref().is_some_and(same)
    }
}

/// Two commits whose merge passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Commit of the branch.
    pub source: Oid,
    /// Commit of the target.
    pub target: Oid,
}

/// Why an entry is waiting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waits {
    /// Reason, for people.
    pub reason: String,
    /// Files in the way, at most 100; if there are more, the last entry says how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Whether only a person can resolve this.
    pub person: bool,
    /// Whether it waits until the untouched target has passed the quality commands.
    #[serde(default, skip_serializing_if = "is_false")]
    pub target: bool,
}

/// A merge conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// Who can resolve it.
    pub level: ConflictLevel,
    /// Files in conflict, at most 100; if there are more, the last entry says how many.
    pub files: Vec<String>,
    /// Commit of the target.
    pub target: Oid,
}
