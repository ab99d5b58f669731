//! How a swarm came from an archive, and whether it has moved away in one.
//!
//! Invariant: a swarm that has moved away does nothing until a person reclaims it. JSON names are
//! part of snapshots and of the restore result.

pub mod agent;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::ids::RunId;
use crate::domain::state::checkpoint::SavedWork;
use crate::domain::time::Timestamp;

/// What an imported archive was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImportPurpose {
    /// A copy: the other swarm may go on, so both may spend money.
    Copy,
    /// The swarm itself: the other one stays stopped.
    Move,
}

/// Where an imported swarm comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// SHA-256 of the archive's `manifest.json`, in hex.
    pub manifest_sha256: String,
    /// Identity of the swarm: SHA-256 of the first record of its log, in hex.
    pub swarm_id: String,
    /// Last event of the archive.
    pub seq: u64,
    /// What the archive was for.
    pub purpose: ImportPurpose,
    /// How much was left behind or differs, by type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub issues: BTreeMap<ImportIssue, u64>,
    /// When it was imported.
    pub at: Timestamp,
}

/// What an import left behind, or what differs here.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ImportIssue {
    /// A profile of the archive is not configured here.
    ProfileNotFound,
    /// A profile has another adapter here.
    AdapterDiffers,
    /// The program of a profile is not installed here.
    ProgramMissing,
    /// A conversation cannot be resumed here.
    ConversationNotPortable,
    /// A commit with work is not in the archive.
    CommitMissing,
    /// A name of the archive means another commit here.
    RefTaken,
    /// A checkpoint cannot be used here.
    CheckpointUnusable,
    /// The target here does not contain what had landed.
    TargetDiffers,
    /// Settings differ.
    ConfigDiffers,
    /// The prompts of a profile differ.
    PromptDiffers,
    /// An approval of a hook does not count here.
    HookNotApproved,
}

impl ImportIssue {
    /// All types, in display order.
    pub const ALL: [Self; 11] = [
        Self::ProfileNotFound,
        Self::AdapterDiffers,
        Self::ProgramMissing,
        Self::ConversationNotPortable,
        Self::CommitMissing,
        Self::RefTaken,
        Self::CheckpointUnusable,
        Self::TargetDiffers,
        Self::ConfigDiffers,
        Self::PromptDiffers,
        Self::HookNotApproved,
    ];

    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether something is left behind. The other types are only told.
    pub fn is_partial(self) -> bool {
        match self {
            Self::ProfileNotFound
            | Self::AdapterDiffers
            | Self::ProgramMissing
            | Self::ConversationNotPortable
            | Self::CommitMissing
            | Self::RefTaken
            | Self::CheckpointUnusable
            | Self::TargetDiffers => true,
            Self::ConfigDiffers | Self::PromptDiffers | Self::HookNotApproved => false,
        }
    }
}

/// Unfinished work that the archive has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedWork {
    /// Its commits.
    pub saved: SavedWork,
    /// Whether its conversation can be resumed here.
    pub conversation: bool,
    /// The run whose recorded prompt the next attempt starts with; `None` builds a new prompt.
    pub prompt: Option<RunId>,
}
