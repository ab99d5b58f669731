//! The worktree `verify`, in which quality commands check a merged tree before the target moves to
//! it, and the untouched target before work begins.
//!
//! Invariant: after [`Repo::verify_tree`] its files are the commit's, without untracked files. It
//! is never an agent's worktree: what agents wrote does not reach it. Its own ignored files (build
//! results of the last check) may stay. For the cost see [`crate::git::worktree::pool`].

use std::path::PathBuf;

use git2::Oid;

use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::worktree::registry::{Found, Worktree};
use crate::git::worktree::reset::{Clean, HeadTo};
use crate::git::worktree::reuse::ignored::KeepIgnored;

/// Name of the worktree in which merged trees and the target are checked.
pub const VERIFY: &str = "verify";
const STAGING: &str = ".new-verify";

/// Result of [`Repo::verify_tree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyTree {
    /// Path of the worktree.
    pub path: PathBuf,
    /// Whether the ignored files of its last use are still there.
    pub warm: bool,
}

impl Repo {
    /// Resets the worktree to the commit. Must not run concurrently.
    pub fn verify_tree(&self, commit: Oid, keep: &KeepIgnored) -> Result<VerifyTree, GitError> {
        self.tree_of(commit)?;
        let head = HeadTo::Detached(commit);
        if let Found::Ours(kept) = self.look_up(VERIFY)?
            && is_own(&kept)
            && self
                .reset(&kept, commit, &head, Clean::Leftovers(keep))
                .is_ok()
        {
            return Ok(tree(&kept));
        }
        // It does not exist yet, or is in a state that only a new one fixes.
        for name in [VERIFY, STAGING] {
            if !matches!(self.look_up(name)?, Found::Nothing) {
                self.discard_directory(name)?;
            }
        }
        let staged = self.added(STAGING, commit)?;
        staged.mark_cold()?;
        self.reset(&staged, commit, &head, Clean::Everything)?;
        staged.set_owner(VERIFY)?;
        Ok(tree(&self.rename_worktree(&staged, VERIFY)?))
    }
}

/// Whether it was made here, and is no agent's worktree under this name.
fn is_own(worktree: &Worktree) -> bool {
    worktree.owner().as_deref() == Some(VERIFY)
}

fn tree(worktree: &Worktree) -> VerifyTree {
    VerifyTree {
        path: worktree.path.clone(),
        warm: worktree.is_warm(),
    }
}
