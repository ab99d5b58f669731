//! Events about swarms that move: import, work that came with it, departure, return; and about
//! agents that go on elsewhere.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::ids::{IdeaId, ProfileName};
use crate::domain::request::Author;
use crate::domain::state::Kept;
use crate::domain::state::transfer::agent::ImportedAgent;
use crate::domain::state::transfer::{ImportIssue, ImportPurpose};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwarmImported {
    /// SHA-256 of the archive's `manifest.json`, in hex.
    pub manifest_sha256: String,
    /// SHA-256 of the first record of the log, in hex.
    pub swarm_id: String,
    /// Last event of the archive.
    pub seq: u64,
    pub purpose: ImportPurpose,
    /// How much was left behind or differs, by type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub issues: BTreeMap<ImportIssue, u64>,
    /// Profiles that are not configured here; their ideas go on under the default profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_profiles: Vec<ProfileName>,
    pub by: Author,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkImported {
    pub id: IdeaId,
    /// What the next attempt continues from.
    pub kept: Box<Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwarmMoved {
    /// SHA-256 of the archive's `manifest.json`, in hex.
    pub manifest_sha256: String,
    pub by: Author,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwarmReclaimed {
    pub by: Author,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentImported {
    pub id: IdeaId,
    pub imported: Box<ImportedAgent>,
    /// Profile of its next attempts; absent for the idea's own or the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
}
