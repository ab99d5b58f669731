//! Remembers which ignored files of the person's checkout were copied into a worktree, so that none
//! of them is ever committed.
//!
//! Invariant: a path is in the note before its file is in the worktree, and stays there as long as
//! the file does. The note has paths only. It lies beside the worktree's index, where it also
//! protects copies of an older configuration.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::git::error::{At, GitError};
use crate::git::exec::command::Git;
use crate::git::objects::names::path_of;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;
use crate::git::worktree::registry::Worktree;
use crate::remove;

/// The note: paths, each followed by NUL.
const NOTE: &str = "swarm-copies";

/// What git says about a path in a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStatus {
    /// Ignored, and not tracked.
    Ignored,
    /// Tracked, or a folder with tracked files.
    Tracked,
    /// Neither tracked nor ignored.
    Untracked,
}

impl Repo {
    /// What git says about a path in the person's checkout.
    pub fn path_status(&self, path: &str) -> Result<PathStatus, GitError> {
        status_of(path, || self.git())
    }

    /// Writes the files below `folder` that git tracks into the checkout, as its index has them.
    /// Returns whether there are any.
    pub fn check_out_tracked(&self, folder: &str) -> Result<bool, GitError> {
        let listed = self.git().args(["ls-files", "-z", "--", folder]).ok()?;
        let files: Vec<&OsStr> = listed
            .stdout
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .map(OsStr::from_bytes)
            .collect();
        if files.is_empty() {
            return Ok(false);
        }
        let git = self.git().args(["checkout-index", "--force", "--"]);
        git.args(files).ok().map(|_| true)
    }

    /// What git says about a path in a worktree.
    pub fn path_status_in(&self, name: &str, path: &str) -> Result<PathStatus, GitError> {
        let worktree = self.worktree(name)?;
        status_of(path, || worktree.git(self))
    }

    /// Remembers that these files are copied into a worktree. Copies of earlier calls stay
    /// remembered while their files are there.
    pub fn note_copies(&self, name: &str, paths: &[String]) -> Result<(), GitError> {
        let worktree = self.worktree(name)?;
        let mut copies: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let before = worktree.copies()?;
        let is_there = |path: &PathBuf| fs::symlink_metadata(worktree.path.join(path)).is_ok();
        for path in before.iter().filter(|path| is_there(path)) {
            if !copies.contains(path) {
                copies.push(path.clone());
            }
        }
        if copies == before {
            return Ok(());
        }
        let mut note = Vec::new();
        for path in &copies {
            note.extend_from_slice(path.as_os_str().as_encoded_bytes());
            note.push(0);
        }
        let file = worktree.git_dir.join(NOTE);
        let draft = worktree.git_dir.join(format!("{NOTE}.new"));
        fs::write(&draft, note).at("write", &draft)?;
        fs::rename(&draft, &file).at("rename", &draft)
    }

    /// Copies in a worktree that its branch does not ignore, so that `git add` would take them.
    pub(crate) fn exposed_copies(&self, worktree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
        let copies = worktree.copies()?;
        if copies.is_empty() {
            return Ok(copies);
        }
        let listed = worktree
            .git(self)
            .args(["ls-files", "-z", "--others", "--exclude-standard"])
            .paths(&copies)
            .ok()?;
        Ok(listed.pieces().map(path_of).collect())
    }

    /// Those of these paths that `head` has and `base` has not.
    pub fn added_paths(
        &self,
        head: Oid,
        base: Oid,
        paths: &[String],
    ) -> Result<Vec<String>, GitError> {
        let mut added = Vec::new();
        for path in paths {
            let has = |commit| self.entry_at(commit, Path::new(path));
            if has(head)?.is_some() && has(base)?.is_none() {
                added.push(path.clone());
            }
        }
        Ok(added)
    }
}

/// Removes what an ended idea left where copies belong: a folder in the place of a file, or
/// anything but a folder on its path. Copying a file replaces everything else.
pub(crate) fn clear_places_of_copies(repo: &Repo, worktree: &Worktree) -> Result<(), GitError> {
    let copies = worktree.copies()?;
    if copies.is_empty() {
        return Ok(());
    }
    let index = repo.index(worktree)?.unwrap_or_default();
    // A tracked folder or link is the branch's; the index has only files.
    let is_tracked = |place: &Path| index.iter().any(|it| it.path.starts_with(place));
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    // An agent can write the note, too.
    for path in copies.iter().filter(|path| path.components().all(is_name)) {
        let mut place = PathBuf::new();
        for part in path.components() {
            place.push(part);
            let full = worktree.path.join(&place);
            let Ok(there) = fs::symlink_metadata(&full) else {
                break;
            };
            if there.is_dir() == (place != *path) {
                continue;
            }
            if !is_tracked(&place) {
                worktree.mark_cold()?;
                remove::tree_if_there(&full).at("delete", &full)?;
            }
            break;
        }
    }
    Ok(())
}

fn status_of<'a>(path: &str, git: impl Fn() -> Git<'a>) -> Result<PathStatus, GitError> {
    let tracked = git().args(["ls-files", "-z", "--cached"]).paths([path]);
    if tracked.ok()?.pieces().next().is_some() {
        return Ok(PathStatus::Tracked);
    }
    let asked = git().args(["check-ignore", "--quiet", "--"]).arg(path);
    let answer = asked.run()?;
    match answer.code {
        0 => Ok(PathStatus::Ignored),
        1 => Ok(PathStatus::Untracked),
        _ => Err(answer.failure()),
    }
}

impl Worktree {
    /// Paths of the files that were copied into it.
    pub(crate) fn copies(&self) -> Result<Vec<PathBuf>, GitError> {
        let note = self.git_dir.join(NOTE);
        match fs::read(&note) {
            Ok(bytes) => Ok(bytes
                .split(|byte| *byte == 0)
                .filter(|path| !path.is_empty())
                .map(path_of)
                .collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(GitError::io("read", &note, error)),
        }
    }
}
