//! A worktree for an attempt: made, or taken from the pool, or taken over from an earlier attempt.
//!
//! Invariant: a directory with the name of a worktree is complete. It is made under `.new-<name>`
//! (or taken over under `.take-<name>`) and gets its name by one rename, the last step; so after a
//! kill anywhere the same call carries on, and an agent never sees half a work tree. What is taken
//! over is never reset: neither its uncommitted files nor its index. What swarm did not make is not
//! touched.
//!
//! What it costs: see [`super::pool`].

use std::fs;
use std::path::PathBuf;

use git2::Oid;

use super::registry::{Found, Registered, Worktree};
use super::reset::{Clean, HeadTo};
use crate::crash;
use crate::git::error::GitError;
use crate::git::objects::names::{branch_ref, check_worktree};
use crate::git::repo::{Head, Repo, read_head};

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Prepare {
    /// The directory under `.swarm/worktrees`: `<agent>-<idea>`.
    pub name: String,
    /// The branch of this attempt alone.
    pub branch: String,
    /// Where the branch starts, unless an attempt is taken over.
    pub base: Oid,
    /// An earlier attempt to go on from.
    pub from: Option<Earlier>,
    /// Or work that a checkpoint kept.
    pub saved: Option<Saved>,
}

/// Work by its commits. There is no worktree of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Where the branch stood: the new one begins there.
    pub tip: Oid,
    /// The files as they were, as a commit on top of that; none: as the tip has them.
    pub wip: Option<Oid>,
}

/// What an earlier attempt left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its worktree, taken over with everything in it, uncommitted and ignored files too. One that
    /// is gone or no longer swarm's own is left to whoever did that; then the work goes on from the
    /// branch.
    pub worktree: String,
    /// Its branch. It goes when the new branch has all of it.
    pub branch: String,
}

/// A worktree that is ready for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Its directory.
    pub path: PathBuf,
    /// The commit that its branch is at.
    pub head: Oid,
}

impl Prepare {
    /// Whether the earlier attempt's worktree keeps its name: a conversation that goes on is known
    /// by the place.
    fn takes_over_in_place(&self) -> bool {
        let earlier = self.from.as_ref();
        earlier.is_some_and(|earlier| earlier.worktree == self.name)
    }
}

impl Repo {
    /// Makes the worktree ready. May be repeated with the same arguments at any time; what is ready
    /// stays as it is.
    pub fn prepare_worktree(&self, want: &Prepare) -> Result<Prepared, GitError> {
        check_worktree(&want.name)?;
        let reference = branch_ref(&want.branch)?;
        match self.look_up(&want.name)? {
            Found::Ours(worktree) => {
                if want.takes_over_in_place() {
                    self.take_over(&worktree, want, &reference)?;
                    self.let_earlier_branch_go(want, &reference)?;
                }
                return self.ready(&worktree, want);
            }
            Found::HalfMade => self.discard_directory(&want.name)?,
            Found::Nothing => {}
            Found::Foreign(why) => {
                let path = self.worktree_path(&want.name);
                return Err(GitError::PathTaken { path, why });
            }
        }
        let staged = match self.worktree_to_take(want)? {
            Some(taken) => self.take_over(&taken, want, &reference)?,
            None => self.make(want, &reference)?,
        };
        self.let_earlier_branch_go(want, &reference)?;
        crash::point("git.prepare.before-name");
        let worktree = self.rename_worktree(&staged, &want.name)?;
        self.ready(&worktree, want)
    }

    fn ready(&self, worktree: &Worktree, want: &Prepare) -> Result<Prepared, GitError> {
        let missing = || GitError::BranchMissing {
            branch: want.branch.clone(),
        };
        let head = self.branch_commit(&want.branch)?.ok_or_else(missing)?;
        if worktree.head().is_err() {
            // Files of a worktree are not synced: a power cut may have emptied this one.
            worktree.set_head(&HeadTo::Branch(branch_ref(&want.branch)?))?;
        }
        let path = worktree.path.clone();
        Ok(Prepared { path, head })
    }

    /// The worktree to take over, under its name for the way.
    fn worktree_to_take(&self, want: &Prepare) -> Result<Option<Worktree>, GitError> {
        let staging = format!(".take-{}", want.name);
        if let Found::Ours(taken) = self.look_up(&staging)? {
            return Ok(Some(taken));
        }
        let Some(from) = &want.from else {
            return Ok(None);
        };
        check_worktree(&from.worktree)?;
        let Found::Ours(kept) = self.look_up(&from.worktree)? else {
            return Ok(None);
        };
        kept.free_locks(self)?;
        crash::point("git.take.before-rename");
        self.rename_worktree(&kept, &staging).map(Some)
    }

    /// The new branch starts where the old work is, also when the old branch was deleted or left.
    fn take_over(
        &self,
        taken: &Worktree,
        want: &Prepare,
        reference: &str,
    ) -> Result<Worktree, GitError> {
        crash::point("git.take.before-branch");
        let already =
            taken.head()? == Head::Branch(reference.trim_start_matches("refs/heads/").to_owned());
        if !already {
            taken.free_locks(self)?;
            let head = match self.last_head(taken) {
                Err(GitError::BranchMissing { .. }) => want.base,
                found => found?,
            };
            self.create_ref(reference, head, "taken over")?;
            crash::point("git.take.after-branch");
            taken.free_locks(self)?;
            taken.set_head(&HeadTo::Branch(reference.to_owned()))?;
        }
        Ok(taken.clone())
    }

    /// The earlier attempt's branch goes once the new one has all of it, unless somebody has it
    /// checked out.
    fn let_earlier_branch_go(&self, want: &Prepare, reference: &str) -> Result<(), GitError> {
        let (Some(from), Some(tip)) = (&want.from, self.read_ref(reference)?) else {
            return Ok(());
        };
        let earlier = branch_ref(&from.branch)?;
        let Some(found) = self.read_ref(&earlier)? else {
            return Ok(());
        };
        let on_it = Some(Head::Branch(from.branch.clone()));
        let used = |one: Registered| {
            fs::symlink_metadata(&one.path).is_ok() && read_head(&one.git_dir).ok() == on_it
        };
        if earlier != reference
            && self.contains(tip, found)?
            && !self.registered()?.into_iter().any(used)
        {
            crash::point("git.take.before-delete");
            self.delete_ref(&earlier, found)?;
        }
        Ok(())
    }

    fn make(&self, want: &Prepare, reference: &str) -> Result<Worktree, GitError> {
        let before = self.read_ref(reference)?;
        let tip = self.start_of(want, before)?;
        let made = self.make_staged(want, reference, tip);
        if made.is_err() {
            self.unmake(want, reference, before, tip)?;
        }
        made
    }

    /// Where the branch begins: at its own commit if there is one that goes with the base, else at
    /// the earlier attempt's if that has gone on from the base, else at the base.
    fn start_of(&self, want: &Prepare, before: Option<Oid>) -> Result<Oid, GitError> {
        if self.library()?.find_commit(want.base).is_err() {
            return Err(GitError::CommitMissing { oid: want.base });
        }
        match before {
            None if want.saved.is_some() => Ok(want.saved.map_or(want.base, |saved| saved.tip)),
            None => self.earlier_tip(want).map(|tip| tip.unwrap_or(want.base)),
            // A call that was cut short began where the target was then; it may have gone on since.
            Some(found)
                if self.contains(found, want.base)? || self.contains(want.base, found)? =>
            {
                Ok(found)
            }
            Some(found) => Err(GitError::BranchTaken {
                branch: want.branch.clone(),
                found,
                base: want.base,
            }),
        }
    }

    fn earlier_tip(&self, want: &Prepare) -> Result<Option<Oid>, GitError> {
        let Some(from) = &want.from else {
            return Ok(None);
        };
        match self.branch_commit(&from.branch)? {
            Some(tip) if self.contains(tip, want.base)? => Ok(Some(tip)),
            _ => Ok(None),
        }
    }

    fn make_staged(&self, want: &Prepare, reference: &str, tip: Oid) -> Result<Worktree, GitError> {
        let staged = self.staged(&format!(".new-{}", want.name), tip)?;
        crash::point("git.prepare.before-branch");
        self.create_ref(reference, tip, "attempt")?;
        crash::point("git.prepare.after-branch");
        let head = HeadTo::Branch(reference.to_owned());
        match self.fill(&staged, want, tip, &head) {
            Ok(()) => Ok(staged),
            Err(full @ GitError::DiskFull { .. }) => Err(full),
            // What came from the pool may be in a state that only a new one mends.
            Err(_) => {
                self.discard_directory(&staged.name)?;
                let fresh = self.added(&staged.name, tip)?;
                self.fill(&fresh, want, tip, &head)?;
                Ok(fresh)
            }
        }
    }

    /// The files of the commit; of saved work those that it had, with what was not committed shown
    /// as such.
    fn fill(
        &self,
        staged: &Worktree,
        want: &Prepare,
        tip: Oid,
        head: &HeadTo,
    ) -> Result<(), GitError> {
        let Some(wip) = want.saved.and_then(|saved| saved.wip) else {
            return self.reset(staged, tip, head, Clean::Everything);
        };
        self.reset(staged, wip, head, Clean::Everything)?;
        crash::point("git.prepare.saved-files");
        let git = staged.git(self).long().config("core.sparseCheckout=false");
        git.args(["read-tree", "--reset"])
            .arg(tip.to_string())
            .ok()?;
        Ok(())
    }

    /// After an error (a full disk, say) nothing half made stays. The error itself is what the
    /// caller hears.
    fn unmake(
        &self,
        want: &Prepare,
        reference: &str,
        before: Option<Oid>,
        tip: Oid,
    ) -> Result<(), GitError> {
        self.discard_directory(&format!(".new-{}", want.name))?;
        if before.is_none() && self.read_ref(reference)? == Some(tip) {
            self.delete_ref(reference, tip)?;
        }
        Ok(())
    }

    /// A worktree of that name with nothing of value in it: one that an earlier call left, one from
    /// the pool, or a new one.
    pub(crate) fn staged(&self, staging: &str, commit: Oid) -> Result<Worktree, GitError> {
        match self.look_up(staging)? {
            Found::Ours(worktree) => return Ok(worktree),
            Found::Nothing => {}
            Found::HalfMade | Found::Foreign(_) => self.discard_directory(staging)?,
        }
        if let Some(pooled) = self.take_from_pool(staging)? {
            return Ok(pooled);
        }
        self.added(staging, commit)
    }

    /// A new worktree, without files.
    fn added(&self, staging: &str, commit: Oid) -> Result<Worktree, GitError> {
        // Git reads every registration when it adds one, and dies of one that another call has half
        // written.
        let held = self.registry();
        match self.add_worktree(staging, commit) {
            Err(GitError::Failed { .. }) if self.discard_half_registered()? => {
                self.discard_directory(staging)?;
                self.add_worktree(staging, commit)?;
            }
            added => added?,
        }
        drop(held);
        self.worktree(staging)
    }

    fn add_worktree(&self, name: &str, commit: Oid) -> Result<(), GitError> {
        let path = self.worktrees_dir()?.join(name);
        let words = ["add", "--quiet", "--no-checkout", "--detach", "--"];
        let git = self.git().arg("worktree").args(words).arg(&path);
        git.arg(commit.to_string()).ok().map(|_| ())
    }
}
