//! Events about attempts: what an agent did, and the result.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, Oid, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::RunEnd;
use crate::domain::signal::Signal;
use crate::domain::state::{AttemptEnd, Ending, Feedback, IdeaStatus, Task};
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptMoved {
    pub agent: AgentId,
    pub phase: AttemptPhase,
    /// Must not continue before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeReady {
    pub agent: AgentId,
    /// Commit where its branch left the target.
    pub base: Oid,
    /// Tip of its branch.
    pub head: Oid,
    /// Whether the directory still holds the ignored files of its previous use, so that a setup
    /// recorded for its name is still valid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm: bool,
    /// Key of the setup that must run in it before it is used; absent if it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Name of the worktree, if the attempt had lent its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeLent {
    pub agent: AgentId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeStays {
    pub agent: AgentId,
    /// What it holds, or why it cannot be lent; for people.
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationStarted {
    pub agent: AgentId,
    pub iteration: u32,
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateStarted {
    pub agent: AgentId,
    /// Index in the quality commands, from 0.
    pub index: usize,
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitHooksStarted {
    pub agent: AgentId,
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitHooksPassed {
    pub agent: AgentId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    pub run: RunId,
    /// Process id of the child, for people.
    pub pid: u32,
    /// Adapter that parses its output, as configured; `None`: the profile's current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// Whether it resumes a conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnded {
    pub run: RunId,
    pub end: RunEnd,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignalSeen {
    pub agent: AgentId,
    pub run: RunId,
    /// Offset in the run's output, in bytes.
    pub offset: u64,
    pub signal: Signal,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationJudged {
    pub agent: AgentId,
    pub empty: bool,
    /// Whether it ended at once without doing anything.
    pub at_once: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptSealed {
    pub agent: AgentId,
    pub head: Oid,
    /// Whether leftovers were committed.
    pub committed: bool,
    /// Key of the setup that must run in it before it is used; absent if it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Links that lead out of the worktree and were not committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Whether the branch has no work of its own, although its agent said COMPLETE.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatePassed {
    pub agent: AgentId,
    /// Index in the quality commands, from 0.
    pub index: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateFailed {
    pub agent: AgentId,
    /// Feedback for the next prompt.
    pub feedback: Feedback,
    /// Digest of the command's output; `None` if unknown, or if no command failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Number of failed tests in its output, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_tests: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskSet {
    pub agent: AgentId,
    pub task: Task,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageQueued {
    pub agent: AgentId,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndingAsked {
    pub agent: AgentId,
    pub ending: Ending,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptEnded {
    pub agent: AgentId,
    pub end: AttemptEnd,
    /// New status of the idea.
    pub status: IdeaStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The idea must not be claimed before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Whether the worktree is kept for the next attempt.
    pub keep_worktree: bool,
}
