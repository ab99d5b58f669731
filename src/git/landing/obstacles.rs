//! Finds what prevents a person's checkout from following its branch: a merge in progress, a locked
//! index, or uncommitted files.
//!
//! Invariant: nothing of the person's is changed. Git's two-way merge decides, in a dry run
//! (`read-tree -n`). Ignored files, which git would overwrite, count as obstacles: they may hold
//! somebody's only settings.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::checkout_recovery::{Touched, begin_rehearsal, end_rehearsal, is_ours};
use super::checkout_sync::Move;
use crate::git::error::GitError;
use crate::git::exec::command;
use crate::git::exec::lock_files::{self, Lock};
use crate::git::objects::names::{branch_ref, quoted, shown};
use crate::git::operations::Operation;
use crate::git::repo::{Head, Repo};
use crate::git::store::oid::Oid;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::status::Kind;

/// With more files than this, the stash command names the whole checkout.
const NAMED: usize = 20;

/// Why a checkout cannot be updated. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// Root of the checkout.
    pub worktree: PathBuf,
    /// The reason, for people.
    pub reason: String,
    /// Files that would be overwritten, if that is the reason.
    pub files: Vec<String>,
    /// Shell command that stashes these files; empty if there are none.
    pub command: String,
    /// How long the lock that is the reason has been there. Its holder may end by itself.
    pub lock_age: Option<Duration>,
}

impl Repo {
    /// Obstacles to moving the branch from one commit to another, in each checkout of it.
    pub fn checkouts_blocking(
        &self,
        branch: &str,
        from: Oid,
        to: Oid,
    ) -> Result<Vec<Blocked>, GitError> {
        branch_ref(branch)?;
        let step = Move {
            branch,
            old: from,
            new: to,
        };
        let mut found: Vec<Blocked> = self.absent_checkout(branch)?.into_iter().collect();
        for checkout in self.checkouts_of(branch)? {
            found.extend(self.find_obstacle(&checkout, step)?);
        }
        Ok(found)
    }

    /// A locked worktree with this branch that is absent now, as on a disk that is not plugged in.
    /// When it comes back, its files would look like a change that takes the landings back.
    pub(crate) fn absent_checkout(&self, branch: &str) -> Result<Option<Blocked>, GitError> {
        let ours = self.worktrees_folder();
        let on_it = Head::Branch(branch.to_owned());
        let absent = self.registered()?.into_iter().find(|one| {
            one.git_dir.join("locked").exists()
                && !one.path.is_dir()
                && !one.path.starts_with(&ours)
                && self
                    .head_at(&one.git_dir, self.root())
                    .is_ok_and(|head| head == on_it)
        });
        Ok(absent.map(|one| {
            let path = quoted(&one.path);
            let reason = format!(
                "that worktree has {branch} checked out, and it is locked and not there now. \
                Bring it back, or give it up: git worktree unlock {path} && git worktree prune"
            );
            let checkout = Worktree {
                name: shown(&one.path),
                path: one.path,
                git_dir: one.git_dir,
            };
            blocked(&checkout, reason)
        }))
    }

    /// The obstacle to updating this checkout, if any.
    pub(crate) fn find_obstacle(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
    ) -> Result<Option<Blocked>, GitError> {
        if let Some(operation) = Operation::of_commits(&checkout.git_dir) {
            let reason = format!(
                "a {} is in progress there; end it: {}",
                operation.name,
                operation.end_in(&checkout.path)
            );
            return Ok(Some(blocked(checkout, reason)));
        }
        if let Some(held) = self.wait_for_index(checkout)? {
            return Ok(Some(held));
        }
        let touched = self.touched_paths(step)?;
        let there = obstacles(checkout, &touched);
        // The dry run reads both trees completely, so it is skipped where git cannot refuse.
        if there.is_empty() && self.is_as_committed(checkout, step.old, &touched)? {
            return Ok(None);
        }
        let hidden = self.ignored_among(checkout, &there)?;
        begin_rehearsal(checkout)?;
        let refused = self.rehearse(checkout, step)?.err();
        end_rehearsal(checkout)?;
        let changed = match &refused {
            Some(_) => self.changes_in_the_way(checkout, &touched)?,
            None => Vec::new(),
        };
        if refused.is_some()
            && let Some(conflicts) = self.unresolved_conflicts(checkout)?
        {
            return Ok(Some(conflicts));
        }
        let files: BTreeSet<PathBuf> = hidden.iter().cloned().chain(changed).collect();
        if files.is_empty() {
            return Ok(refused.map(|reason| blocked(checkout, reason)));
        }
        Ok(Some(in_the_way(checkout, &files, !hidden.is_empty())))
    }

    /// Dry run of the two-way merge; the reason if git would refuse it.
    pub(crate) fn rehearse(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
    ) -> Result<Result<(), String>, GitError> {
        if self.two_way(checkout, step.old, step.new, &["-n"]).is_ok() {
            return Ok(Ok(()));
        }
        // A killed git may have left its lock.
        if let Some(held) = self.wait_for_index(checkout)? {
            return Ok(Err(held.reason));
        }
        // A touched file looks changed until the index is refreshed. The exit code of the refresh
        // reports real changes only.
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

    /// Waits until the index is unlocked. A lock of a dead git is removed only if the note says
    /// that it is ours.
    pub(crate) fn wait_for_index(&self, checkout: &Worktree) -> Result<Option<Blocked>, GitError> {
        let lock = checkout.git_dir.join("index.lock");
        let end = Instant::now() + self.lock_wait();
        loop {
            match lock_files::inspect_lock(&lock)? {
                Lock::Absent => return Ok(None),
                Lock::Dead if is_ours(checkout) => lock_files::remove_if_dead(&lock)?,
                Lock::Held if Instant::now() < end => command::pause(),
                // Whoever holds a dead one may run where its processes cannot be seen.
                Lock::Held | Lock::Dead => {
                    let age = lock_files::age(&lock)?.unwrap_or_default();
                    return Ok(Some(Blocked {
                        lock_age: Some(age),
                        ..blocked(checkout, lock_files::describe(&lock, age))
                    }));
                }
            }
        }
    }

    /// Files with conflicts that nobody has resolved, as a failed `git stash pop` leaves them. Git
    /// refuses any move of such a checkout, without naming a file.
    pub(crate) fn unresolved_conflicts(
        &self,
        checkout: &Worktree,
    ) -> Result<Option<Blocked>, GitError> {
        let entries = self.status(checkout)?.into_iter();
        let entries = entries.filter(|entry| matches!(entry.kind, Kind::Unmerged { .. }));
        let files: Vec<String> = entries.map(|entry| shown(&entry.path)).collect();
        let named = match files.len() {
            0 => return Ok(None),
            count if count > NAMED => format!("{count} files"),
            _ => files.join(", "),
        };
        let reason =
            format!("the checkout has unresolved conflicts in {named}; resolve and commit them");
        Ok(Some(blocked(checkout, reason)))
    }

    /// Ignored files at paths that the new commit adds. Git itself refuses to overwrite only
    /// untracked files that are not ignored.
    fn ignored_among(
        &self,
        checkout: &Worktree,
        there: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        let words = [
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
        ];
        self.list(checkout, &words, there)
    }

    /// Whether all paths of the move match the commit checked out, in the index and as files.
    fn is_as_committed(
        &self,
        checkout: &Worktree,
        commit: Oid,
        touched: &[Touched],
    ) -> Result<bool, GitError> {
        let paths: Vec<PathBuf> = touched.iter().map(|one| one.path.clone()).collect();
        let commit = commit.to_string();
        let files = ["diff-files", "-z", "--name-only", "--no-ext-diff"];
        let mut staged = vec!["diff-index", "--cached", "-z", "--name-only"];
        staged.extend(["--no-ext-diff", &commit]);
        Ok(self.index_is_plain(checkout)?
            && self.list(checkout, &files, &paths)?.is_empty()
            && self.list(checkout, &staged, &paths)?.is_empty())
    }

    /// Uncommitted paths that the move would have to touch.
    fn changes_in_the_way(
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
        // A missing file is no obstacle; an empty directory in its place is.
        let there = entries.into_iter().filter(|entry| {
            entry.kind != Kind::Missing || checkout.path.join(&entry.path).is_dir()
        });
        Ok(there
            .map(|entry| entry.path)
            .filter(|path| hit(path))
            .collect())
    }
}

/// Existing files at paths that the new commit adds.
pub(crate) fn obstacles(checkout: &Worktree, touched: &[Touched]) -> Vec<PathBuf> {
    let added = touched.iter().filter(|one| one.added);
    let there: BTreeSet<PathBuf> = added
        .filter_map(|one| obstacle(&checkout.path, &one.path))
        .collect();
    there.into_iter().collect()
}

/// What occupies the path: the path itself, or a file where it needs a directory.
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

fn blocked(checkout: &Worktree, reason: String) -> Blocked {
    Blocked {
        worktree: checkout.path.clone(),
        reason,
        files: Vec::new(),
        command: String::new(),
        lock_age: None,
    }
}

fn in_the_way(checkout: &Worktree, files: &BTreeSet<PathBuf>, some_ignored: bool) -> Blocked {
    Blocked {
        files: files.iter().map(|path| shown(path)).collect(),
        command: stash(checkout, files, some_ignored),
        ..blocked(
            checkout,
            "uncommitted files there would be overwritten; commit, stash or move them".into(),
        )
    }
}

/// Command that stashes these files.
fn stash(checkout: &Worktree, files: &BTreeSet<PathBuf>, some_ignored: bool) -> String {
    let git = format!("git -C {} stash push", quoted(&checkout.path));
    // Git cannot stash a staged deletion by its path alone.
    let all_there = files
        .iter()
        .all(|path| fs::symlink_metadata(checkout.path.join(path)).is_ok());
    if files.len() > NAMED || !all_there {
        return format!("{git} --include-untracked -- . ':!.swarm'");
    }
    let option = if some_ignored {
        "--all"
    } else {
        "--include-untracked"
    };
    let paths: Vec<String> = files.iter().map(|path| quoted(path)).collect();
    format!("{git} {option} -- {}", paths.join(" "))
}
