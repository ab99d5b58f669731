//! Repairs worktrees after the repository was renamed, moved or restored from a copy: both pointers
//! lead to the old location.
//!
//! Invariant: an administrative directory is matched to a worktree only by the worktree's name, and
//! only if its target is gone or belongs to another repository. The worktree's own pointer, which
//! an agent can write, only decides between two candidates.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::registry::Registered;
use crate::git::error::GitError;
use crate::git::exec::special_files;
use crate::git::objects::names::path_of;
use crate::git::repo::Repo;

impl Repo {
    /// Repairs the pointers of worktrees and registrations, so that running agents have a working
    /// git. Called by a starting daemon. What cannot be repaired is reported when the worktree is
    /// used.
    ///
    /// # Errors
    /// The directory of the worktrees cannot be read.
    pub fn settle_worktrees(&self) -> Result<(), GitError> {
        for name in self.names_with("")? {
            if let Err(error) = self.look_up(&name) {
                tracing::warn!(%error, name, "cannot repair the pointers of this worktree");
            }
        }
        Ok(())
    }
}

/// Administrative directory that `path`, a directory under `.swarm/worktrees`, had at the old
/// location; `all` are the existing ones.
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

/// Administrative directory that a worktree points to, whether or not it exists.
pub(crate) fn named_by(path: &Path) -> Option<PathBuf> {
    let text = special_files::read(&path.join(".git")).ok()?;
    let named = path.join(path_of(text.strip_prefix(b"gitdir: ")?.trim_ascii_end()));
    Some(fs::canonicalize(&named).unwrap_or(named))
}

/// Whether both are `.swarm/worktrees/<name>` with the same name, in any repository.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let last_three = |path: &Path| -> Vec<_> {
        let names = path.iter().rev().take(3);
        names.map(OsStr::to_owned).collect()
    };
    last_three(one) == last_three(other)
}
