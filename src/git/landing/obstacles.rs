//! What keeps a person's checkout from following its branch: a merge under way, a held index, or
//! uncommitted files in the way.
//!
//! Invariant: looking changes nothing of the person's. Git's own two-way merge decides, in a
//! rehearsal (`read-tree -n`). Where git would overwrite *ignored* files we refuse: they may be all
//! there is of somebody's settings.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use git2::Oid;

use super::checkout_recovery::{Touched, begin_rehearsal, end_rehearsal, is_ours};
use super::checkout_sync::Move;
use crate::git::error::GitError;
use crate::git::exec::command;
use crate::git::exec::lock_files::{self, Lock};
use crate::git::objects::names::{branch_ref, quoted, shown};
use crate::git::repo::Repo;
use crate::git::worktree::commit_leftovers::under_way;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::reset::index_is_plain;
use crate::git::worktree::status::Kind;

/// With more files than this in the way, the command that stashes them names the whole checkout.
const NAMED: usize = 20;

/// Why a checkout cannot follow now. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The checkout.
    pub worktree: PathBuf,
    /// What is in the way, for people.
    pub reason: String,
    /// The files in the way, if it is files.
    pub files: Vec<String>,
    /// The shell command that puts these files aside; empty where it is not files.
    pub command: String,
}

impl Repo {
    /// What would stop the branch from moving from one commit to the other, in each checkout of it.
    pub fn in_the_way_of(
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
        let mut found = Vec::new();
        for checkout in self.checkouts_of(branch)? {
            found.extend(self.hindrance(&checkout, step)?);
        }
        Ok(found)
    }

    /// What keeps this checkout from following the move; `None` if nothing does.
    pub(crate) fn hindrance(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
    ) -> Result<Option<Blocked>, GitError> {
        if let Some(what) = under_way(&checkout.git_dir) {
            let reason = format!("a {what} is under way there");
            return Ok(Some(blocked(checkout, reason)));
        }
        if let Some(held) = self.wait_for_index(checkout)? {
            return Ok(Some(held));
        }
        let touched = self.touched_paths(step)?;
        let there = obstacles(checkout, &touched);
        // The rehearsal reads all of both trees, so it is spared where it cannot be refused.
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
        let files: BTreeSet<PathBuf> = hidden.iter().cloned().chain(changed).collect();
        if files.is_empty() {
            return Ok(refused.map(|reason| blocked(checkout, reason)));
        }
        Ok(Some(in_the_way(checkout, &files, !hidden.is_empty())))
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
        // A touched file looks changed until the index is refreshed. The exit code of this refresh
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

    /// Waits for whoever holds the index. A lock of a dead git is removed only if the note says
    /// that it was ours.
    pub(crate) fn wait_for_index(&self, checkout: &Worktree) -> Result<Option<Blocked>, GitError> {
        let lock = checkout.git_dir.join("index.lock");
        let end = Instant::now() + self.lock_wait();
        loop {
            let state = lock_files::inspect_lock(&lock)?;
            match state {
                Lock::Absent => return Ok(None),
                Lock::Dead if is_ours(checkout) => lock_files::remove_if_dead(&lock)?,
                Lock::Held if Instant::now() < end => command::pause(),
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

    /// Ignored files where the new commit has files that the old one had not. Git itself refuses
    /// only for the untracked ones that are not ignored.
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

    /// Whether nothing that the move touches differs from the commit checked out, neither in the
    /// index nor as a file.
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
        Ok(index_is_plain(checkout)
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

fn blocked(checkout: &Worktree, reason: String) -> Blocked {
    Blocked {
        worktree: checkout.path.clone(),
        reason,
        files: Vec::new(),
        command: String::new(),
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

/// The command that puts these files aside.
fn stash(checkout: &Worktree, files: &BTreeSet<PathBuf>, some_ignored: bool) -> String {
    let git = format!("git -C {} stash push", quoted(&checkout.path));
    // Git cannot stash a deletion that is staged by its path alone.
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
