//! The note beside a worktree's index: which merge lies there, and what it is made of.
//!
//! Invariant: it is there from before the merge begins until it is settled and on disk, and is
//! replaced in one step.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use git2::Oid;

use crate::git::error::{At, GitError};
use crate::git::objects::names::path_of;
use crate::git::worktree::registry::Worktree;
use crate::remove;

/// Its name.
pub(crate) const RESOLUTION: &str = "swarm-resolution";

/// What it says.
#[derive(Debug, Clone)]
pub(crate) struct Resolution {
    /// Whether the conflict lies there; else its start or its end was cut short, and nothing in the
    /// worktree is of value.
    pub(crate) started: bool,
    /// What is merged into the branch.
    pub(crate) target: Oid,
    /// The files in conflict.
    pub(crate) files: Vec<PathBuf>,
}

/// `started|starting <target>`, then the files, each piece ended by a NUL.
pub(crate) fn write(worktree: &Worktree, note: &Resolution) -> Result<(), GitError> {
    let word = if note.started { "started" } else { "starting" };
    let mut text = format!("{word} {}\0", note.target).into_bytes();
    for file in &note.files {
        text.extend(file.as_os_str().as_bytes());
        text.push(0);
    }
    let (path, new) = (
        worktree.git_dir.join(RESOLUTION),
        worktree.git_dir.join("swarm-resolution.new"),
    );
    fs::write(&new, text).at("write", &new)?;
    fs::rename(&new, &path).at("write", &path)
}

/// None: there is none that can be read.
pub(crate) fn read(worktree: &Worktree) -> Option<Resolution> {
    let text = fs::read(worktree.git_dir.join(RESOLUTION)).ok()?;
    let mut pieces = text
        .split(|byte| *byte == 0)
        .filter(|piece| !piece.is_empty());
    let mut first = std::str::from_utf8(pieces.next()?).ok()?.split(' ');
    Some(Resolution {
        started: first.next()? == "started",
        target: Oid::from_str(first.next()?).ok()?,
        files: pieces.map(path_of).collect(),
    })
}

/// Whether the start of a merge, or its end, was cut short: then the worktree holds nothing but
/// what git wrote.
pub(crate) fn was_cut_short(worktree: &Worktree) -> bool {
    read(worktree).is_some_and(|note| !note.started)
}

/// Takes it away: all is settled.
pub(crate) fn remove(worktree: &Worktree) -> Result<(), GitError> {
    let path = worktree.git_dir.join(RESOLUTION);
    remove::file_if_there(&path).at("delete", &path)
}
