//! An earlier attempt that left no work of its own is not gone on from: the next one begins where
//! the target is now, so that what was mended there since reaches it.
//!
//! Invariant: only a worktree without uncommitted files, on a branch whose every commit the target
//! has, is taken away, and by a release, which keeps what turns up after all. After a kill anywhere
//! the same call carries on.

use git2::Oid;

use super::prepare::{Earlier, Prepare};
use super::registry::Found;
use super::release::{Proof, Release};
use super::reset::index_is_plain;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::repo::{Identity, Repo};

/// Where an attempt without a past begins.
#[derive(Debug, Clone)]
pub struct FreshStart {
    /// The target branch.
    pub target: String,
    /// Its commit.
    pub tip: Oid,
    /// Author of a rescue commit, should one be needed.
    pub identity: Identity,
    /// Its date.
    pub time: Timestamp,
}

impl Repo {
    /// What is to be prepared: as asked, or, if the earlier attempt left nothing and the target has
    /// gone on, from the target's commit.
    pub fn fresh_start_if_empty(
        &self,
        want: Prepare,
        anew: FreshStart,
    ) -> Result<Prepare, GitError> {
        let Some(earlier) = &want.from else {
            return Ok(want);
        };
        if anew.tip == want.base || self.is_under_way(&want)? || self.has_work(earlier, &anew)? {
            return Ok(want);
        }
        let proof = match self.branch_commit(&earlier.branch)? {
            Some(tip) => Proof::Contained {
                tip,
                target: anew.target,
            },
            None => Proof::Keep,
        };
        self.release_worktree(&Release {
            name: earlier.worktree.clone(),
            branch: earlier.branch.clone(),
            proof,
            identity: anew.identity,
            time: anew.time,
        })?;
        Ok(Prepare {
            base: anew.tip,
            from: None,
            ..want
        })
    }

    /// An earlier call has begun to prepare; it is that one that goes on.
    fn is_under_way(&self, want: &Prepare) -> Result<bool, GitError> {
        for name in [want.name.clone(), format!(".take-{}", want.name)] {
            if matches!(self.look_up(&name)?, Found::Ours(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_work(&self, earlier: &Earlier, anew: &FreshStart) -> Result<bool, GitError> {
        if let Some(tip) = self.branch_commit(&earlier.branch)?
            && !self.contains(anew.tip, tip)?
        {
            return Ok(true);
        }
        let Found::Ours(kept) = self.look_up(&earlier.worktree)? else {
            return Ok(false);
        };
        // What cannot be read might be work.
        let (Ok(head), Ok(entries)) = (self.last_head(&kept), self.status(&kept)) else {
            return Ok(true);
        };
        Ok(!index_is_plain(&kept) || !entries.is_empty() || !self.contains(anew.tip, head)?)
    }
}
