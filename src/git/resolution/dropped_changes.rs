//! What a settled conflict has left of the work that was to be merged.
//!
//! Invariant: only looks, and keeps; what was settled is taken as it is. A rebase, a squash or a
//! merge by other means leaves nothing out where each file that the work changed is still another
//! than the target's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::Oid;

use crate::git::error::GitError;
use crate::git::objects::names::shown;
use crate::git::repo::Repo;
use crate::git::worktree::release::rescue_ref;

/// In the name of a reference to such work the worktree's name follows.
const PREFIX: &str = "left-out-";

/// What a settled conflict has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedChanges {
    /// Files that the work changed and that are as the target has them.
    pub files: Vec<String>,
    /// Files that only the target changed and that are as they were before.
    pub undone: Vec<String>,
    /// The reference that has the work.
    pub kept: String,
}

/// The sides of a merge, as paths that changed.
struct Sides {
    /// By the work, and not as the target has them.
    work: BTreeSet<PathBuf>,
    /// Of these, those that the settled merge has as the target.
    left_out: Vec<PathBuf>,
    /// By the target alone, and taken back.
    undone: Vec<PathBuf>,
}

impl Repo {
    /// What is left out of `head`, with which the conflict of `source` and `target` was settled in
    /// the worktree `name`, and keeps the work under a reference. None: nothing; or only some files
    /// of the work, and the history has the rest. May be repeated.
    pub fn keep_left_out(
        &self,
        name: &str,
        merged: (Oid, Oid),
        head: Oid,
    ) -> Result<Option<DroppedChanges>, GitError> {
        let Some(mut sides) = self.sides(merged, head)? else {
            return Ok(None);
        };
        let (source, _) = merged;
        if sides.left_out.len() < sides.work.len() && self.contains(head, source)? {
            sides.left_out.clear();
        }
        if sides.left_out.is_empty() && sides.undone.is_empty() {
            return Ok(None);
        }
        let shown = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect();
        Ok(Some(DroppedChanges {
            files: shown(&sides.left_out),
            undone: shown(&sides.undone),
            kept: self.keep_commit(&rescue_ref(&format!("{PREFIX}{name}")), source)?,
        }))
    }

    /// Whether `refs/swarm/rescue/<name>` is there.
    pub fn is_kept(&self, name: &str) -> Result<bool, GitError> {
        Ok(self.read_ref(&rescue_ref(name))?.is_some())
    }

    /// None: commits that are gone, or have nothing in common, cannot be compared.
    fn sides(&self, (source, target): (Oid, Oid), head: Oid) -> Result<Option<Sides>, GitError> {
        let library = self.library()?;
        let Ok(base) = library.merge_base(source, target) else {
            return Ok(None);
        };
        let has = |commit, path: &Path| {
            let tree = library.find_commit(commit).and_then(|found| found.tree());
            tree.is_ok_and(|tree| tree.get_path(path).is_ok())
        };
        // Where the target has renamed a file, the work on it is under the other name.
        let is_elsewhere = |path: &Path| has(base, path) && !has(target, path);
        let changed = |from, to| -> Result<BTreeSet<PathBuf>, GitError> {
            Ok(self.changed_paths(from, to)?.into_iter().collect())
        };
        let (by_work, by_target) = (changed(base, source)?, changed(base, target)?);
        let (settled, kept) = (changed(target, head)?, changed(base, head)?);
        let work: BTreeSet<PathBuf> = &by_work & &changed(target, source)?;
        Ok(Some(Sides {
            left_out: (&work - &settled)
                .into_iter()
                .filter(|path| !is_elsewhere(path))
                .collect(),
            undone: (&(&by_target - &by_work) - &kept).into_iter().collect(),
            work,
        }))
    }
}
