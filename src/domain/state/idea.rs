//! A unit of work, and what its attempts leave behind.

use serde::{Deserialize, Serialize};

use super::{Feedback, is_false, is_zero};
use crate::domain::effect::KeptWorktree;
use crate::domain::ids::{IdeaId, Oid, ProfileName, RunId};
use crate::domain::session::Session;
use crate::domain::state::message::Message;
use crate::domain::state::redirect::Reserved;
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

/// How an idea stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum IdeaStatus {
    /// Waits for an agent.
    #[default]
    Pending,
    /// An agent works on it.
    Active,
    /// Complete; being landed.
    Merging,
    /// The agent cannot go on.
    Blocked,
    /// Landed.
    Done,
    /// Ended badly.
    Failed,
    /// Took too long.
    Timeout,
    /// Not wanted any more.
    Cancelled,
}

impl IdeaStatus {
    /// What it is once nobody works on it and nothing of it waits to land.
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

    /// All of them, in the order in which they are shown.
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

    /// The word for it.
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

    /// Whether what was waited for ended badly.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Timeout | Self::Blocked)
    }
}

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Idea {
    /// How it stands.
    pub status: IdeaStatus,
    /// What is to be done.
    pub text: Box<str>,
    /// The ideas that must be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<IdeaId>,
    /// Free words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Added to its score.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i64,
    /// The profile to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// A person assigned it; forgotten when its attempt ends otherwise than by an interruption.
    #[serde(default, skip_serializing_if = "is_false")]
    pub assigned: bool,
    /// Crashes since it was added or retried.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_count: u32,
    /// Failed attempts since it was added; they lower its score.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_attempts: u32,
    /// Attempts in all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Not to be claimed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The worktree of an earlier attempt, with what must be told to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<Kept>>,
    /// An agent was redirected to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Reserved>,
    /// The merge commit that landed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// Why it did not go on, last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Box<str>>,
    /// What its attempts used.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used: Spent,
    /// What had been used when it was last retried: its budget begins anew there.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used_before: Spent,
    /// What happened to it, the last 20 entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<Audit>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What an attempt leaves for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// The worktree.
    pub worktree: KeptWorktree,
    /// The last gate that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// What a person said and no prompt has carried yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Iterations that the attempt had.
    pub iterations: u32,
    /// The run of its last iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunId>,
    /// The same messages, as people see them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Message>,
    /// By a redirect: the idea that the work in the worktree was done for. That has it by its
    /// commits, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<IdeaId>,
    /// The conversation that it had there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
}

/// One line of an idea's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// When.
    pub at: Timestamp,
    /// What: `claimed`, `crash_recovery`, `failed`, ...
    pub what: String,
    /// More of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}
