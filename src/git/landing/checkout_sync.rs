//! A person's checkout follows its branch from one commit to another, as `git merge --ff-only` would take it.
//!
//! Invariant: what is not committed is never changed. Git's own two-way merge (`read-tree -m -u old new`) decides that: it touches a path
//! only if index and file are the old commit's, and checks all paths before it touches the first. Where git would overwrite *ignored* files, we do
//! not: they may be all there is of somebody's settings. Index and files go first, the branch last; in between they look like staged changes.
//!
//! A kill at any point is healed by [`Repo::settle_checkouts`] or by the next landing: see [`super::checkout_recovery`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use git2::Oid;

use super::checkout_recovery::{
    Touched, begin_rehearsal, end_rehearsal, is_ours, remove_note, write_note,
};
use crate::crash;
use crate::git::error::GitError;
use crate::git::exec::lock_files::{self, Lock};
use crate::git::objects::names::shown;
use crate::git::repo::{Head, Repo};
use crate::git::worktree::commit_leftovers::under_way;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::reset::index_is_plain;
use crate::git::worktree::status::Kind;

/// Why a checkout cannot follow now. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The checkout.
    pub worktree: PathBuf,
    /// What is in the way, for people.
    pub reason: String,
    /// The files in the way, if it is files.
    pub files: Vec<String>,
}

/// One move of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move<'a> {
    pub(crate) branch: &'a str,
    pub(crate) old: Oid,
    pub(crate) new: Oid,
}

type Follow = Result<(), Blocked>;

impl Repo {
    /// The main work tree and the linked ones that are not ours.
    pub(crate) fn peoples_checkouts(&self) -> Result<Vec<Worktree>, GitError> {
        let ours = self.worktrees_dir()?;
        let main = Worktree {
            name: "main".into(),
            path: self.root().to_owned(),
            git_dir: self.common_dir().to_owned(),
        };
        let linked = self
            .registered()?
            .into_iter()
            .filter(|one| one.path.is_dir() && !one.path.starts_with(&ours));
        let linked = linked.map(|one| Worktree {
            name: shown(&one.path),
            path: one.path,
            git_dir: one.git_dir,
        });
        Ok(std::iter::once(main).chain(linked).collect())
    }

    /// Those that have the branch checked out, or are about to have it again.
    pub(crate) fn checkouts_of(&self, branch: &str) -> Result<Vec<Worktree>, GitError> {
        let mut found = self.peoples_checkouts()?;
        found.retain(|checkout| {
            let on_it = checkout
                .head()
                .is_ok_and(|head| head == Head::Branch(branch.to_owned()));
            on_it || rebases(&checkout.git_dir, branch)
        });
        Ok(found)
    }

    /// Brings index and files from the old commit to the new one, or changes nothing and says why not.
    pub(crate) fn follow(&self, checkout: &Worktree, step: Move<'_>) -> Result<Follow, GitError> {
        if let Some(what) = under_way(&checkout.git_dir) {
            return Ok(Err(blocked(
                checkout,
                format!("a {what} is under way there"),
            )));
        }
        if let Some(held) = self.wait_for_index(checkout)? {
            return Ok(Err(held));
        }
        let touched = self.touched_paths(step)?;
        let there = obstacles(checkout, &touched);
        let hidden = self.ignored_among(checkout, &there)?;
        if !hidden.is_empty() {
            return Ok(Err(in_the_way(checkout, &hidden)));
        }
        let sure = there.is_empty() && self.is_as_in_the_index(checkout, &touched)?;
        if !sure {
            begin_rehearsal(checkout)?;
            if let Err(reason) = self.rehearse(checkout, step)? {
                end_rehearsal(checkout)?;
                return self.why_not(checkout, &touched, reason).map(Err);
            }
        }
        write_note(checkout, step)?;
        if !sure {
            end_rehearsal(checkout)?;
        }
        crash::point("git.land.noted");
        if let Err(error) = self.two_way(checkout, step.old, step.new, &[]) {
            // A killed git leaves its lock; only under the note is it known to be ours.
            if let Some(held) = self.wait_for_index(checkout)? {
                return Ok(Err(held));
            }
            self.put_back(checkout, step)?;
            // Somebody who changed a file since is still in the way; what was git's own trouble (killed, the disk) passes.
            let now = self.rehearse(checkout, step)?;
            remove_note(checkout)?;
            return match now {
                Err(reason) => self.why_not(checkout, &touched, reason).map(Err),
                Ok(()) => Err(error),
            };
        }
        crash::point("git.land.followed");
        Ok(Ok(()))
    }

    /// The files in the way, or git's own reason.
    pub(crate) fn why_not(
        &self,
        checkout: &Worktree,
        touched: &[Touched],
        reason: String,
    ) -> Result<Blocked, GitError> {
        let files = self.changes_in_the_way(checkout, touched)?;
        Ok(if files.is_empty() {
            blocked(checkout, reason)
        } else {
            in_the_way(checkout, &files)
        })
    }

    /// Back from the new commit to the old one, after the branch could not be moved.
    pub(crate) fn unfollow(&self, checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
        self.two_way(checkout, step.new, step.old, &[])?;
        remove_note(checkout)
    }

    /// The landing is done.
    pub(crate) fn followed(checkout: &Worktree) -> Result<(), GitError> {
        remove_note(checkout)
    }

    pub(crate) fn two_way(
        &self,
        checkout: &Worktree,
        old: Oid,
        new: Oid,
        options: &[&str],
    ) -> Result<(), GitError> {
        let git = checkout
            .git(self)
            .long()
            .args(["read-tree", "-m", "-u"])
            .args(options);
        git.args([old.to_string(), new.to_string()])
            .ok()
            .map(|_| ())
    }

    /// The two-way merge without touching anything; the reason if it would be refused.
    pub(crate) fn rehearse(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
    ) -> Result<Result<(), String>, GitError> {
        if self.two_way(checkout, step.old, step.new, &["-n"]).is_ok() {
            return Ok(Ok(()));
        }
        // A killed git has left its lock.
        if let Some(held) = self.wait_for_index(checkout)? {
            return Ok(Err(held.reason));
        }
        // Files that were touched but not changed look changed until the index is refreshed; the exit code only tells of real changes.
        checkout
            .git(self)
            .long()
            .args(["update-index", "-q", "--refresh"])
            .run()?;
        match self.two_way(checkout, step.old, step.new, &["-n"]) {
            Ok(()) => Ok(Ok(())),
            Err(error) if error.was_killed() => Err(error),
            Err(GitError::Failed { stderr, .. }) => Ok(Err(stderr)),
            Err(other) => Err(other),
        }
    }

    /// Waits for whoever holds the index. A lock of a dead git is removed only if the note says that it was ours.
    pub(crate) fn wait_for_index(&self, checkout: &Worktree) -> Result<Option<Blocked>, GitError> {
        let lock = checkout.git_dir.join("index.lock");
        let end = Instant::now() + self.lock_wait();
        loop {
            let state = lock_files::look(&lock)?;
            match state {
                Lock::Absent => return Ok(None),
                Lock::Dead if is_ours(checkout) => lock_files::remove_if_dead(&lock)?,
                Lock::Held if Instant::now() < end => crate::git::exec::command::pause(),
                Lock::Held => {
                    return Ok(Some(blocked(
                        checkout,
                        "another program holds the index (index.lock)".into(),
                    )));
                }
                Lock::Dead => {
                    let reason = format!(
                        "a git that is gone has left {}; delete that file",
                        shown(&lock)
                    );
                    return Ok(Some(blocked(checkout, reason)));
                }
            }
        }
    }

    /// Ignored files where the new commit has files that the old one had not. Git itself refuses only for the untracked ones that
    /// are not ignored.
    pub(crate) fn ignored_among(
        &self,
        checkout: &Worktree,
        there: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        if there.is_empty() {
            return Ok(Vec::new());
        }
        let words = [
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
        ];
        self.list(checkout, &words, there)
    }

    /// Whether no file that the move touches differs from the index: then the move, if git refuses it, has touched nothing of the person's,
    /// and there is no need for a rehearsal, which reads all of both trees.
    fn is_as_in_the_index(
        &self,
        checkout: &Worktree,
        touched: &[Touched],
    ) -> Result<bool, GitError> {
        let words = ["diff-files", "-z", "--name-only", "--no-ext-diff"];
        let paths: Vec<PathBuf> = touched.iter().map(|one| one.path.clone()).collect();
        Ok(index_is_plain(checkout) && self.list(checkout, &words, &paths)?.is_empty())
    }

    /// Whether nothing that the move touches differs from the commit checked out, neither in the index nor as a file.
    pub(crate) fn is_as_committed(
        &self,
        checkout: &Worktree,
        commit: Oid,
        touched: &[Touched],
    ) -> Result<bool, GitError> {
        let commit = commit.to_string();
        let mut words = vec!["diff-index", "--cached", "-z", "--name-only"];
        words.extend(["--no-ext-diff", &commit]);
        let paths: Vec<PathBuf> = touched.iter().map(|one| one.path.clone()).collect();
        Ok(self.is_as_in_the_index(checkout, touched)?
            && self.list(checkout, &words, &paths)?.is_empty())
    }

    /// Uncommitted paths that the move would have to touch.
    pub(crate) fn changes_in_the_way(
        &self,
        checkout: &Worktree,
        touched: &[Touched],
    ) -> Result<Vec<PathBuf>, GitError> {
        let entries = self.status(checkout)?;
        let hit = |path: &Path| {
            touched
                .iter()
                .any(|other| other.path.starts_with(path) || path.starts_with(&other.path))
        };
        // A file that is merely gone is never in the way; an empty directory in its place is.
        let there = entries.into_iter().filter(|entry| {
            entry.kind != Kind::Missing || checkout.path.join(&entry.path).is_dir()
        });
        Ok(there
            .map(|entry| entry.path)
            .filter(|path| hit(path))
            .collect())
    }
}

/// What lies where the new commit has files that the old one had not.
pub(crate) fn obstacles(checkout: &Worktree, touched: &[Touched]) -> Vec<PathBuf> {
    let added = touched.iter().filter(|one| one.added);
    let there: BTreeSet<PathBuf> = added
        .filter_map(|one| obstacle(&checkout.path, &one.path))
        .collect();
    there.into_iter().collect()
}

/// What is on the way to the path: itself, or a file where it needs a directory.
fn obstacle(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut at = PathBuf::new();
    for part in path.components() {
        at.push(part);
        let Ok(meta) = fs::symlink_metadata(root.join(&at)) else {
            return None;
        };
        if !meta.is_dir() {
            return Some(at);
        }
    }
    Some(at)
}

fn rebases(git_dir: &Path, branch: &str) -> bool {
    let names = ["rebase-merge/head-name", "rebase-apply/head-name"];
    let is_it = |text: String| text.trim_end() == format!("refs/heads/{branch}");
    names
        .iter()
        .any(|name| fs::read_to_string(git_dir.join(name)).is_ok_and(is_it))
}

pub(crate) fn blocked(checkout: &Worktree, reason: String) -> Blocked {
    Blocked {
        worktree: checkout.path.clone(),
        reason,
        files: Vec::new(),
    }
}

pub(crate) fn in_the_way(checkout: &Worktree, files: &[PathBuf]) -> Blocked {
    Blocked {
        files: files.iter().map(|path| shown(path)).collect(),
        ..blocked(
            checkout,
            "uncommitted files there would be overwritten; commit, stash or move them".into(),
        )
    }
}
