//! What a settled conflict has left of the work that was to be merged.
//!
//! Invariant: only looks, and keeps; what was settled is taken as it is. A rebase, a squash or a merge by other means leaves nothing out where
//! each file that the work changed is still another than the target's.

use std::collections::BTreeSet;
use std::path::PathBuf;

use git2::Oid;

use super::error::GitError;
use super::names::shown;
use super::release::rescue_ref;
use super::repo::Repo;

/// In the name of a reference to such work the worktree's name follows.
const PREFIX: &str = "left-out-";

/// Work that a settled conflict has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Files that the work changed and that are as the target has them.
    pub files: Vec<String>,
    /// The reference that has the work.
    pub kept: String,
}

impl Repo {
    /// What is left out of `head`, with which the conflict of `source` and `target` was settled in the worktree `name`, and keeps it under a
    /// reference. None: nothing, or only in some files, and the history has the rest. May be repeated.
    pub fn keep_left_out(
        &self,
        name: &str,
        (source, target): (Oid, Oid),
        head: Oid,
    ) -> Result<Option<LeftOut>, GitError> {
        let (all, out) = self.left_out(source, target, head)?;
        if out.is_empty() || (out.len() < all && self.contains(head, source)?) {
            return Ok(None);
        }
        let kept = self.keep_commit(&rescue_ref(&format!("{PREFIX}{name}")), source)?;
        Ok(Some(LeftOut {
            files: out.iter().map(|path| shown(path)).collect(),
            kept,
        }))
    }

    /// Whether `refs/swarm/rescue/<name>` is there.
    pub fn is_kept(&self, name: &str) -> Result<bool, GitError> {
        Ok(self.read_ref(&rescue_ref(name))?.is_some())
    }

    /// How many files of the work are not as the target has them, and which of them are in `head`.
    fn left_out(
        &self,
        source: Oid,
        target: Oid,
        head: Oid,
    ) -> Result<(usize, Vec<PathBuf>), GitError> {
        let library = self.library()?;
        // Commits that are gone, or have nothing in common: there is nothing to compare.
        let Ok(base) = library.merge_base(source, target) else {
            return Ok((0, Vec::new()));
        };
        let of_work: BTreeSet<PathBuf> = self.changed_paths(base, source)?.into_iter().collect();
        let differs: BTreeSet<PathBuf> = self.changed_paths(target, source)?.into_iter().collect();
        let settled: BTreeSet<PathBuf> = self.changed_paths(target, head)?.into_iter().collect();
        let work: BTreeSet<&PathBuf> = of_work.intersection(&differs).collect();
        let out = work.iter().filter(|path| !settled.contains(**path));
        Ok((work.len(), out.map(|path| (*path).clone()).collect()))
    }
}
