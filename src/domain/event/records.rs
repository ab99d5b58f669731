//! Events about provenance records.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, IdeaId, Oid, ProfileName, RunId};
use crate::domain::likeness::{Measures, Verdict};
use crate::domain::request::Author;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationRecorded {
    pub agent: AgentId,
    pub idea: IdeaId,
    /// Number of the iteration, from 1.
    pub iteration: u32,
    pub run: RunId,
    /// SHA-256 of the record's file, in hex; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Tree of the worktree after the iteration, which git keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// Model that was used, if its program says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why there is no record, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordsExpired {
    /// Records of iterations that ended before this time may be deleted.
    pub before: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayAsked {
    pub by: Author,
    /// Run of the recorded iteration.
    pub of: RunId,
    /// SHA-256 of the record's file, in hex.
    pub sha256: String,
    /// Profile that the replay runs under.
    pub profile: ProfileName,
    /// Run of the replay.
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayJudged {
    /// Run of the recorded iteration.
    pub of: RunId,
    /// Run of the replay.
    pub run: RunId,
    /// Absent if there was nothing to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// All measures; absent with the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Measures>,
    /// Why there is no verdict, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
