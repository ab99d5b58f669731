//! An idea, and what its attempts leave behind.
//!
//! Invariant: only [`evolve`](crate::domain::evolve) changes these; JSON names are part of
//! snapshots.

use serde::{Deserialize, Serialize};

use super::{Feedback, ReviewComment, is_false, is_zero};
use crate::domain::effect::KeptWorktree;
use crate::domain::ids::{IdeaId, Oid, ProfileName, RunId};
use crate::domain::session::Session;
use crate::domain::state::message::Message;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::redirect::Reserved;
use crate::domain::state::transfer::agent::ImportedAgent;
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

/// Status of an idea.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum IdeaStatus {
    /// Waiting for an agent.
    #[default]
    Pending,
    /// An agent is working on it.
    Active,
    /// Complete and in the merge queue.
    Merging,
    /// The agent cannot continue.
    Blocked,
    /// Its work has landed.
    Done,
    /// Failed.
    Failed,
    /// Ran out of time or iterations.
    Timeout,
    /// Cancelled by a person.
    Cancelled,
}

impl IdeaStatus {
    /// Its status when nobody works on it and nothing waits to land.
    #[must_use]
    pub fn without_attempt(self) -> Self {
        match self {
            Self::Active | Self::Merging => Self::Pending,
            Self::Pending
            | Self::Blocked
            | Self::Done
            | Self::Failed
            | Self::Timeout
            | Self::Cancelled => self,
        }
    }

    /// All statuses, in display order.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Active,
        Self::Merging,
        Self::Blocked,
        Self::Done,
        Self::Failed,
        Self::Timeout,
        Self::Cancelled,
    ];

    /// Its name in JSON and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Merging => "merging",
            Self::Blocked => "blocked",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }

    /// What follows "it" in a message: `it failed`.
    pub fn predicate(self) -> &'static str {
        match self {
            Self::Pending => "is pending",
            Self::Active => "is active",
            Self::Merging => "is merging",
            Self::Blocked => "is blocked",
            Self::Done => "is done",
            Self::Failed => "failed",
            Self::Timeout => "hit its limit",
            Self::Cancelled => "is cancelled",
        }
    }

    /// Whether it is a bad end: `swarm wait` then exits with code 5.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Timeout | Self::Blocked)
    }
}

/// An idea.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Idea {
    /// Current status.
    pub status: IdeaStatus,
    /// The work to do.
    pub text: Box<str>,
    /// Ideas that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<IdeaId>,
    /// Free-form tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Added to its score.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i64,
    /// Profile to use, if not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// Whether a person must approve its work even if `merge.autoMerge` is on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub review: bool,
    /// Whether a person assigned it; reset when its attempt ends other than by an interruption.
    #[serde(default, skip_serializing_if = "is_false")]
    pub assigned: bool,
    /// Whether a person holds it: it does not start until it is released.
    #[serde(default, skip_serializing_if = "is_false")]
    pub held: bool,
    /// Crashes since it was added or retried.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_count: u32,
    /// Failed attempts since it was added; they lower its score.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_attempts: u32,
    /// Attempts so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Must not be claimed before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Worktree and context that an earlier attempt left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<Kept>>,
    /// The imported agent that its attempts go on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<ImportedAgent>>,
    /// Set while it is reserved for a redirected agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Reserved>,
    /// Commit with which all of its work is on the target: the merge that landed it, or what a
    /// rewritten history has instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// After the history was rewritten: the commit before the first one of its work. Without it,
    /// `commit` is a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed_since: Option<Oid>,
    /// Last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Box<str>>,
    /// Usage of its attempts.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used: Spent,
    /// Usage at the last retry, from which its budget counts.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used_before: Spent,
    /// Its last 20 audit lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<Audit>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Idea {
    /// The target no longer has its work.
    pub fn forget_landing(&mut self) {
        self.commit = None;
        self.landed_since = None;
    }
}

/// What an attempt leaves for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Its worktree and branch.
    pub worktree: KeptWorktree,
    /// The last failed quality command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// The reviewer's comment that the work does not answer yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<ReviewComment>>,
    /// Messages from a person that no prompt has carried yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Number of iterations of the attempt.
    pub iterations: u32,
    /// Run of its last iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunId>,
    /// The same messages, with their progress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Message>,
    /// After a redirect: the idea that the work in the worktree was done for, which also has it as
    /// commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<IdeaId>,
    /// Why the next attempt gets its first prompt.
    #[serde(default, skip_serializing_if = "PromptCause::is_begin")]
    pub cause: PromptCause,
    /// Its conversation, bound to that worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
    /// After an import: run whose recorded prompt the next attempt starts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<RunId>,
}

/// The line of an idea's history that says that it landed; its detail is the commit.
pub const LANDED: &str = "landed";

/// A line of an idea's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// When it happened.
    pub at: Timestamp,
    /// Event: `claimed`, `crash_recovery`, `failed`, ...
    pub what: String,
    /// Details, for example an agent or a commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}
