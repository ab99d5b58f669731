//! Pipes, devices and sockets, on which a read would block for ever. An agent can put them where
//! git and swarm read.
//!
//! Invariant: before a worktree is used, none of the files that are always read there is special.
//! Git's own are removed, since they hold nothing; for the others the worktree is refused. A link
//! counts as its target.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use crate::git::error::{At, GitError};
use crate::{plain_file, remove};

/// Files that every git reads in the administrative directory.
const ADMINISTRATIVE: &[&str] = &[
    "HEAD",
    "commondir",
    "gitdir",
    "index",
    "locked",
    "logs/HEAD",
    "config.worktree",
    "info/sparse-checkout",
];
/// Files that git reads at the top of the work tree.
const ON_TOP: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules"];

/// Why the files of a worktree must not be read; `None` if they may be.
pub(crate) fn find_special(path: &Path) -> Option<String> {
    let name = ON_TOP.iter().find(|name| is_special(&path.join(name)))?;
    Some(format!("{name} is a pipe, a socket or a device"))
}

/// Removes `.git` if it is a special file. It is written again later.
pub(crate) fn clear_pointer(path: &Path) -> Result<(), GitError> {
    clear(&path.join(".git"))
}

/// Removes special files from the administrative directory, which git also reads from other
/// worktrees.
pub(crate) fn clear_administrative(git_dir: &Path) -> Result<(), GitError> {
    let mut names = ADMINISTRATIVE.iter();
    names.try_for_each(|name| clear(&git_dir.join(name)))
}

fn clear(path: &Path) -> Result<(), GitError> {
    if is_special(path) {
        remove::file(path).at("delete", path)?;
    }
    Ok(())
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// `fs::read` that fails on a special file instead of blocking.
///
/// # Errors
/// The path is not a regular file, or cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    plain_file::open_through_links(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
