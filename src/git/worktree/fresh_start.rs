//! Starts an attempt from the current target if the earlier attempt left no work, so that it gets
//! what was fixed there since.
//!
//! Invariant: a worktree is given up only if it has no uncommitted files and the target contains
//! every commit of its branch. It goes through a release, which saves anything that appears after
//! all. After a kill, the same call continues.

use super::prepare::{Earlier, Prepare};
use super::registry::Found;
use super::release::{Proof, Release};
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::person::Identity;
use crate::git::repo::{Head, Repo};
use crate::git::store::oid::Oid;

/// Arguments of [`Repo::fresh_start_if_empty`].
#[derive(Debug, Clone)]
pub struct FreshStart {
    /// Name of the target branch.
    pub target: String,
    /// Commit of the target.
    pub tip: Oid,
    /// Author of a rescue commit, if one is needed.
    pub identity: Identity,
    /// Date of that commit.
    pub time: Timestamp,
}

impl Repo {
    /// Returns `want` unchanged; or, if the earlier attempt left nothing and the target has moved,
    /// with the target's commit as base.
    pub fn fresh_start_if_empty(
        &self,
        want: Prepare,
        fresh: FreshStart,
    ) -> Result<Prepare, GitError> {
        let Some(earlier) = &want.from else {
            return Ok(want);
        };
        if fresh.tip == want.base || self.is_under_way(&want)? || self.has_work(earlier, &fresh)? {
            return Ok(want);
        }
        let proof = match self.branch_commit(&earlier.branch)? {
            Some(tip) => Proof::Contained {
                tip,
                target: fresh.target,
            },
            None => Proof::Keep,
        };
        self.release_worktree(&Release {
            name: earlier.worktree.clone(),
            branch: earlier.branch.clone(),
            proof,
            identity: fresh.identity,
            time: fresh.time,
            reuse: true,
        })?;
        Ok(Prepare {
            base: fresh.tip,
            from: None,
            ..want
        })
    }

    /// Whether an earlier call has started to prepare this worktree; then that one continues.
    fn is_under_way(&self, want: &Prepare) -> Result<bool, GitError> {
        let staging = format!(".take-{}", want.name);
        let found = match self.look_up(&want.name)? {
            Found::Ours(worktree) => {
                let on_it = Head::Branch(want.branch.clone());
                let owner = worktree.owner();
                owner.as_ref() == Some(&want.branch)
                    || worktree.head(self).is_ok_and(|head| head == on_it)
            }
            Found::Nothing | Found::HalfMade | Found::Foreign(_) => false,
        };
        Ok(found || matches!(self.look_up(&staging)?, Found::Ours(_)))
    }

    fn has_work(&self, earlier: &Earlier, fresh: &FreshStart) -> Result<bool, GitError> {
        if let Some(tip) = self.branch_commit(&earlier.branch)?
            && !self.contains(fresh.tip, tip)?
        {
            return Ok(true);
        }
        let Found::Ours(kept) = self.look_up(&earlier.worktree)? else {
            return Ok(false);
        };
        if self.has_submodule_work(&kept) {
            return Ok(true);
        }
        // Unreadable content might be work.
        let (Ok(head), Ok(entries)) = (self.last_head(&kept), self.status(&kept)) else {
            return Ok(true);
        };
        Ok(!self.index_is_plain(&kept)?
            || !entries.is_empty()
            || !self.contains(fresh.tip, head)?)
    }
}
