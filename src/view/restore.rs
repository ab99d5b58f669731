//! The result of an import: what was restored, what was left behind, and what to do about it.
//!
//! Invariant: whatever is in `skipped` has a warning that says why and what happens instead.

use serde::Serialize;

use crate::domain::state::transfer::ImportIssue;
use crate::domain::time::Timestamp;

/// The result of an import, or of its preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restore {
    /// Whether all of the archive can be used here.
    pub result: RestoreResult,
    /// The same in a sentence.
    pub summary: String,
    /// The archive.
    pub source: RestoreSource,
    /// Today's configuration, which counts, beside the archive's.
    pub config: RestoredConfig,
    /// What was restored, in numbers.
    pub restored: Restored,
    /// Names of what was left behind.
    pub skipped: Skipped,
    /// Why, and what else differs.
    pub warnings: Vec<RestoreWarning>,
}

/// Whether all of an archive can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RestoreResult {
    /// All of it.
    Full,
    /// Something is left behind.
    Partial,
}

/// Where a swarm comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreSource {
    /// SHA-256 of the archive's `manifest.json`, in hex.
    pub manifest_sha256: String,
    /// Last event of the archive.
    pub seq: u64,
    /// Its time.
    pub snapshot_at: Timestamp,
    /// Version of the program that wrote the archive.
    pub swarm_version: String,
    /// SHA-256 of the first record of the log, in hex.
    pub swarm_id: String,
}

/// Today's configuration beside the archive's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct RestoredConfig {
    /// Whether they are the same.
    pub same: bool,
    /// Settings that differ, by name.
    pub differs: Vec<String>,
}

/// What an import restores, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// Events.
    pub events: u64,
    /// Ideas.
    pub ideas: usize,
    /// Ideas that continue from unfinished work.
    pub unfinished: usize,
    /// Conversations that can be resumed.
    pub conversations: usize,
    /// Checkpoints.
    pub checkpoints: usize,
    /// Learnings.
    pub learnings: usize,
    /// Facts.
    pub facts: usize,
}

/// Names of what an import leaves behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// Profiles that do not exist here.
    pub profiles: Vec<String>,
    /// Agents whose work is not in the archive.
    pub agents: Vec<String>,
    /// Agents whose conversation cannot be resumed here.
    pub conversations: Vec<String>,
    /// Checkpoints that cannot be used here.
    pub checkpoints: Vec<String>,
    /// References that mean another commit here.
    pub references: Vec<String>,
    /// Programs that are missing here, by profile.
    pub programs: Vec<String>,
    /// Branches that lack what had landed.
    pub targets: Vec<String>,
}

/// Something that is left behind, or that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreWarning {
    /// Which type of warning it is.
    #[serde(rename = "type")]
    pub issue: ImportIssue,
    /// Name of what it is about.
    pub what: String,
    /// What is wrong.
    pub message: String,
    /// What happens instead.
    pub instead: String,
    /// Commands that change it, to type in the repository's root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

impl Skipped {
    /// Adds what a warning is about.
    pub fn add(&mut self, issue: ImportIssue, what: &str) {
        let list = match issue {
            ImportIssue::ProfileNotFound => &mut self.profiles,
            ImportIssue::AdapterDiffers | ImportIssue::ConversationNotPortable => {
                &mut self.conversations
            }
            ImportIssue::ProgramMissing => &mut self.programs,
            ImportIssue::CommitMissing => &mut self.agents,
            ImportIssue::RefTaken => &mut self.references,
            ImportIssue::CheckpointUnusable => &mut self.checkpoints,
            ImportIssue::TargetDiffers => &mut self.targets,
            ImportIssue::ConfigDiffers
            | ImportIssue::PromptDiffers
            | ImportIssue::HookNotApproved => return,
        };
        if !list.iter().any(|known| known == what) {
            list.push(what.to_owned());
        }
    }

    /// How much is left behind.
    pub fn count(&self) -> usize {
        let lists = [
            &self.profiles,
            &self.agents,
            &self.conversations,
            &self.checkpoints,
            &self.references,
            &self.programs,
            &self.targets,
        ];
        lists.into_iter().map(Vec::len).sum()
    }

    /// Whether nothing is left behind.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
