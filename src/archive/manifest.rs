//! `manifest.json`, the first file of an archive: where it comes from, and the size and digest of
//! every other file.
//!
//! Invariant: names, once released, keep their meaning; an unknown major version is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;

/// Value of [`Manifest::format`].
pub const FORMAT: &str = "swarm-export";
/// Version of the format that this program writes.
pub const VERSION: &str = "1.0.0";

/// What an archive is and contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`]; readers refuse another major version.
    pub version: String,
    /// Time of the last event inside, so that the same content gives the same bytes.
    pub created_at: Timestamp,
    /// Version of the program that wrote it.
    pub swarm_version: String,
    /// Identity of the swarm: SHA-256 of the first record of its log, in hex.
    pub swarm_id: String,
    /// What it is for.
    pub purpose: Purpose,
    /// The state inside.
    pub snapshot: SnapshotPart,
    /// The commits inside; `None` in an archive to share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitPart>,
    /// Versions of the agents' programs, by adapter, as far as known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
    /// All files after this one, in the archive's order.
    pub files: Vec<Entry>,
    /// What was replaced; only in an archive to share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redactions: Vec<Redaction>,
}

/// What an archive is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// A copy: the swarm that it was taken from goes on.
    Copy,
    /// For people who help: no conversations, no output, no commits; it cannot be imported.
    Share,
    /// The swarm itself: the one that it was taken from has stopped for good.
    Move,
}

/// The state inside an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotPart {
    /// Number of the last event.
    pub seq: u64,
    /// Its time.
    pub at: Timestamp,
    /// Running checksum of the log up to it, as in `checkpoints/*.json`.
    pub log_crc: u32,
}

/// The commits inside an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitPart {
    /// How objects are named.
    pub object_format: ObjectFormat,
    /// Commits without parents that the target descends from, in order; at least one must be in
    /// the repository that imports.
    pub roots: Vec<String>,
    /// The target branch.
    pub target: String,
    /// Commit of every reference in the bundle, by full name.
    pub refs: BTreeMap<String, String>,
}

/// How git names objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectFormat {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its name, with `/` between folders.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
}

/// Replaced text in a file of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Redaction {
    /// The file.
    pub path: String,
    /// Name of the rule that found it.
    pub rule: String,
    /// How often.
    pub count: u64,
}
