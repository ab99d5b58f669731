//! Prepares a worktree for an attempt: new, from the pool, or taken over from an earlier attempt.
//!
//! Invariant: a directory with a worktree's name is complete. It is built as `.new-<name>` or taken
//! over as `.take-<name>`, and one rename at the end gives it its name. So after a kill the same
//! call continues, and no agent sees half a work tree. A worktree that is taken over is never
//! reset; its mark (see [`super::reuse`]) changes last. One of another attempt, of which the log
//! knows nothing, is released first. For the cost see [`super::pool`].

use std::fs;
use std::path::{Path, PathBuf};

use super::registry::{Found, Registered, Worktree, rename_new};
use super::release::{Proof, Release, rescue_ref};
use super::reset::{Clean, HeadTo};
use super::reuse::ignored::KeepIgnored;
use crate::crash;
use crate::domain::ids::attempt_name;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::objects::names::{branch_ref, check_worktree};
use crate::git::repo::{Head, Repo};
use crate::git::store::oid::Oid;

/// Arguments of [`Repo::prepare_worktree`].
#[derive(Debug, Clone)]
pub struct Prepare {
    /// Its name: `w01`.
    pub name: String,
    /// Branch of this attempt only.
    pub branch: String,
    /// Commit where the branch starts, unless an attempt is taken over.
    pub base: Oid,
    /// Earlier attempt to continue.
    pub from: Option<Earlier>,
    /// Work saved by a checkpoint, used instead of `from`.
    pub saved: Option<Saved>,
    /// Which ignored files of the idea that had the worktree before stay.
    pub keep: KeepIgnored,
}

/// Saved work without a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Tip of the saved branch; the new branch starts there.
    pub tip: Oid,
    /// Commit on top of `tip` with the uncommitted files; `None` if there were none.
    pub wip: Option<Oid>,
}

/// Worktree and branch of an earlier attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its worktree, taken over with all its files, uncommitted and ignored ones included. If it is
    /// gone or no longer swarm's, the work continues from the branch.
    pub worktree: String,
    /// Its branch, deleted once the new branch contains it.
    pub branch: String,
}

/// Result of [`Repo::prepare_worktree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Path of the worktree.
    pub path: PathBuf,
    /// Tip of its branch.
    pub head: Oid,
    /// Whether the ignored files of the worktree's last use are still there.
    pub warm: bool,
}

/// Whose work is in a worktree that has the wanted name.
enum Whose {
    /// Nobody's yet: it was prepared for this attempt.
    Prepared,
    /// That of the earlier attempt, or of this one once it has taken the worktree over.
    Earlier,
    /// That of the attempt with this branch.
    Another(String),
}

/// Name of a worktree while it is made.
pub(crate) fn staging(name: &str) -> String {
    format!(".new-{name}")
}

impl Prepare {
    /// Whether the earlier worktree keeps its name.
    fn takes_over_in_place(&self) -> bool {
        let earlier = self.from.as_ref();
        earlier.is_some_and(|earlier| earlier.worktree == self.name)
    }

    fn whose(&self, repo: &Repo, worktree: &Worktree) -> Whose {
        let in_place = self.takes_over_in_place();
        let own = if in_place {
            Whose::Earlier
        } else {
            Whose::Prepared
        };
        let known = [
            Some(&self.branch),
            self.from.as_ref().map(|from| &from.branch),
        ];
        let known = &known[..=usize::from(in_place)];
        match worktree.attempt(repo) {
            Some(branch) if !known.contains(&Some(&branch)) => Whose::Another(branch),
            Some(_) | None => own,
        }
    }
}

impl Repo {
    /// Prepares the worktree. May be repeated with the same arguments at any time; a prepared
    /// worktree is not changed.
    pub fn prepare_worktree(&self, want: &Prepare) -> Result<Prepared, GitError> {
        check_worktree(&want.name)?;
        let reference = branch_ref(&want.branch)?;
        match self.look_up(&want.name)? {
            Found::Ours(worktree) => match want.whose(self, &worktree) {
                Whose::Prepared => return self.ready(&worktree, want),
                Whose::Earlier => {
                    self.take_over(&worktree, want, &reference)?;
                    self.delete_earlier_branch(want, &reference)?;
                    crash::point("git.take.before-mark");
                    worktree.set_owner(&want.branch)?;
                    return self.ready(&worktree, want);
                }
                Whose::Another(branch) => self.set_aside(&worktree, &branch)?,
            },
            Found::HalfMade => self.discard_directory(&want.name)?,
            Found::Nothing => {}
            Found::Foreign(why) => match &want.from {
                Some(from) if want.takes_over_in_place() => self.keep_spoilt(from)?,
                Some(_) | None => {
                    let path = self.worktree_path(&want.name);
                    return Err(GitError::PathTaken { path, why });
                }
            },
        }
        let staged = match self.worktree_to_take(want)? {
            Some(taken) => self.take_over(&taken, want, &reference)?,
            None => self.make(want, &reference)?,
        };
        self.delete_earlier_branch(want, &reference)?;
        crash::point("git.prepare.before-mark");
        staged.set_owner(&want.branch)?;
        crash::point("git.prepare.before-name");
        let worktree = self.rename_worktree(&staged, &want.name)?;
        self.ready(&worktree, want)
    }

    fn ready(&self, worktree: &Worktree, want: &Prepare) -> Result<Prepared, GitError> {
        let missing = || GitError::BranchMissing {
            branch: want.branch.clone(),
        };
        let head = self.branch_commit(&want.branch)?.ok_or_else(missing)?;
        if worktree.head(self).is_err() {
            // Worktree files are not synced, so a power cut may have emptied `HEAD`.
            worktree.set_head(self, &HeadTo::Branch(branch_ref(&want.branch)?))?;
        }
        Ok(Prepared {
            path: worktree.path.clone(),
            head,
            warm: worktree.is_warm(),
        })
    }

    /// Releases the worktree of an attempt that the log does not know, as after its end was lost.
    /// All its work is kept, and its branch stays.
    fn set_aside(&self, worktree: &Worktree, branch: &str) -> Result<(), GitError> {
        let name = &worktree.name;
        tracing::warn!(
            name,
            branch,
            "this worktree has the work of an attempt that the log \
            does not know; it is kept under refs/swarm/rescue/"
        );
        let head = self.last_head(worktree).and_then(|head| self.time_of(head));
        self.release_worktree(&Release {
            name: name.clone(),
            branch: branch.to_owned(),
            proof: Proof::Keep,
            identity: self.identity()?,
            time: head.unwrap_or(Timestamp::from_millis(0)),
            reuse: true,
        })
        .map(|_| ())
    }

    /// The worktree to take over, under its staging name.
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
        self.rename_worktree(&kept, &staging).map(Some)
    }

    /// Moves what an agent made of its worktree (a repository of its own, a link) to where its
    /// nested repositories are kept, so that the idea goes on from its branch.
    fn keep_spoilt(&self, earlier: &Earlier) -> Result<(), GitError> {
        let attempt = attempt_name(&earlier.branch);
        let path = self.worktree_path(&earlier.worktree);
        let all = self.registered()?.into_iter();
        for one in all.filter(|one| one.path == path) {
            if let Ok(Head::Detached(commit)) = self.head_at(&one.git_dir, &one.path) {
                self.keep_commit(&rescue_ref(&attempt), commit)?;
            }
            self.keep_modules(&one.git_dir, &attempt)?;
        }
        let place = self.free_place(&attempt, Path::new(&earlier.worktree))?;
        rename_new(&path, &place)?;
        crash::point("git.rename.between");
        self.discard_registrations_of(&path)
    }

    /// Starts the new branch at the old work, even if the old branch was deleted or is not checked
    /// out.
    fn take_over(
        &self,
        taken: &Worktree,
        want: &Prepare,
        reference: &str,
    ) -> Result<Worktree, GitError> {
        crash::point("git.take.before-branch");
        let already = taken.head(self)?
            == Head::Branch(reference.trim_start_matches("refs/heads/").to_owned());
        if !already {
            taken.free_locks(self)?;
            let head = match self.last_head(taken) {
                Err(GitError::BranchMissing { .. }) => want.base,
                found => found?,
            };
            self.create_ref(reference, head, "taken over")?;
            crash::point("git.take.after-branch");
            taken.free_locks(self)?;
            taken.set_head(self, &HeadTo::Branch(reference.to_owned()))?;
        }
        Ok(taken.clone())
    }

    /// Deletes the earlier attempt's branch once the new one contains it, unless it is checked out
    /// somewhere.
    fn delete_earlier_branch(&self, want: &Prepare, reference: &str) -> Result<(), GitError> {
        let (Some(from), Some(tip)) = (&want.from, self.read_ref(reference)?) else {
            return Ok(());
        };
        let earlier = branch_ref(&from.branch)?;
        let Some(found) = self.read_ref(&earlier)? else {
            return Ok(());
        };
        let on_it = Some(Head::Branch(from.branch.clone()));
        let used = |one: Registered| {
            fs::symlink_metadata(&one.path).is_ok()
                && self.head_at(&one.git_dir, &one.path).ok() == on_it
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
            self.discard_failed(want, reference, before, tip)?;
        }
        made
    }

    /// Start of the branch: its own commit if it descends from the base, else the earlier attempt's
    /// if that does, else the base.
    fn start_of(&self, want: &Prepare, before: Option<Oid>) -> Result<Oid, GitError> {
        if !self.has_commit(want.base)? {
            return Err(GitError::CommitMissing { oid: want.base });
        }
        match before {
            None if want.saved.is_some() => Ok(want.saved.map_or(want.base, |saved| saved.tip)),
            None => self.earlier_tip(want).map(|tip| tip.unwrap_or(want.base)),
            // An interrupted call started from the target of that time, which may have moved since.
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
        let staged = self.staged(&want.name, tip)?;
        // One without a mark was never used, so it has no ignored files.
        if staged.owner().is_none() {
            staged.mark_cold()?;
        }
        crash::point("git.prepare.before-branch");
        self.create_ref(reference, tip, "attempt")?;
        crash::point("git.prepare.after-branch");
        let head = HeadTo::Branch(reference.to_owned());
        match self.check_out_files(&staged, want, tip, &head) {
            Ok(()) => Ok(staged),
            Err(error) if matches!(error, GitError::DiskFull { .. }) || error.is_from_outside() => {
                Err(error)
            }
            // A worktree from the pool may be in a state that only a new one fixes.
            Err(_) => {
                self.discard_directory(&staged.name)?;
                let fresh = self.added(&staged.name, tip)?;
                fresh.mark_cold()?;
                self.check_out_files(&fresh, want, tip, &head)?;
                Ok(fresh)
            }
        }
    }

    /// Checks out the commit; for saved work, restores its files and leaves uncommitted ones
    /// uncommitted.
    fn check_out_files(
        &self,
        staged: &Worktree,
        want: &Prepare,
        tip: Oid,
        head: &HeadTo,
    ) -> Result<(), GitError> {
        let wip = want.saved.and_then(|saved| saved.wip);
        let leftovers = Clean::Leftovers(&want.keep);
        if wip.is_none() && tip == want.base {
            return self.reset(staged, tip, head, leftovers);
        }
        // The target's rules say what is ignored, not those of the attempt's own work.
        let base = HeadTo::Detached(want.base);
        self.reset(staged, want.base, &base, leftovers)?;
        self.reset(staged, wip.unwrap_or(tip), head, Clean::Untracked)?;
        if wip.is_none() {
            return Ok(());
        }
        crash::point("git.prepare.saved-files");
        let git = staged.git(self).long().config("core.sparseCheckout=false");
        git.args(["read-tree", "--reset"])
            .arg(tip.to_string())
            .ok()?;
        Ok(())
    }

    /// Removes what a failed call created. The caller gets the original error.
    fn discard_failed(
        &self,
        want: &Prepare,
        reference: &str,
        before: Option<Oid>,
        tip: Oid,
    ) -> Result<(), GitError> {
        self.discard_directory(&staging(&want.name))?;
        if before.is_none() && self.read_ref(reference)? == Some(tip) {
            self.delete_ref(reference, tip)?;
        }
        Ok(())
    }

    /// The worktree for this name under its staging name, without anything of value: left by an
    /// earlier call, from the pool, or new.
    fn staged(&self, name: &str, commit: Oid) -> Result<Worktree, GitError> {
        let staging = staging(name);
        match self.look_up(&staging)? {
            Found::Ours(worktree) => return Ok(worktree),
            Found::Nothing => {}
            Found::HalfMade | Found::Foreign(_) => self.discard_directory(&staging)?,
        }
        if let Some(pooled) = self.take_from_pool(name, &staging)? {
            return Ok(pooled);
        }
        self.added(&staging, commit)
    }

    /// Adds a new worktree without files.
    pub(crate) fn added(&self, staging: &str, commit: Oid) -> Result<Worktree, GitError> {
        // Git reads every registration when it adds one, and dies on a half-written one.
        let held = self.registry();
        match self.add_worktree(staging, commit) {
            Err(GitError::Failed { .. }) if self.discard_half_registered()? => {
                self.discard_directory(staging)?;
                self.add_worktree(staging, commit)?;
            }
            added => added?,
        }
        drop(held);
        let added = self.worktree(staging)?;
        self.put_git_dir_links(&added)?;
        Ok(added)
    }

    fn add_worktree(&self, name: &str, commit: Oid) -> Result<(), GitError> {
        let path = self.worktrees_dir()?.join(name);
        let words = ["add", "--quiet", "--no-checkout", "--detach", "--"];
        let git = self.git().arg("worktree").args(words).arg(&path);
        git.arg(commit.to_string()).ok().map(|_| ())
    }
}
