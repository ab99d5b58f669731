//! The worktree `.merge`, in which a merged tree is checked before the target moves to it.
//!
//! Invariant: after [`Repo::verify_tree`] its files are the commit's, and nothing untracked is
//! beside them; only ignored files (build results of the last check) stay, which makes the next
//! build a small one.
//!
//! What it costs: see [`crate::git::worktree::pool`].

use std::path::PathBuf;

use git2::Oid;

use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::worktree::registry::Found;
use crate::git::worktree::reset::{Clean, HeadTo};

/// The name of the worktree in which merged trees are checked.
pub const MERGE: &str = ".merge";

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
}
