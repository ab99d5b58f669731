//! Events about the memory that agents share, and about operations.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, ProfileName, RunId};
use crate::domain::memory::{Evidence, FactKey, LearningRange, NoteKey, OldHistory};
use crate::domain::request::{Author, OperationId};
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandTaken {
    pub op: OperationId,
    pub by: Author,
    /// Kind of the event that it is about.
    pub of: String,
    /// The id or version that it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Learned {
    /// `learning-001`; for a known learning, its existing id.
    pub id: String,
    /// The agent that reported it; absent if no agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Profile that a local learning is for; of a global one, the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    pub global: bool,
    pub content: String,
    /// Where it comes from.
    pub evidence: Box<Evidence>,
    /// What it says about a fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claimed>,
    /// Whether it ends the retraction of the learning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
}

/// What a learning with a key does to the fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claimed {
    pub key: FactKey,
    /// Version of the fact afterwards.
    pub version: u64,
    pub effect: ClaimEffect,
}

/// How a claim meets a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClaimEffect {
    /// It becomes the value.
    Wrote,
    /// It is evidence for the value.
    Confirmed,
    /// It contradicts the value, as the rival claim with this id.
    Disputed(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FactWritten {
    pub key: FactKey,
    pub version: u64,
    pub value: String,
    pub evidence: Box<Evidence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FactConfirmed {
    pub key: FactKey,
    /// Version that was confirmed; it stays.
    pub version: u64,
    pub evidence: Box<Evidence>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FactDisputed {
    pub key: FactKey,
    /// Version afterwards: higher by one for a new claim, unchanged for a known one.
    pub version: u64,
    /// Id of the rival claim.
    pub claim: String,
    /// The other value; absent if the claim only says that the value is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    pub evidence: Box<Evidence>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FactPinned {
    pub key: FactKey,
    /// Whether it is pinned from now on.
    pub on: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryRetracted {
    /// Ids of learnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learnings: Vec<String>,
    /// Keys of facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<FactKey>,
    /// Rival claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<RivalClaim>,
    pub by: Author,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A claim that contradicts a fact's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RivalClaim {
    pub key: FactKey,
    /// Its id within the fact.
    pub claim: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotePut {
    pub key: NoteKey,
    pub title: String,
    pub content: String,
    pub by: Author,
    /// When it is dropped; absent if it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotesDropped {
    pub keys: Vec<NoteKey>,
    /// Who dropped them; absent if they expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryShown {
    pub agent: AgentId,
    pub run: RunId,
    /// What its prompt shows.
    pub items: Vec<ShownItem>,
    /// Whether the conversation is new, so that nothing shown earlier counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Whether the prompt has no such section, to measure what it is worth.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

/// What the iteration of an agent read by itself, beyond its prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryRead {
    pub agent: AgentId,
    pub run: RunId,
    /// The facts that it looked up and what its searches found, first reading first; at most
    /// [`MAX_READ`](crate::domain::memory::MAX_READ).
    pub items: Vec<ShownItem>,
    /// How often it read what.
    pub by_tool: ReadCounts,
}

/// How often something was read, by the command or tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadCounts {
    /// The list of all facts.
    #[serde(skip_serializing_if = "is_zero")]
    pub board: u32,
    /// One fact.
    #[serde(skip_serializing_if = "is_zero")]
    pub fact: u32,
    /// Searches.
    #[serde(skip_serializing_if = "is_zero")]
    pub search: u32,
    /// The log of the memory.
    #[serde(skip_serializing_if = "is_zero")]
    pub log: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A part of the memory as it was shown or read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownItem {
    /// Id of a learning, or key of a fact.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Version of the fact; 1 for a learning, 0 for what was shown as retracted.
    pub version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryCompacted {
    /// The last event before: up to it the log has all that was dropped.
    pub up_to: u64,
    /// Learnings that the state no longer has, by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learnings: Vec<LearningRange>,
    /// Facts whose oldest earlier values the state no longer has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<OldHistory>,
    /// Who asked for it; absent if the state had twice as many learnings as `memory.window`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Synthesised {
    pub run: RunId,
    /// Number of the last learning that it was to read.
    pub up_to: u64,
    /// Whether it failed, so that they still wait for the next run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}
