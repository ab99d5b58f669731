//! Files that a read would never end of: pipes, devices, sockets. An agent can put them where git
//! and we read.
//!
//! Invariant: before a worktree is used, none of the files that are always read there is one of
//! these: git's own go, as there is nothing in them; at the others the worktree is refused. A link
//! counts as what it leads to.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use crate::git::error::{At, GitError};
use crate::{plain_file, remove};

/// Read in the administrative directory by every git.
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
/// Read at the top of the files, beside `.git`.
const ON_TOP: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules"];

/// Why the files of a worktree must not be looked at; none: they may.
pub(crate) fn trap(path: &Path) -> Option<String> {
    let name = ON_TOP.iter().find(|name| is_special(&path.join(name)))?;
    Some(format!("{name} is a pipe, a socket or a device there"))
}

/// Takes `.git` away if it is one. It holds nothing, and is written anew.
pub(crate) fn clear_pointer(path: &Path) -> Result<(), GitError> {
    clear(&path.join(".git"))
}

/// The same with what every git reads of the worktree, also those that work in others.
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

/// `fs::read` that refuses what is no file, instead of waiting for it.
///
/// # Errors
/// It is no file, or cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    plain_file::open_through_links(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
