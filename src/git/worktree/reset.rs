//! Resets a work tree to a commit. Only for worktrees of swarm without anything of value.
//!
//! Invariant: afterwards index and files match the commit, whatever their state was: dirty, in the
//! middle of a merge, with a damaged index, with files marked unchanged or skipped. Untracked files
//! and nested repositories are gone. The note of a merge ([`crate::git::resolution::start_finish`])
//! goes last, so that an interrupted reset starts over. `checkout --detach` moves no branch and
//! takes 17 ms of CPU for 5,000 files, `read-tree --reset -u` 28. See also [`super::pool`].

use git2::Oid;

use super::registry::Worktree;
use super::reuse::ignored::KeepIgnored;
use crate::crash;
use crate::git::error::{At, GitError};
use crate::git::repo::Repo;
use crate::git::resolution::note::RESOLUTION;
use crate::remove;

/// Bits of an index entry that hide a changed file from git.
const ASSUME_VALID: u16 = 0x8000;
const SKIP_WORKTREE: u16 = 0x4000;

/// Which files that are not in the commit are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clean<'a> {
    /// Untracked and ignored files.
    Everything,
    /// Untracked files only; ignored ones (build results) stay. For the same attempt.
    Untracked,
    /// What the next idea must not find.
    Leftovers(&'a KeepIgnored),
}

/// New value of `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeadTo {
    /// Full reference name of a branch.
    Branch(String),
    Detached(Oid),
}

impl Worktree {
    /// Sets `HEAD` of the worktree. Not synced, like the files of the worktree: after a power cut
    /// `prepare_worktree` restores it from the branch, which is synced.
    pub(crate) fn set_head(&self, to: &HeadTo) -> Result<(), GitError> {
        let doing = || format!("set HEAD of {}", self.name);
        let library = git2::Repository::open(&self.git_dir).map_err(GitError::library(doing()))?;
        let done = match to {
            HeadTo::Branch(reference) => library
                .reference_symbolic("HEAD", reference, true, "swarm")
                .map(|_| ()),
            HeadTo::Detached(oid) => library.set_head_detached(*oid),
        };
        done.map_err(GitError::library(doing()))
    }
}

impl Repo {
    /// Resets the worktree to `commit`.
    pub(crate) fn reset(
        &self,
        worktree: &Worktree,
        commit: Oid,
        head: &HeadTo,
        clean: Clean<'_>,
    ) -> Result<(), GitError> {
        self.reset_with_note(worktree, commit, head, clean)?;
        forget_file(worktree, RESOLUTION)
    }

    /// The same, except that the note of a merge that starts over stays until another replaces it.
    pub(crate) fn reset_with_note(
        &self,
        worktree: &Worktree,
        commit: Oid,
        head: &HeadTo,
        clean: Clean<'_>,
    ) -> Result<(), GitError> {
        worktree.free_locks(self)?;
        self.forget_state(worktree)?;
        worktree.set_head(&HeadTo::Detached(commit))?;
        crash::point("git.reset.before-files");
        if self.check_out(worktree, commit).is_err() {
            // Fails for example if a directory is where a file belongs; works once the untracked
            // files are gone.
            worktree.free_locks(self)?;
            self.clean(worktree, Clean::Everything)?;
            self.check_out(worktree, commit)?;
        }
        crash::point("git.reset.after-files");
        // git succeeds even if it could not remove its own lock.
        worktree.free_locks(self)?;
        if *head != HeadTo::Detached(commit) {
            worktree.set_head(head)?;
        }
        // After the files, since the commit has its own ignore rules.
        match clean {
            Clean::Untracked => self.clean(worktree, clean)?,
            Clean::Everything | Clean::Leftovers(_) => {
                worktree.clear_submodules()?;
                self.clean(worktree, clean)?;
                worktree.discard_modules()?;
            }
        }
        Ok(())
    }

    /// Removes the state of merges and rebases, sparse patterns, and an index that cannot be
    /// trusted.
    fn forget_state(&self, worktree: &Worktree) -> Result<(), GitError> {
        self.library_at(&worktree.git_dir)?
            .cleanup_state()
            .map_err(GitError::library(format!(
                "clear the state of {}",
                worktree.name
            )))?;
        for name in [
            "config.worktree",
            "info/sparse-checkout",
            "swarm-index",
            "swarm-index.lock",
        ] {
            forget_file(worktree, name)?;
        }
        if !index_is_plain(worktree) {
            forget_file(worktree, "index")?;
        }
        Ok(())
    }

    fn check_out(&self, worktree: &Worktree, commit: Oid) -> Result<(), GitError> {
        worktree
            .git(self)
            .long()
            .config("core.sparseCheckout=false")
            .args([
                "checkout",
                "--quiet",
                "--force",
                "--detach",
                "--no-recurse-submodules",
            ])
            .arg(commit.to_string())
            .ok()
            .map(|_| ())
    }

    pub(crate) fn clean(&self, worktree: &Worktree, clean: Clean<'_>) -> Result<(), GitError> {
        let options = match clean {
            Clean::Everything => {
                worktree.mark_cold()?;
                "-ffdxq"
            }
            Clean::Untracked => "-ffdq",
            Clean::Leftovers(keep) => return self.clean_for_next(worktree, keep),
        };
        worktree
            .git(self)
            .long()
            .args(["clean", options])
            .ok()
            .map(|_| ())
    }
}

fn forget_file(worktree: &Worktree, name: &str) -> Result<(), GitError> {
    let path = worktree.git_dir.join(name);
    remove::file_if_there(&path).at("delete", &path)
}

/// Whether git can read the index.
pub(crate) fn index_is_readable(worktree: &Worktree) -> bool {
    git2::Index::open(&worktree.git_dir.join("index")).is_ok()
}

/// Whether the index is readable and hides no file.
pub(crate) fn index_is_plain(worktree: &Worktree) -> bool {
    let hides = |entry: git2::IndexEntry| {
        entry.flags & ASSUME_VALID != 0 || entry.flags_extended & SKIP_WORKTREE != 0
    };
    git2::Index::open(&worktree.git_dir.join("index")).is_ok_and(|index| !index.iter().any(hides))
}
