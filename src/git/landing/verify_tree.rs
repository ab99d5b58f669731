//! The worktree `.merge`, in which quality commands check a merged tree before the target moves to
//! it.
//!
//! Invariant: after [`Repo::verify_tree`] its files are the commit's, without untracked files.
//! Ignored files (build results of the last check) stay, so that the next build is faster. For the
//! cost see [`crate::git::worktree::pool`].

use std::path::PathBuf;

use git2::Oid;

use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::worktree::registry::Found;
use crate::git::worktree::reset::{Clean, HeadTo};

/// Name of the worktree in which merged trees are checked.
pub const MERGE: &str = ".merge";

impl Repo {
    /// Resets the merge worktree to the commit and returns its directory. Must not run
    /// concurrently.
    pub fn verify_tree(&self, commit: Oid) -> Result<PathBuf, GitError> {
        self.tree_of(commit)?;
        if let Found::Ours(kept) = self.look_up(MERGE)?
            && self
                .reset(&kept, commit, &HeadTo::Detached(commit), Clean::Untracked)
                .is_ok()
        {
            return Ok(kept.path);
        }
        // It does not exist yet, or is in a state that only a new one fixes.
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
}
