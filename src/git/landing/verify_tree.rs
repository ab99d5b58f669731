//! The worktree `.merge`, in which a merged tree is checked before the target moves to it.
//!
//! Invariant: after [`Repo::verify_tree`] its files are the commit's, and nothing untracked is beside them; only ignored files
//! (build results of the last check) stay, which makes the next build a small one.
//!
//! What it costs: see [`crate::git::worktree::pool`].

use std::path::{Path, PathBuf};

use git2::Oid;

use crate::git::error::GitError;
use crate::git::objects::names::shown;
use crate::git::repo::Repo;
use crate::git::worktree::registry::Found;
use crate::git::worktree::reset::{Clean, HeadTo};
use crate::git::worktree::status::Kind;

/// The name of the worktree in which merged trees are checked.
pub const MERGE: &str = ".merge";

/// What the commands that checked a tree did to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeCheck {
    /// `HEAD` is no longer the commit.
    pub head_moved: bool,
    /// Tracked files that are no longer the commit's.
    pub modified: Vec<String>,
    /// New files that nothing ignores.
    pub untracked: Vec<String>,
}

impl TreeCheck {
    /// Whether what was checked is what the commit holds.
    pub fn is_exact(&self) -> bool {
        !self.head_moved && self.modified.is_empty()
    }
}

impl Repo {
    /// Brings the merge worktree to the commit; answers with its directory. One caller at a time.
    pub fn verify_tree(&self, commit: Oid) -> Result<PathBuf, GitError> {
        self.tree_of(commit)?;
        if let Found::Ours(kept) = self.look_up(MERGE)?
            && self
                .reset(&kept, commit, &HeadTo::Detached(commit), Clean::Untracked)
                .is_ok()
        {
            return Ok(kept.path);
        }
        // Not there yet, or in a state that only a new one mends.
        if !matches!(self.look_up(MERGE)?, Found::Nothing) {
            self.discard_directory(MERGE)?;
        }
        let staged = self.staged(".new-merge", commit)?;
        self.reset(
            &staged,
            commit,
            &HeadTo::Detached(commit),
            Clean::Everything,
        )?;
        Ok(self.rename_worktree(&staged, MERGE)?.path)
    }

    /// Whether the files that were checked are still the commit's. `path` is what [`Repo::verify_tree`] answered.
    pub fn verify_clean(&self, path: &Path, commit: Oid) -> Result<TreeCheck, GitError> {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let worktree = self.worktree(name)?;
        let mut check = TreeCheck {
            head_moved: self.head_commit(&worktree)? != commit,
            ..TreeCheck::default()
        };
        for entry in self.status(&worktree)? {
            let list = match entry.kind {
                Kind::Untracked | Kind::Nested => &mut check.untracked,
                Kind::Changed | Kind::Missing | Kind::Unmerged { .. } => &mut check.modified,
            };
            list.push(shown(&entry.path));
        }
        Ok(check)
    }
}
