//! The target branch moves.
//!
//! Invariant: it moves by compare-and-swap from the commit that the caller verified against, and
//! only after every checkout of a person that has it checked out was able to follow; otherwise
//! nothing has changed. May be repeated after a kill at any point.

use git2::Oid;

use super::checkout_sync::Move;
use super::obstacles::Blocked;
use crate::crash;
use crate::git::error::GitError;
use crate::git::objects::names::branch_ref;
use crate::git::repo::Repo;
use crate::git::worktree::registry::Worktree;

/// What is to land.
#[derive(Debug, Clone)]
pub struct Land {
    /// The target branch.
    pub branch: String,
    /// The commit that it was verified on: the target must still be there.
    pub expected: Oid,
    /// The commit that it moves to.
    pub commit: Oid,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandOutcome {
    /// The target is at the commit now.
    Landed,
    /// It was there, or further, before this call.
    AlreadyLanded,
    /// The target is elsewhere: merge and verify again.
    TargetMoved {
        /// Where; none if the branch is gone.
        found: Option<Oid>,
    },
    /// A person's checkout cannot follow.
    CheckoutBlocked(Blocked),
    /// The commit does not contain `expected`, so it would take commits away from the target.
    NotAFastForward,
}

impl Repo {
    /// Moves the target forward, to a commit that [`Repo::build_merge`] has put on disk.
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

    /// Moves the target to any commit, backwards too: for a rollback. Same safety, same outcomes.
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
        let checkouts = self.checkouts_of(&want.branch)?;
        if let Err(blocked) = self.all_follow(&checkouts, step)? {
            return Ok(LandOutcome::CheckoutBlocked(blocked));
        }
        crash::point("git.land.before-ref");
        match self.move_ref(reference, step.old, step.new, "swarm: landed") {
            Ok(()) => {}
            Err(error) => {
                self.none_follow(&checkouts, step)?;
                return match error {
                    GitError::RefMoved { found, .. } => Ok(LandOutcome::TargetMoved { found }),
                    other => Err(other),
                };
            }
        }
        crash::point("git.land.after-ref");
        checkouts.iter().try_for_each(Self::followed)?;
        Ok(LandOutcome::Landed)
    }

    /// All of them, or none.
    fn all_follow(
        &self,
        checkouts: &[Worktree],
        step: Move<'_>,
    ) -> Result<Result<(), Blocked>, GitError> {
        for (at, checkout) in checkouts.iter().enumerate() {
            let outcome = self.follow(checkout, step);
            if !matches!(outcome, Ok(Ok(()))) {
                self.none_follow(&checkouts[..at], step)?;
                return outcome;
            }
        }
        Ok(Ok(()))
    }

    fn none_follow(&self, checkouts: &[Worktree], step: Move<'_>) -> Result<(), GitError> {
        checkouts
            .iter()
            .rev()
            .try_for_each(|checkout| self.unfollow(checkout, step))
    }
}
