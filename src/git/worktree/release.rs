//! The end of a worktree: back to the pool, its branch deleted only with proof.
//!
//! Invariant: before anything is cleaned, what is not in a commit of the branch lies under
//! `refs/swarm/rescue/`: uncommitted files, and commits that were made off the branch. The rename
//! to `.old-<name>` is the step from "somebody's work" to "nothing of value"; cleaning comes after
//! it. A branch goes only if its commit is contained in the target, or is kept under
//! `refs/swarm/rescue/`. Repositories inside the worktree are moved aside first: see
//! `nested_repos`. Not kept: ignored files.

use git2::Oid;

use super::registry::{Found, Worktree};
use super::reset::{HeadTo, index_is_plain};
use super::snapshot::Snapshot;
use super::status::{Entry, Kind};
use crate::crash;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::objects::names::{branch_ref, check_worktree};
use crate::git::repo::{Identity, Repo};
use crate::git::resolution::lost_work::open_ref;

/// Why the branch may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The branch was at this commit when it landed, and the target is said to contain it; both are
    /// checked here.
    Contained {
        /// The branch's last commit.
        tip: Oid,
        /// The branch that it landed on.
        target: String,
    },
    /// The idea is given up: its commits are kept under `refs/swarm/rescue/<branch>`, then the
    /// branch goes.
    Abandoned,
    /// None: the branch stays.
    Keep,
}

/// What is to be released.
#[derive(Debug, Clone)]
pub struct Release {
    /// The worktree.
    pub name: String,
    /// Its branch.
    pub branch: String,
    /// What becomes of the branch.
    pub proof: Proof,
    /// Author of a rescue commit, if one is needed.
    pub identity: Identity,
    /// Of the intention, so that a redo gives the same commit.
    pub time: Timestamp,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Released {
    /// Whether there is no such branch any more.
    pub branch_deleted: bool,
    /// The commit under `refs/swarm/rescue/<name>` with what was in no commit of the branch.
    pub rescued: Option<Oid>,
    /// Whether repositories lay inside the worktree; they are in
    /// [`kept_name`](crate::git::kept_name) now.
    pub nested: bool,
}

impl Repo {
    /// Gives the worktree back to the pool. May be repeated; a worktree that is gone is released.
    pub fn release_worktree(&self, want: &Release) -> Result<Released, GitError> {
        check_worktree(&want.name)?;
        branch_ref(&want.branch)?;
        let mut done = Released::default();
        let old = format!(".old-{}", want.name);
        for name in [want.name.clone(), format!(".take-{}", want.name)] {
            self.retire(&name, &old, want)?;
        }
        self.release_open_work(want)?;
        self.discard_leftover(&format!(".new-{}", want.name))?;
        match self.look_up(&old)? {
            Found::Ours(worktree) => self.recycle(&worktree)?,
            // It may have been on its way into the pool.
            _ => self.settle_pool()?,
        }
        done.nested = self.has_kept_nested(&want.name);
        done.rescued = self.read_ref(&rescue_ref(&want.name))?;
        crash::point("git.release.before-branch");
        done.branch_deleted = self.let_branch_go(want)?;
        Ok(done)
    }

    /// From "somebody's work" to "nothing of value".
    fn retire(&self, name: &str, old: &str, want: &Release) -> Result<(), GitError> {
        let worktree = match self.look_up(name)? {
            Found::Ours(worktree) => worktree,
            Found::Nothing => return Ok(()),
            Found::HalfMade => return self.discard_directory(name),
            Found::Foreign(why) => {
                let path = self.worktree_path(name);
                return Err(GitError::PathTaken { path, why });
            }
        };
        worktree.free_locks(self)?;
        self.rescue(&worktree, want)?;
        crash::point("git.release.before-rename");
        self.discard_leftover(old)?;
        self.rename_worktree(&worktree, old)?;
        crash::point("git.release.after-rename");
        Ok(())
    }

    /// Keeps what no commit of the branch has.
    fn rescue(&self, worktree: &Worktree, want: &Release) -> Result<(), GitError> {
        let snapshot = Snapshot {
            name: worktree.name.clone(),
            reference: rescue_ref(&want.name),
            message: format!("Uncommitted work of {}\n", want.name),
            identity: want.identity.clone(),
            time: want.time,
        };
        // A damaged index hides the list, not the work: the snapshot is taken with an index of our
        // own.
        let entries = self.status(worktree);
        let clean = |entries: &Vec<Entry>| entries.iter().all(|entry| entry.kind == Kind::Nested);
        let nothing_left = index_is_plain(worktree) && entries.as_ref().is_ok_and(clean);
        if nothing_left || self.snapshot_worktree(&snapshot)?.is_none() {
            self.rescue_strayed(worktree, want)?;
        }
        self.keep_nested(worktree, &want.name, entries.as_deref().ok())
    }

    /// What a conflict has kept that was never over.
    fn release_open_work(&self, want: &Release) -> Result<(), GitError> {
        let reference = open_ref(&want.name);
        if let Some(ours) = self.read_ref(&reference)? {
            self.rescue_commit(ours, want)?;
            self.delete_ref(&reference, ours)?;
        }
        Ok(())
    }

    /// Commits made on no branch, or with the branch deleted under them.
    fn rescue_strayed(&self, worktree: &Worktree, want: &Release) -> Result<(), GitError> {
        self.rescue_commit(self.last_head(worktree)?, want)
    }

    /// Keeps this commit, unless the branch has it or what the branch landed on.
    fn rescue_commit(&self, head: Oid, want: &Release) -> Result<(), GitError> {
        let mut safe = vec![self.branch_commit(&want.branch)?];
        if let Proof::Contained { target, .. } = &want.proof {
            safe.push(self.branch_commit(target)?);
        }
        for tip in safe.into_iter().flatten() {
            if self.contains(tip, head)? {
                return Ok(());
            }
        }
        self.make_durable(head, &[])?;
        let reference = rescue_ref(&want.name);
        match self.read_ref(&reference)? {
            Some(before) if self.contains(before, head)? => Ok(()),
            None => self.create_ref(&reference, head, "swarm: kept"),
            Some(_) => self.create_ref(&format!("{reference}-{head}"), head, "swarm: kept"),
        }
    }

    /// As it is: whoever takes it from the pool brings it to a commit exactly, and cleaning it
    /// twice would cost as much again. Its `HEAD` leaves the branch, which may go now.
    fn recycle(&self, worktree: &Worktree) -> Result<(), GitError> {
        let detached = self.last_head(worktree).and_then(|head| {
            worktree.free_locks(self)?;
            worktree.set_head(&HeadTo::Detached(head))
        });
        match detached {
            Ok(()) => self.put_into_pool(worktree),
            // What has lost its head is not worth keeping.
            Err(_) => self.discard_directory(&worktree.name),
        }
    }

    fn discard_leftover(&self, name: &str) -> Result<(), GitError> {
        match self.look_up(name)? {
            Found::Nothing => Ok(()),
            _ => self.discard_directory(name),
        }
    }

    /// True if the branch is gone.
    fn let_branch_go(&self, want: &Release) -> Result<bool, GitError> {
        let reference = branch_ref(&want.branch)?;
        let Some(found) = self.read_ref(&reference)? else {
            self.free_ref(&reference)?;
            return Ok(true);
        };
        let may_go = match &want.proof {
            Proof::Keep => false,
            Proof::Contained { tip, target } => found == *tip && self.is_in(target, found)?,
            Proof::Abandoned => self.keep_branch(&want.branch, found).map(|()| true)?,
        };
        if may_go {
            crash::point("git.release.before-delete");
            self.delete_ref(&reference, found)?;
        }
        Ok(may_go)
    }

    fn is_in(&self, target: &str, commit: Oid) -> Result<bool, GitError> {
        match self.branch_commit(target)? {
            Some(target) => self.contains(target, commit),
            None => Ok(false),
        }
    }

    fn keep_branch(&self, branch: &str, tip: Oid) -> Result<(), GitError> {
        self.make_durable(tip, &[])?;
        let reference = rescue_ref(branch);
        match self.read_ref(&reference)? {
            None => self.create_ref(&reference, tip, "swarm: kept"),
            Some(before) if self.contains(tip, before)? => {
                self.move_ref(&reference, before, tip, "swarm: kept")
            }
            Some(_) => self.create_ref(&format!("{reference}-{tip}"), tip, "swarm: kept"),
        }
    }
}

/// Where the work of a worktree or branch is kept.
pub fn rescue_ref(name: &str) -> String {
    format!("refs/swarm/rescue/{name}")
}
