//! The report of a clean: what was removed, or would be, and what stayed and why. Built by `find`,
//! shown by `swarm clean`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::domain::time::Timestamp;

/// The report of a clean.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Nothing was removed; the report says what would be.
    pub dry_run: bool,
    /// What was removed.
    pub removed: Vec<Removed>,
    /// Bytes on disk of everything removed.
    pub bytes: u64,
    /// What stayed, counted by reason.
    pub kept: Kept,
    /// What could not be removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failure>,
}

/// One removed file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// What it was.
    pub kind: Kind,
    /// Its path, relative to the repository's root.
    pub path: String,
    /// Its bytes on disk.
    pub bytes: u64,
    /// Why it is not needed.
    pub reason: String,
}

/// What sort of thing was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The directory of a run.
    Run,
    /// A copy in `state/`: a torn tail, or the original files of a repair.
    Copy,
    /// The file of an imported agent.
    Import,
    /// Repositories that an agent made inside its worktree.
    Repositories,
    /// A worktree that no agent uses, or remains of one.
    Worktree,
    /// Left by a killed clean.
    Leftover,
}

/// What stayed: for each kind, the number for each reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Directories of runs: `inUse`, `unfinished`, `young`, `unknown`, `unreadable`.
    pub runs: BTreeMap<&'static str, u64>,
    /// Copies in `state/`: `young`, `repairing`.
    pub copies: BTreeMap<&'static str, u64>,
    /// Files of imported agents: `unfinished`, `young`.
    pub imports: BTreeMap<&'static str, u64>,
    /// Folders of kept repositories: `inUse`, `unfinished`, `young`, `unknown`.
    pub repositories: BTreeMap<&'static str, u64>,
    /// Worktrees that no agent uses: `daemonRuns`, `unfinished`, `gitRuns`.
    pub worktrees: BTreeMap<&'static str, u64>,
    /// Rescued work under `refs/swarm/rescue/`, which is never removed.
    pub rescue: Rescue,
}

/// Rescued work: commits kept when their worktree or history was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rescue {
    /// References under `refs/swarm/rescue/`.
    pub count: u64,
    /// The date of the oldest commit among them.
    pub oldest: Option<Timestamp>,
}

/// Something that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Its path.
    pub path: String,
    /// Why it could not be removed.
    pub error: String,
}

impl Failure {
    pub(super) fn of(path: &Path, error: &dyn std::fmt::Display) -> Self {
        Self {
            path: path.display().to_string(),
            error: error.to_string(),
        }
    }
}

impl Report {
    pub(super) fn goes(&mut self, removed: Removed) {
        self.bytes += removed.bytes;
        self.removed.push(removed);
    }

    /// Drops entries that still exist under their own name.
    pub(super) fn without_what_stayed(mut self, root: &Path) -> Self {
        let gone = |it: &Removed| {
            it.kind == Kind::Leftover || fs::symlink_metadata(root.join(&it.path)).is_err()
        };
        self.removed.retain(gone);
        self.bytes = self.removed.iter().map(|it| it.bytes).sum();
        self
    }
}

/// Counts one more for this reason.
pub(super) fn count(kept: &mut BTreeMap<&'static str, u64>, why: &'static str) {
    *kept.entry(why).or_default() += 1;
}
