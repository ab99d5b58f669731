//! The merge queue.

#![allow(missing_docs)] // the variants of `Event` say what each is, the fields what they are

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
    /// The commit to merge.
    pub source: Oid,
    /// A person must say go.
    #[serde(default)]
    pub held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeMoved {
    pub id: IdeaId,
    pub phase: MergePhase,
    /// Not to be tried before.
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
pub struct MergeBuilt {
    pub id: IdeaId,
    pub commit: Oid,
    /// The target's commit that it was built on.
    pub target: Oid,
    /// Files whose SIMPLE conflict was resolved.
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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyStarted {
    pub id: IdeaId,
    /// Which command, from 0.
    pub index: usize,
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyPassed {
    pub id: IdeaId,
    /// Which command, from 0.
    pub index: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeReturned {
    pub id: IdeaId,
    /// What the next prompt says.
    pub feedback: Feedback,
}
