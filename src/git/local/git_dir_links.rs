//! Links in a worktree's git directory to folders of the repository's own: what a filter looks for
//! in "the git directory", as git-crypt does for its keys.
//!
//! Invariant: a link leads from `<common>/worktrees/<id>/NAME` to `<common>/NAME`, relative, so it
//! stays right when the repository is moved. Nothing that git itself keeps there is ever replaced.
//! Made before a worktree's files are checked out: see [`crate::git::worktree::reset`].

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use crate::domain::ids::is_linkable;
use crate::git::error::{At, GitError};
use crate::git::repo::Repo;
use crate::git::worktree::registry::{Worktree, remove_tree};
use crate::remove;

/// Linked wherever it is: git-crypt up to 0.8 looks for its keys nowhere else.
const GIT_CRYPT: &str = "git-crypt";

impl Repo {
    /// Sets the names of `worktree.gitDirLinks`, for worktrees that are filled from now on.
    pub fn link_git_dirs(&self, names: &[String]) {
        let linked = self.0.git_dir_links.write();
        *linked.unwrap_or_else(PoisonError::into_inner) = names.to_vec();
    }

    /// Puts the links into the git directory of a worktree without anything of value.
    pub(crate) fn put_git_dir_links(&self, worktree: &Worktree) -> Result<(), GitError> {
        let wanted = self.0.git_dir_links.read();
        let wanted = wanted.unwrap_or_else(PoisonError::into_inner).clone();
        for name in wanted.iter().map(String::as_str).chain([GIT_CRYPT]) {
            if is_linkable(name) {
                link(self.common_dir(), &worktree.git_dir, name)?;
            }
        }
        Ok(())
    }
}

fn link(common: &Path, git_dir: &Path, name: &str) -> Result<(), GitError> {
    let place = git_dir.join(name);
    // A registration lies in `<common>/worktrees/`.
    let target = PathBuf::from("../..").join(name);
    let is_wanted = common.join(name).exists();
    match fs::read_link(&place) {
        Ok(found) if is_wanted && found == target => return Ok(()),
        Ok(_) => remove::file(&place).at("delete", &place)?,
        // What an agent or an earlier filter has put there.
        Err(_) if is_wanted => remove_tree(&place)?,
        Err(_) => {}
    }
    if is_wanted {
        symlink(&target, &place).at("link", &place)?;
    }
    Ok(())
}
