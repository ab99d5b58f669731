//! The note beside a worktree's index that records the merge in progress.
//!
//! Invariant: it exists from before the merge starts until its result is on disk, and is replaced
//! in one step.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::git::error::{At, GitError};
use crate::git::objects::names::path_of;
use crate::git::store::oid::Oid;
use crate::git::worktree::commit_leftovers::merge_heads;
use crate::git::worktree::registry::Worktree;
use crate::remove;

/// File name of the note.
pub(crate) const RESOLUTION: &str = "swarm-resolution";

/// Content of the note.
#[derive(Debug, Clone)]
pub(crate) struct Resolution {
    /// Whether the conflict is in the worktree. If false, its start or end was interrupted, and the
    /// worktree holds nothing of value.
    pub(crate) started: bool,
    /// Commit being merged into the branch.
    pub(crate) target: Oid,
    /// Files in conflict.
    pub(crate) files: Vec<PathBuf>,
    /// Tree of the files as the merge left them.
    pub(crate) laid_out: Option<Oid>,
    /// Resolution of the same conflict from before the target moved.
    pub(crate) saved: Option<SavedResolution>,
}

/// Unfinished resolution of a merge with an older target.
#[derive(Debug, Clone)]
pub(crate) struct SavedResolution {
    /// Commit with all files of the worktree.
    pub(crate) work: Oid,
    /// Commit that was being merged.
    pub(crate) target: Oid,
    /// Tree of the files as that merge left them; `None` if nothing may be restored.
    pub(crate) laid_out: Option<Oid>,
}

/// Writes `started|starting <target> <tree> <saved work> <its target> <its tree>`, with zeros for
/// what is missing, then the files; each piece ends with NUL.
pub(crate) fn write(worktree: &Worktree, note: &Resolution) -> Result<(), GitError> {
    let word = if note.started { "started" } else { "starting" };
    let zeros = note.target.zero();
    let saved = note.saved.as_ref();
    let mut text = format!(
        "{word} {} {} {} {} {}\0",
        note.target,
        note.laid_out.unwrap_or(zeros),
        saved.map_or(zeros, |saved| saved.work),
        saved.map_or(zeros, |saved| saved.target),
        saved.and_then(|saved| saved.laid_out).unwrap_or(zeros),
    )
    .into_bytes();
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

/// `None` if there is no readable note.
pub(crate) fn read(worktree: &Worktree) -> Option<Resolution> {
    let text = fs::read(worktree.git_dir.join(RESOLUTION)).ok()?;
    let mut pieces = text
        .split(|byte| *byte == 0)
        .filter(|piece| !piece.is_empty());
    let mut first = std::str::from_utf8(pieces.next()?).ok()?.split(' ');
    let started = first.next()? == "started";
    let target = Oid::from_str(first.next()?).ok()?;
    let mut commit = || {
        let oid = Oid::from_str(first.next()?).ok()?;
        Some(oid).filter(|oid| !oid.is_zero())
    };
    let laid_out = commit();
    let (work, of, its_tree) = (commit(), commit(), commit());
    Some(Resolution {
        started,
        target,
        files: pieces.map(path_of).collect(),
        laid_out,
        saved: work.zip(of).map(|(work, target)| SavedResolution {
            work,
            target,
            laid_out: its_tree,
        }),
    })
}

/// Whether the start or end of a merge was interrupted: then the worktree holds only what git
/// wrote.
pub(crate) fn was_cut_short(worktree: &Worktree) -> bool {
    read(worktree).is_some_and(|note| !note.started)
}

/// Whether a merge that swarm started is open: the files are not the branch's own work then, and
/// the merge can be started over at any time.
pub(crate) fn is_open(worktree: &Worktree) -> bool {
    read(worktree).is_some_and(|note| !note.started || merge_heads(worktree) == [note.target])
}

/// Removes the note.
pub(crate) fn remove(worktree: &Worktree) -> Result<(), GitError> {
    let path = worktree.git_dir.join(RESOLUTION);
    remove::file_if_there(&path).at("delete", &path)
}
