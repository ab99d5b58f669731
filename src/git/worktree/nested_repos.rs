//! Keeps git repositories that an agent created inside its worktree. No commit of the branch
//! contains them, so they are moved aside before the worktree is cleaned.
//!
//! Invariant: a kept repository lies in `.kept-<attempt>`, at the path it had in the worktree. One
//! rename moves it, so after a kill it is in one of the two places. Only `swarm clean` deletes it,
//! after the retention time. Repositories below ignored directories (fetched dependencies) are not
//! kept.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::registry::Worktree;
use super::status::{Entry, Kind};
use crate::crash;
use crate::git::error::{At, GitError};
use crate::git::objects::names::shown;
use crate::git::repo::Repo;
use crate::git::store::format::SUBMODULE;

impl Repo {
    /// Moves the repositories that the attempt created inside `worktree` aside. `entries` is its
    /// status; `None` (the index is damaged) searches the directories.
    pub(crate) fn keep_nested(
        &self,
        worktree: &Worktree,
        attempt: &str,
        entries: Option<&[Entry]>,
    ) -> Result<(), GitError> {
        let mut found = self.linked(worktree)?;
        match entries {
            Some(entries) => found.extend(untracked(entries)),
            None => search(&worktree.path, Path::new(""), &mut found, &|there| {
                there.is_dir()
            }),
        }
        for path in found {
            let from = worktree.path.join(&path);
            // It was listed twice, or was inside one that has been moved.
            if fs::symlink_metadata(from.join(".git")).is_err() {
                continue;
            }
            let to = self.free_place(attempt, &path)?;
            crash::point("git.release.before-nested");
            fs::rename(&from, &to).at("rename", &from)?;
        }
        Ok(())
    }

    /// Repositories that were added like submodules. A real submodule has its repository elsewhere.
    fn linked(&self, worktree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
        let entries = self.index(worktree)?.unwrap_or_default().into_iter();
        let links = entries.filter(|entry| entry.mode == SUBMODULE);
        let inside = links
            .map(|entry| entry.path)
            .filter(|path| is_inside(path) && worktree.path.join(path).join(".git").is_dir());
        Ok(inside.collect())
    }

    /// Whether repositories of this attempt are kept.
    pub fn has_kept_nested(&self, attempt: &str) -> bool {
        self.worktree_path(&kept_name(attempt)).is_dir()
    }

    /// A free path for the repository; creates its parent.
    pub(crate) fn free_place(&self, attempt: &str, path: &Path) -> Result<PathBuf, GitError> {
        let wanted = self.worktrees_dir()?.join(kept_name(attempt)).join(path);
        let parent = wanted.parent().unwrap_or(&wanted);
        fs::create_dir_all(parent).at("make", parent)?;
        let mut place = wanted.clone();
        let mut number = 2;
        while fs::symlink_metadata(&place).is_ok() {
            let mut other = wanted.clone().into_os_string();
            other.push(format!("-{number}"));
            place = other.into();
            number += 1;
        }
        Ok(place)
    }
}

/// Directory, beside the worktrees, that keeps the repositories of one attempt.
pub fn kept_name(attempt: &str) -> String {
    format!(".kept-{attempt}")
}

fn untracked(entries: &[Entry]) -> impl Iterator<Item = PathBuf> {
    let nested = entries.iter().filter(|entry| entry.kind == Kind::Nested);
    nested.map(|entry| entry.path.clone())
}

fn is_inside(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::Normal(_)))
}

/// Finds every directory that contains such a `.git`. Unreadable directories are skipped; cleaning
/// will report them.
pub(super) fn search(
    root: &Path,
    below: &Path,
    found: &mut Vec<PathBuf>,
    is_wanted: &impl Fn(&Path) -> bool,
) {
    for entry in fs::read_dir(root.join(below))
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = below.join(entry.file_name());
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || entry.file_name() == ".git" {
            continue;
        }
        if is_wanted(&root.join(&path).join(".git")) {
            tracing::info!(
                path = shown(&path),
                "found a git repository inside a worktree"
            );
            found.push(path);
        } else {
            search(root, &path, found, is_wanted);
        }
    }
}
