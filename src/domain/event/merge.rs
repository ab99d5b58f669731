//! Events about the merge queue.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::effect::ConflictLevel;
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::lifecycle::MergePhase;
use crate::domain::state::{Feedback, Waits};
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeQueued {
    pub id: IdeaId,
    pub agent: AgentId,
    pub branch: String,
    /// Commit to merge.
    pub source: Oid,
    /// Whether a person must approve it first.
    pub held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeMoved {
    pub id: IdeaId,
    pub phase: MergePhase,
    /// Must not be tried before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeReleased {
    pub id: IdeaId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeApproved {
    pub id: IdeaId,
    /// The approved commit; another one must be approved again.
    pub source: Oid,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalWithdrawn {
    pub id: IdeaId,
    /// Number of the action that is taken back; absent if the work has changed under the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeRejected {
    pub id: IdeaId,
    pub agent: AgentId,
    /// The commit that was not approved.
    pub source: Oid,
    /// The reviewer's comment.
    pub why: String,
    /// Whether the idea's text was edited: the agent continues with the new text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Whether the attempt gets all its iterations and all its time again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renewed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeBuilt {
    pub id: IdeaId,
    pub commit: Oid,
    /// Target commit that it was built on.
    pub target: Oid,
    /// Files whose SIMPLE conflicts were resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeConflicted {
    pub id: IdeaId,
    /// Who can resolve it.
    pub level: ConflictLevel,
    pub files: Vec<String>,
    pub target: Oid,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictLaidOut {
    pub id: IdeaId,
    pub files: Vec<String>,
    /// Commit with the unfinished resolution from before the target moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Oid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictSettled {
    pub id: IdeaId,
    pub head: Oid,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolverFailed {
    pub id: IdeaId,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReady {
    pub id: IdeaId,
    /// Whether the directory still holds the ignored files of its previous use, so that a setup
    /// recorded for its name is still valid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm: bool,
    /// Key of the setup that must run in it before it is used; absent if it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Digest of what a probe of the checks depends on; absent if they are not probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyStarted {
    pub id: IdeaId,
    /// Index in the quality commands, from 0.
    pub index: usize,
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyPassed {
    pub id: IdeaId,
    /// Index in the quality commands, from 0.
    pub index: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeReturned {
    pub id: IdeaId,
    /// Feedback for the next prompt.
    pub feedback: Feedback,
}
