//! The worktree `replay`, in which a recorded iteration is repeated.
//!
//! Invariant: it is made anew for each replay, on no branch, with the files that the iteration
//! found. No reference keeps what is written in it. Must not run concurrently.

use std::path::PathBuf;

use super::registry::Found;
use super::reset::{Clean, HeadTo};
use super::snapshot::trees::TreeAt;
use crate::git::error::GitError;
use crate::git::repo::Repo;

/// Name of the worktree in which a replay works.
pub const REPLAY: &str = "replay";
const STAGING: &str = ".new-replay";

impl Repo {
    /// Makes the worktree with these files; what its commit lacks is uncommitted.
    pub fn make_replay_tree(&self, files: TreeAt) -> Result<PathBuf, GitError> {
        let TreeAt { commit, tree } = files;
        self.tree_of(commit)?;
        self.discard_replay_tree()?;
        let staged = self.added(STAGING, commit)?;
        let head = HeadTo::Detached(commit);
        self.reset(&staged, commit, &head, Clean::Everything)?;
        if tree != commit {
            let tree = self.peel_to_tree(tree)?.to_string();
            let git = staged.git(self).long().args(["read-tree", "--reset", "-u"]);
            git.arg(tree).ok()?;
            // As the iteration found them: not staged.
            let git = staged.git(self).long().args(["read-tree", "--reset"]);
            git.arg(commit.to_string()).ok()?;
        }
        Ok(self.rename_worktree(&staged, REPLAY)?.path)
    }

    /// Deletes the worktree with everything in it, whatever state it is in.
    pub fn discard_replay_tree(&self) -> Result<(), GitError> {
        let _held = self.registry();
        for name in [REPLAY, STAGING] {
            if !matches!(self.look_up(name)?, Found::Nothing) {
                self.discard_directory(name)?;
            }
        }
        self.discard_registrations_of(&self.worktree_path(REPLAY))
    }
}
