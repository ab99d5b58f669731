//! Moves the target branch.
//!
//! Invariant: it moves by compare-and-swap from the commit that was verified against, and only
//! after every checkout of it was updated; otherwise nothing changes. May be repeated after a kill
//! at any point.

use super::checkout_sync::Move;
use super::obstacles::Blocked;
use crate::crash;
use crate::git::error::GitError;
use crate::git::objects::names::branch_ref;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;
use crate::git::worktree::registry::Worktree;

/// Arguments of [`Repo::land`] and [`Repo::move_target`].
#[derive(Debug, Clone)]
pub struct Land {
    /// Name of the target branch.
    pub branch: String,
    /// Commit that the target must still be at: the one verified against.
    pub expected: Oid,
    /// New commit of the target.
    pub commit: Oid,
}

/// Result of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandOutcome {
    /// The target is now at the commit.
    Landed,
    /// The target already contained the commit before this call.
    AlreadyLanded,
    /// The target has moved: merge and verify again.
    TargetMoved {
        /// Its current commit; `None` if the branch is gone.
        found: Option<Oid>,
    },
    /// A person's checkout could not be updated.
    CheckoutBlocked(Blocked),
    /// The commit does not contain `expected`, so landing would remove commits from the target.
    NotAFastForward,
}

impl Repo {
    /// Moves the target forward to a commit from [`Repo::build_merge`].
    pub fn land(&self, want: &Land) -> Result<LandOutcome, GitError> {
        let reference = branch_ref(&want.branch)?;
        self.tree_of(want.commit)?;
        if let Some(found) = self.read_ref(&reference)?
            && self.contains(found, want.commit)?
        {
            self.settle_all(None)?;
            return Ok(LandOutcome::AlreadyLanded);
        }
        if !self.contains(want.commit, want.expected)? {
            return Ok(LandOutcome::NotAFastForward);
        }
        self.move_with_checkouts(want, &reference)
    }

    /// Moves the target to any commit, even backwards, for a rollback. Same safety and outcomes as
    /// [`Repo::land`].
    pub fn move_target(&self, want: &Land) -> Result<LandOutcome, GitError> {
        let reference = branch_ref(&want.branch)?;
        self.tree_of(want.commit)?;
        if self.read_ref(&reference)? == Some(want.commit) {
            self.settle_all(None)?;
            return Ok(LandOutcome::AlreadyLanded);
        }
        self.make_durable(want.commit, &[want.expected])?;
        self.move_with_checkouts(want, &reference)
    }

    fn move_with_checkouts(&self, want: &Land, reference: &str) -> Result<LandOutcome, GitError> {
        let step = Move {
            branch: &want.branch,
            old: want.expected,
            new: want.commit,
        };
        self.settle_all(Some(step))?;
        let found = self.read_ref(reference)?;
        if found != Some(want.expected) {
            return Ok(LandOutcome::TargetMoved { found });
        }
        if let Some(blocked) = self.absent_checkout(&want.branch)? {
            return Ok(LandOutcome::CheckoutBlocked(blocked));
        }
        let checkouts = self.checkouts_of(&want.branch)?;
        if let Err(blocked) = self.update_all(&checkouts, step)? {
            return Ok(LandOutcome::CheckoutBlocked(blocked));
        }
        crash::point("git.land.before-ref");
        match self.move_ref(reference, step.old, step.new, "swarm: landed") {
            Ok(()) => {}
            Err(GitError::RefMoved { found, .. }) => {
                self.undo_updates(&checkouts, step)?;
                return Ok(LandOutcome::TargetMoved { found });
            }
            // A git that was killed or failed at the end has moved it all the same. Where that
            // cannot be read, the note stays for the next call.
            Err(error) => {
                if self.read_ref(reference)? != Some(step.new) {
                    self.undo_updates(&checkouts, step)?;
                    return Err(error);
                }
                self.sync_ref(reference)?;
            }
        }
        crash::point("git.land.after-ref");
        { checkouts.iter() }.try_for_each(|checkout| self.followed(checkout, step))?;
        Ok(LandOutcome::Landed)
    }

    /// Updates all checkouts, or none.
    fn update_all(
        &self,
        checkouts: &[Worktree],
        step: Move<'_>,
    ) -> Result<Result<(), Blocked>, GitError> {
        for (at, checkout) in checkouts.iter().enumerate() {
            let outcome = self.follow(checkout, step);
            if !matches!(outcome, Ok(Ok(()))) {
                self.undo_updates(&checkouts[..at], step)?;
                return outcome;
            }
        }
        Ok(Ok(()))
    }

    fn undo_updates(&self, checkouts: &[Worktree], step: Move<'_>) -> Result<(), GitError> {
        checkouts
            .iter()
            .rev()
            .try_for_each(|checkout| self.unfollow(checkout, step))
    }
}
