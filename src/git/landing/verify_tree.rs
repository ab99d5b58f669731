//! The worktree `verify`, in which quality commands check a merged tree before the target moves to
//! it, and the untouched target before work begins; and the worktree `control`, in which they check
//! the untouched target to judge a failed check.
//!
//! Invariant: after [`Repo::verify_tree`] its files are the commit's, without untracked files. It
//! is never an agent's worktree: what agents wrote does not reach it. Its own ignored files (build
//! results of the last check) may stay. For the cost see [`crate::git::worktree::pool`].

use std::path::PathBuf;

use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;
use crate::git::worktree::registry::{Found, Worktree};
use crate::git::worktree::reset::{Clean, HeadTo};
use crate::git::worktree::reuse::ignored::KeepIgnored;

/// Name of the worktree in which merged trees and the target are checked.
pub const VERIFY: &str = "verify";
/// Name of the worktree in which the target is checked to judge a failed check.
pub const CONTROL: &str = "control";

/// Result of [`Repo::verify_tree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyTree {
    /// Path of the worktree.
    pub path: PathBuf,
    /// Whether the ignored files of its last use are still there.
    pub warm: bool,
}

impl Repo {
    /// Resets the worktree `name`, [`VERIFY`] or [`CONTROL`], to the commit. Must not run
    /// concurrently for one name.
    pub fn verify_tree(
        &self,
        name: &str,
        commit: Oid,
        keep: &KeepIgnored,
    ) -> Result<VerifyTree, GitError> {
        self.tree_of(commit)?;
        let head = HeadTo::Detached(commit);
        if let Found::Ours(kept) = self.look_up(name)?
            && is_own(&kept, name)
        {
            match self.reset(&kept, commit, &head, Clean::Leftovers(keep)) {
                Ok(()) => return Ok(tree(&kept)),
                // A new one would meet the same, without the build results of this one.
                Err(error) if error.is_from_outside() => return Err(error),
                Err(_) => {}
            }
        }
        // It does not exist yet, or is in a state that only a new one fixes.
        let staging = format!(".new-{name}");
        for name in [name, &staging] {
            if !matches!(self.look_up(name)?, Found::Nothing) {
                self.discard_directory(name)?;
            }
        }
        let staged = self.added(&staging, commit)?;
        staged.mark_cold()?;
        self.reset(&staged, commit, &head, Clean::Everything)?;
        staged.set_owner(name)?;
        Ok(tree(&self.rename_worktree(&staged, name)?))
    }
}

/// Whether it was made here, and is no agent's worktree under this name.
fn is_own(worktree: &Worktree, name: &str) -> bool {
    worktree.owner().as_deref() == Some(name)
}

fn tree(worktree: &Worktree) -> VerifyTree {
    VerifyTree {
        path: worktree.path.clone(),
        warm: worktree.is_warm(),
    }
}
