//! Tells a branch's own work from what it has of the target's history that a rollback took back.
//!
//! Invariant: reads only. A commit that is or contains own work is never taken for the target's.
//! Where the history does not tell, what was taken back comes again, and nothing is lost.

use std::collections::HashSet;

use crate::git::error::GitError;
use crate::git::objects::landings::is_landing;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;

/// Arguments of [`Repo::own_work_begins`].
#[derive(Debug, Clone)]
pub struct OwnWork {
    /// Tip of the branch.
    pub source: Oid,
    /// Commit of the target where the branch began.
    pub base: Oid,
    /// Commit that the target is at now.
    pub target: Oid,
    /// Commits that the target was at before its rollbacks. Those that git no longer has are
    /// passed over.
    pub taken_back: Vec<Oid>,
}

impl Repo {
    /// The commit after which all of the branch is its own: its base, or what came of the target
    /// into the branch since and was taken back.
    pub fn own_work_begins(&self, want: &OwnWork) -> Result<Oid, GitError> {
        let taken_back = self.targets(want)?;
        let branch = self.beyond(&[want.source], &[want.target])?;
        let first = self.first_own(want, &branch)?;
        // Newest first, so the first that fits has all the others in it that do.
        for commit in branch {
            let fits = taken_back.contains(&commit)
                && self.contains(commit, want.base)?
                && !match first {
                    Some(first) => self.contains(commit, first)?,
                    None => false,
                };
            if fits {
                return Ok(commit);
            }
        }
        Ok(want.base)
    }

    /// What the target was at, and is no longer: landings, and the lines of first parents. Other
    /// commits may be a branch's that a person merged.
    fn targets(&self, want: &OwnWork) -> Result<HashSet<Oid>, GitError> {
        let mut tips = Vec::new();
        for tip in &want.taken_back {
            if self.has_commit(*tip)? {
                tips.push(*tip);
            }
        }
        let gone: HashSet<Oid> = self.beyond(&tips, &[want.target])?.into_iter().collect();
        let mut targets = HashSet::new();
        for oid in &gone {
            if is_landing(&self.commit(*oid)?) {
                targets.insert(*oid);
            }
        }
        for tip in tips {
            let mut at = Some(tip);
            while let Some(oid) = at.filter(|oid| gone.contains(oid)) {
                targets.insert(oid);
                at = self.commit(oid)?.parents.first().copied();
            }
        }
        Ok(targets)
    }

    /// The oldest own commit: on the line of first parents, since what is merged into a branch is
    /// its second parent. A landing is nobody's work, also where the branch was fast-forwarded to
    /// it.
    fn first_own(&self, want: &OwnWork, branch: &[Oid]) -> Result<Option<Oid>, GitError> {
        let branch: HashSet<&Oid> = branch.iter().collect();
        let (mut at, mut first) = (Some(want.source), None);
        while let Some(oid) = at.filter(|oid| *oid != want.base && branch.contains(oid)) {
            let commit = self.commit(oid)?;
            if !is_landing(&commit) {
                first = Some(oid);
            }
            at = commit.parents.first().copied();
        }
        Ok(first)
    }
}
