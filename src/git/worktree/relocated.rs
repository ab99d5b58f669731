//! Repairs worktrees after the repository was renamed, moved or restored from a copy: both pointers
//! lead to the old location. Makes worktrees again that are gone.
//!
//! Invariant: an administrative directory is matched to a worktree only by the worktree's name, and
//! only if its target is gone or belongs to another repository. The worktree's own pointer, which
//! an agent can write, only decides between two candidates.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::prepare::Prepare;
use super::registry::Registered;
use super::reuse::ignored::KeepIgnored;
use crate::git::error::GitError;
use crate::git::exec::special_files;
use crate::git::objects::names::{path_of, shown};
use crate::git::repo::{Head, Repo, read_head};
use crate::git::worktrees_folder::{self, Places, SettledFolder};

impl Repo {
    /// Finds out where the worktrees lie; chooses the folder if nobody has. Called by `swarm init`,
    /// and by a starting daemon before [`Repo::settle_worktrees`].
    ///
    /// # Errors
    /// [`GitError::NoPlace`]; what is there is not swarm's.
    pub fn settle_folder(&self, places: &Places) -> Result<SettledFolder, GitError> {
        let (folder, mut settled) =
            worktrees_folder::settle(self.root(), self.common_dir(), places)?;
        self.set_worktrees_folder(folder.clone());
        let mut all = self.registered()?.into_iter();
        if settled.is_new && all.any(|one| one.path.parent() == Some(&folder)) {
            settled.note = Some(format!(
                "{}, the folder of the worktrees, was gone; it is made again, and ideas go on from \
                the last commits of their branches",
                shown(&folder)
            ));
        }
        self.discard_copied_registrations()?;
        Ok(settled)
    }

    /// Makes an attempt's worktree again, on the last commit of its branch. Does nothing if it is
    /// there, or there under another name. Returns whether it was made. Must come after
    /// [`Repo::settle_worktrees`].
    pub fn restore_worktree(
        &self,
        name: &str,
        branch: &str,
        keep: KeepIgnored,
    ) -> Result<bool, GitError> {
        let path = self.worktree_path(name);
        let on_it = Some(Head::Branch(branch.to_owned()));
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let uses = |one: Registered| is_there(&one.path) && read_head(&one.git_dir).ok() == on_it;
        let Some(base) = self.branch_commit(branch)? else {
            return Ok(false);
        };
        if is_there(&path) || self.registered()?.into_iter().any(uses) {
            return Ok(false);
        }
        self.discard_registrations_of(&path)?;
        self.prepare_worktree(&Prepare {
            name: name.to_owned(),
            branch: branch.to_owned(),
            base,
            from: None,
            saved: None,
            keep,
        })?;
        Ok(true)
    }

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

/// Administrative directory that `path`, a worktree of swarm, had at the old location; `all` are
/// the existing ones.
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

/// Whether both are a worktree with the same name in the same folder, which is named at random.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let last_two = |path: &Path| -> Vec<_> {
        let names = path.iter().rev().take(2);
        names.map(OsStr::to_owned).collect()
    };
    last_two(one) == last_two(other)
}
