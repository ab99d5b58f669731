//! Worktrees whose repository has been renamed, moved or brought back from a copy: both of their
//! pointers lead to where it lay before.
//!
//! Invariant: an administrative directory is taken for a worktree's only by the worktree's name,
//! and only if what it points at is gone or belongs to another repository. What the worktree itself
//! says, which an agent can write, at most decides between two that fit.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::registry::Registered;
use crate::git::error::GitError;
use crate::git::exec::special_files;
use crate::git::objects::names::path_of;
use crate::git::repo::Repo;

impl Repo {
    /// Sets right where worktrees and their registrations point, so that agents which go on have a
    /// git that works. For the start of a daemon. What cannot be set right is told when the
    /// worktree is used.
    ///
    /// # Errors
    /// The folder of the worktrees cannot be read.
    pub fn settle_worktrees(&self) -> Result<(), GitError> {
        for name in self.names_with("")? {
            if let Err(error) = self.look_up(&name) {
                tracing::warn!(%error, name, "this worktree is left as it is");
            }
        }
        Ok(())
    }
}

/// The administrative directory that `path`, a directory under `.swarm/worktrees`, had where the
/// repository lay before; `all` are those that there are now.
pub(crate) fn left_behind(path: &Path, all: &[Registered]) -> Option<PathBuf> {
    fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_dir)?;
    let fits = |one: &&Registered| {
        is_same_place(&one.path, path) && named_by(&one.path).as_ref() != Some(&one.git_dir)
    };
    let mut fitting: Vec<&Registered> = all.iter().filter(fits).collect();
    if let Some(named) = named_by(path) {
        fitting.retain(|one| one.git_dir.file_name() == named.file_name());
    }
    match fitting[..] {
        [one] => Some(one.git_dir.clone()),
        _ => None,
    }
}

/// The administrative directory that a worktree points at, wherever that is, and whether or not it
/// is there.
pub(crate) fn named_by(path: &Path) -> Option<PathBuf> {
    let text = special_files::read(&path.join(".git")).ok()?;
    let named = path.join(path_of(text.strip_prefix(b"gitdir: ")?.trim_ascii_end()));
    Some(fs::canonicalize(&named).unwrap_or(named))
}

/// Whether both are `.swarm/worktrees/<name>`, with the same name, of whatever repository.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let last_three = |path: &Path| -> Vec<_> {
        let names = path.iter().rev().take(3);
        names.map(OsStr::to_owned).collect()
    };
    last_three(one) == last_three(other)
}
