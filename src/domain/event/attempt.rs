//! Attempts: what an agent did, and what became of it.

#![allow(missing_docs)] // the variants of `Event` say what each is, the fields what they are

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, Oid, ProfileName, RunId};
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
    /// Not to go on before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeReady {
    pub agent: AgentId,
    /// Where its branch left the target.
    pub base: Oid,
    /// Where its branch stands.
    pub head: Oid,
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
    /// Which command, from 0.
    pub index: usize,
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    pub run: RunId,
    /// The child's process id, for people.
    pub pid: u32,
    /// How its output is to be read, as the configuration names it; none: by what the profile says
    /// now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// It goes on with a conversation.
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
    /// Where in its output.
    pub offset: u64,
    pub signal: Signal,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationJudged {
    pub agent: AgentId,
    pub empty: bool,
    /// It was over at once.
    pub at_once: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptSealed {
    pub agent: AgentId,
    pub head: Oid,
    /// Whether leftovers were committed.
    pub committed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatePassed {
    pub agent: AgentId,
    /// Which command, from 0.
    pub index: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateFailed {
    pub agent: AgentId,
    /// What the next prompt says.
    pub feedback: Feedback,
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
    /// How its idea stands now.
    pub status: IdeaStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its idea is not to be claimed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Whether its worktree stays for the next attempt.
    pub keep_worktree: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Learned {
    /// `learning-001`; of one known already: its id.
    pub id: String,
    pub agent: AgentId,
    pub profile: ProfileName,
    pub global: bool,
    pub content: String,
}
