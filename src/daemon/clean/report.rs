//! What a clean removed, or would remove, and what it left and why.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::domain::time::Timestamp;

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Nothing was removed; this is what would be.
    pub dry_run: bool,
    /// What went.
    pub removed: Vec<Removed>,
    /// Bytes on the disk that it takes, all together.
    pub bytes: u64,
    /// What stayed, by why.
    pub kept: Kept,
    /// What could not be removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failure>,
}

/// One thing that went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// What it was.
    pub kind: Kind,
    /// Where it lay, from the repository's root.
    pub path: String,
    /// Bytes on the disk that it takes.
    pub bytes: u64,
    /// Why it could go.
    pub reason: String,
}

/// The kinds of things that go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The directory of a run.
    Run,
    /// A copy that was put aside in `state/`: a torn tail, or what a repair replaced.
    Copy,
    /// Repositories that an agent made inside its worktree.
    Repositories,
    /// A worktree that nobody uses, or what was left of making or removing one.
    Worktree,
    /// What a clean that was killed left.
    Leftover,
}

/// What stayed: for each kind, how many for which reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Directories of runs: `inUse`, `unfinished`, `young`, `unknown`, `unreadable`.
    pub runs: BTreeMap<&'static str, u64>,
    /// Copies in `state/`: `young`, `repairing`.
    pub copies: BTreeMap<&'static str, u64>,
    /// Folders of kept repositories: `inUse`, `unfinished`, `young`, `unknown`.
    pub repositories: BTreeMap<&'static str, u64>,
    /// Worktrees that nobody works in: `daemonRuns`, `unfinished`, `gitRuns`.
    pub worktrees: BTreeMap<&'static str, u64>,
    /// Work under `refs/swarm/rescue/`, which is never removed.
    pub rescue: Rescue,
}

/// Work that was kept when its worktree or history went.
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
    /// Where it lies.
    pub path: String,
    /// Why not.
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

    /// What still has its name has not gone.
    pub(super) fn without_what_stayed(mut self, root: &Path) -> Self {
        let gone = |it: &Removed| {
            it.kind == Kind::Leftover || fs::symlink_metadata(root.join(&it.path)).is_err()
        };
        self.removed.retain(gone);
        self.bytes = self.removed.iter().map(|it| it.bytes).sum();
        self
    }
}

/// One more for this reason.
pub(super) fn count(kept: &mut BTreeMap<&'static str, u64>, why: &'static str) {
    *kept.entry(why).or_default() += 1;
}
