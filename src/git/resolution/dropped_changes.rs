//! Checks what a resolved conflict kept of the work that was to be merged.
//!
//! Invariant: only compares, and saves the work; the resolution is not changed. After a rebase, a
//! squash or a manual merge nothing counts as dropped if every file that the work changed still
//! differs from the target.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::domain::ids::attempt_name;
use crate::git::error::GitError;
use crate::git::objects::names::shown;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;
use crate::git::worktree::release::rescue_ref;

/// Prefix of the rescue reference; the attempt's name follows.
const PREFIX: &str = "left-out-";

/// Changes that a resolution dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedChanges {
    /// Files that the work changed and that now equal the target.
    pub files: Vec<String>,
    /// Files that only the target changed and that now have their old content.
    pub undone: Vec<String>,
    /// Reference that keeps the work.
    pub kept: String,
}

/// Changed paths, by side.
struct Sides {
    /// Changed by the work, and different from the target.
    work: BTreeSet<PathBuf>,
    /// Of these, the ones that equal the target after the resolution.
    left_out: Vec<PathBuf>,
    /// Changed by the target only, and undone.
    undone: Vec<PathBuf>,
}

impl Repo {
    /// Finds changes missing from `head`, which resolved the conflict of `source` and `target` in
    /// the work on `branch`, and saves the work under a reference. `None` if nothing is missing, or
    /// only some files of the work while the history has all commits. May be repeated.
    pub fn keep_left_out(
        &self,
        branch: &str,
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
        let reference = rescue_ref(&format!("{PREFIX}{}", attempt_name(branch)));
        let shown = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect();
        Ok(Some(DroppedChanges {
            files: shown(&sides.left_out),
            undone: shown(&sides.undone),
            kept: self.keep_commit(&reference, source)?,
        }))
    }

    /// Whether `refs/swarm/rescue/<name>` exists.
    pub fn is_kept(&self, name: &str) -> Result<bool, GitError> {
        Ok(self.read_ref(&rescue_ref(name))?.is_some())
    }

    /// `None` if the commits are gone or unrelated.
    fn sides(&self, (source, target): (Oid, Oid), head: Oid) -> Result<Option<Sides>, GitError> {
        let both = self.has_commit(source)? && self.has_commit(target)?;
        let base = if both {
            self.merge_base(source, target)?
        } else {
            None
        };
        let Some(base) = base else {
            return Ok(None);
        };
        let has = |commit, path: &Path| -> Result<bool, GitError> {
            Ok(self.entry_at(commit, path)?.is_some())
        };
        // If the target renamed a file, the work on it is under the new name.
        let is_elsewhere =
            |path: &Path| -> Result<bool, GitError> { Ok(has(base, path)? && !has(target, path)?) };
        let changed = |from, to| -> Result<BTreeSet<PathBuf>, GitError> {
            Ok(self.changed_paths(from, to)?.into_iter().collect())
        };
        let (by_work, by_target) = (changed(base, source)?, changed(base, target)?);
        let (settled, kept) = (changed(target, head)?, changed(base, head)?);
        let work: BTreeSet<PathBuf> = &by_work & &changed(target, source)?;
        let mut left_out = Vec::new();
        for path in &work - &settled {
            if !is_elsewhere(&path)? {
                left_out.push(path);
            }
        }
        Ok(Some(Sides {
            left_out,
            undone: (&(&by_target - &by_work) - &kept).into_iter().collect(),
            work,
        }))
    }
}
