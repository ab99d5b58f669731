//! Releases a worktree to the pool and deletes its branch, but only with proof.
//!
//! Invariant: before anything is cleaned, work that no commit of the branch contains (uncommitted
//! files, commits off the branch) is saved under `refs/swarm/rescue/<attempt>`, and nested
//! repositories and submodules with work are moved aside (see `nested_repos`, `submodules`).
//! Ignored files are not saved. Renaming to `.old-<name>` marks the worktree as worthless; cleaning
//! comes later. A worktree that meanwhile belongs to another attempt is not touched. A branch is
//! deleted only if the target contains its commit or it is saved under `refs/swarm/rescue/`.

use std::fs;

use super::prepare::staging;
use super::registry::{Found, Worktree};
use super::reset::HeadTo;
use super::snapshot::Snapshot;
use super::status::{Entry, Kind};
use crate::crash;
use crate::domain::ids::attempt_name;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::objects::names::{branch_ref, check_worktree, shown};
use crate::git::person::Identity;
use crate::git::repo::{Head, Repo};
use crate::git::resolution::{lost_work::open_ref, moved_target::resolution_ref, note};
use crate::git::store::oid::Oid;

/// What justifies deleting the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The branch landed at this commit, which the target contains. Both are verified here.
    Contained {
        /// Last commit of the branch.
        tip: Oid,
        /// Branch on which it landed.
        target: String,
    },
    /// The idea was abandoned: its commits are saved under `refs/swarm/rescue/<branch>`, then the
    /// branch is deleted.
    Abandoned,
    /// No proof: the branch stays.
    Keep,
}

/// Arguments of [`Repo::release_worktree`].
#[derive(Debug, Clone)]
pub struct Release {
    /// Name of the worktree.
    pub name: String,
    /// Branch of the attempt.
    pub branch: String,
    /// Whether the branch may be deleted.
    pub proof: Proof,
    /// Author of a rescue commit, if one is needed.
    pub identity: Identity,
    /// Date of that commit, fixed when the release was requested, so that a repeated call gives the
    /// same commit.
    pub time: Timestamp,
    /// Whether the worktree stays in the pool for the next attempt.
    pub reuse: bool,
}

/// Result of [`Repo::release_worktree`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Released {
    /// Whether the branch no longer exists.
    pub branch_deleted: bool,
    /// Commit under `refs/swarm/rescue/<attempt>` with work that no commit of the branch contained.
    pub rescued: Option<Oid>,
    /// Whether nested repositories were moved to [`kept_name`](crate::git::kept_name).
    pub nested: bool,
}

impl Release {
    /// Name of what is kept of the attempt.
    fn attempt(&self) -> String {
        attempt_name(&self.branch)
    }
}

impl Repo {
    /// Returns the worktree to the pool. May be repeated; a missing worktree counts as released.
    pub fn release_worktree(&self, want: &Release) -> Result<Released, GitError> {
        check_worktree(&want.name)?;
        branch_ref(&want.branch)?;
        let mut done = Released::default();
        let old = format!(".old-{}", want.name);
        for name in [want.name.clone(), format!(".take-{}", want.name)] {
            self.retire(&name, &old, want)?;
        }
        self.release_open_work(want)?;
        self.discard_leftover(&staging(&want.name))?;
        match self.look_up(&old)? {
            Found::Ours(worktree) => self.recycle(&worktree, want)?,
            // It may have been moved into the pool by an interrupted call.
            Found::Nothing | Found::HalfMade | Found::Foreign(_) => self.settle_pool()?,
        }
        let attempt = want.attempt();
        done.nested = self.has_kept_nested(&attempt);
        done.rescued = self.read_ref(&rescue_ref(&attempt))?;
        crash::point("git.release.before-branch");
        done.branch_deleted = self.delete_branch_if_proven(want)?;
        Ok(done)
    }

    /// Releases the worktree of finished work, and nothing else. Returns what it holds besides the
    /// branch at `head`, if anything; nothing is changed then. May be repeated.
    pub fn lend_worktree(&self, want: &Release, head: Oid) -> Result<Option<String>, GitError> {
        check_worktree(&want.name)?;
        if let Found::Ours(worktree) = self.look_up(&want.name)?
            && worktree.owner().is_none_or(|owner| owner == want.branch)
            && let Some(more) = self.holds_more(&worktree, want, head)?
        {
            return Ok(Some(more));
        }
        self.release_worktree(want).map(|_| None)
    }

    /// What a worktree holds that is not on its branch at `head`.
    fn holds_more(
        &self,
        worktree: &Worktree,
        want: &Release,
        head: Oid,
    ) -> Result<Option<String>, GitError> {
        let other = |what: &str| Ok(Some(what.to_owned()));
        if self.branch_commit(&want.branch)? != Some(head) {
            return other("newer commits of its branch");
        }
        if worktree.head(self)? != Head::Branch(want.branch.clone()) {
            return other("another branch or commit");
        }
        let entries = self.status(worktree)?;
        if let Some(first) = entries.first() {
            let others = entries.len() - 1;
            let others = if others == 0 {
                String::new()
            } else {
                format!(" and {others} more")
            };
            return Ok(Some(format!(
                "uncommitted files ({}{others})",
                shown(&first.path)
            )));
        }
        if !self.index_is_plain(worktree)? {
            return other("files that git is told to ignore changes of");
        }
        if self.has_submodule_work(worktree) {
            return other("work in a submodule");
        }
        if fs::symlink_metadata(worktree.git_dir.join("locked")).is_ok() {
            return other("a lock of yours (git worktree lock)");
        }
        let attempt = want.attempt();
        let is_open = note::is_open(worktree)
            || self.read_ref(&open_ref(&attempt))?.is_some()
            || self.read_ref(&resolution_ref(&attempt))?.is_some();
        if is_open {
            return other("an unfinished conflict");
        }
        Ok(None)
    }

    /// Saves all work, then renames the worktree to `.old-<name>`: from here on it holds nothing of
    /// value.
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
        if worktree.owner().is_some_and(|owner| owner != want.branch) {
            return Ok(());
        }
        worktree.free_locks(self)?;
        self.rescue(&worktree, want)?;
        crash::point("git.release.before-rename");
        self.discard_leftover(old)?;
        self.rename_worktree(&worktree, old)?;
        crash::point("git.release.after-rename");
        Ok(())
    }

    /// Saves work that no commit of the branch contains.
    fn rescue(&self, worktree: &Worktree, want: &Release) -> Result<(), GitError> {
        let attempt = want.attempt();
        self.embed_submodules(worktree, &attempt)?;
        let mut snapshot = Snapshot {
            name: worktree.name.clone(),
            reference: rescue_ref(&attempt),
            message: format!("Uncommitted work of {attempt}\n"),
            identity: want.identity.clone(),
            time: want.time,
        };
        if note::is_open(worktree) {
            snapshot = snapshot.of_open_merge();
        }
        // A damaged index hides the list of files, not the work: the snapshot uses an index of its
        // own.
        let entries = self.status(worktree);
        let clean = |entries: &Vec<Entry>| entries.iter().all(|entry| entry.kind == Kind::Nested);
        let nothing_left = self.index_is_plain(worktree)? && entries.as_ref().is_ok_and(clean);
        if nothing_left || self.snapshot_worktree(&snapshot)?.is_none() {
            self.rescue_strayed(worktree, want)?;
        }
        self.keep_nested(worktree, &attempt, entries.as_deref().ok())
    }

    /// Releases work kept for a conflict that was never finished.
    fn release_open_work(&self, want: &Release) -> Result<(), GitError> {
        let attempt = want.attempt();
        for reference in [open_ref(&attempt), resolution_ref(&attempt)] {
            if let Some(ours) = self.read_ref(&reference)? {
                self.rescue_commit(ours, want)?;
                self.delete_ref(&reference, ours)?;
            }
        }
        Ok(())
    }

    /// Saves commits made on a detached `HEAD`, or whose branch was deleted.
    fn rescue_strayed(&self, worktree: &Worktree, want: &Release) -> Result<(), GitError> {
        self.rescue_commit(self.last_head(worktree)?, want)
    }

    /// Saves this commit unless the branch, or the target it landed on, contains it.
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
        let reference = rescue_ref(&want.attempt());
        match self.read_ref(&reference)? {
            Some(before) if self.contains(before, head)? => Ok(()),
            None => self.create_ref(&reference, head, "swarm: kept"),
            Some(_) => self.create_ref(&format!("{reference}-{head}"), head, "swarm: kept"),
        }
    }

    /// Moves the worktree to the pool uncleaned, since its next user resets it anyway. Detaches
    /// `HEAD`, so that the branch can be deleted.
    fn recycle(&self, worktree: &Worktree, want: &Release) -> Result<(), GitError> {
        if !want.reuse {
            return self.discard_directory(&worktree.name);
        }
        let detached = self.last_head(worktree).and_then(|head| {
            worktree.free_locks(self)?;
            worktree.set_head(self, &HeadTo::Detached(head))
        });
        match detached {
            Ok(()) if self.index_is_readable(worktree)? => self.put_into_pool(worktree, &want.name),
            // Not worth keeping; and git complains of a damaged index for as long as it is there.
            Ok(()) | Err(_) => self.discard_directory(&worktree.name),
        }
    }

    fn discard_leftover(&self, name: &str) -> Result<(), GitError> {
        match self.look_up(name)? {
            Found::Nothing => Ok(()),
            Found::Ours(_) | Found::HalfMade | Found::Foreign(_) => self.discard_directory(name),
        }
    }

    /// Deletes the branch if the proof allows it; returns whether it is gone.
    fn delete_branch_if_proven(&self, want: &Release) -> Result<bool, GitError> {
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

/// Reference that keeps the work of a worktree or branch.
pub fn rescue_ref(name: &str) -> String {
    format!("refs/swarm/rescue/{name}")
}
