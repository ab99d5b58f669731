//! Resets a work tree to a commit. Only for worktrees of swarm without anything of value.
//!
//! Invariant: afterwards index and files match the commit, whatever their state was: dirty, in the
//! middle of a merge, with a damaged index, with files marked unchanged or skipped. Untracked files
//! and nested repositories are gone. The note of a merge ([`crate::git::resolution::start_finish`])
//! goes last, so that an interrupted reset starts over. `checkout --detach` moves no branch and
//! takes 17 ms of CPU for 5,000 files, `read-tree --reset -u` 28. See also [`super::pool`].

use std::fs;

use super::registry::Worktree;
use super::reuse::ignored::KeepIgnored;
use crate::crash;
use crate::git::error::{At, GitError};
use crate::git::exec::special_files;
use crate::git::repo::Repo;
use crate::git::resolution::note::RESOLUTION;
use crate::git::store::index::{IndexEntry, entries};
use crate::git::store::oid::Oid;
use crate::remove;

/// Files and folders of a git directory that belong to an operation in progress.
const OPERATIONS: &[&str] = &[
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "REVERT_HEAD",
    "CHERRY_PICK_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

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
    pub(crate) fn set_head(&self, repo: &Repo, to: &HeadTo) -> Result<(), GitError> {
        self.mend_head()?;
        let git = self.git(repo);
        let git = match to {
            HeadTo::Branch(name) => git.args(["symbolic-ref", "-m", "swarm", "HEAD", name]),
            HeadTo::Detached(oid) => {
                let git = git.args(["update-ref", "--no-deref", "-m", "swarm", "HEAD"]);
                git.arg(oid.to_string())
            }
        };
        git.ok().map(drop)
    }

    /// Git does not take the directory for its own while `HEAD` cannot be read.
    fn mend_head(&self) -> Result<(), GitError> {
        let file = self.git_dir.join("HEAD");
        let text = special_files::read(&file).unwrap_or_default();
        let is_readable =
            text.starts_with(b"ref: refs/") || Oid::from_hex(text.trim_ascii_end()).is_some();
        if is_readable {
            return Ok(());
        }
        fs::write(&file, "ref: refs/heads/.invalid\n").at("write", &file)
    }

    /// Removes what git keeps of a merge, a rebase or a similar operation.
    pub(crate) fn forget_operations(&self) -> Result<(), GitError> {
        for name in OPERATIONS {
            let path = self.git_dir.join(name);
            remove::tree_if_there(&path).at("delete", &path)?;
        }
        Ok(())
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
        worktree.set_head(self, &HeadTo::Detached(commit))?;
        crash::point("git.reset.before-files");
        // Here, because every worktree of swarm is filled here.
        self.put_git_dir_links(worktree)?;
        match self.check_out(worktree, commit) {
            Ok(()) => {}
            Err(error) if error.is_from_outside() => return Err(error),
            Err(_) => {
                // A directory may be where a file belongs; works once the untracked files are gone.
                worktree.free_locks(self)?;
                self.clean(worktree, Clean::Everything)?;
                self.check_out(worktree, commit)?;
            }
        }
        crash::point("git.reset.after-files");
        // git succeeds even if it could not remove its own lock.
        worktree.free_locks(self)?;
        if *head != HeadTo::Detached(commit) {
            worktree.set_head(self, head)?;
        }
        // After the files, since the commit has its own ignore rules.
        match clean {
            Clean::Untracked => self.clean(worktree, clean)?,
            Clean::Everything | Clean::Leftovers(_) => {
                self.clear_submodules(worktree)?;
                self.clean(worktree, clean)?;
                worktree.discard_modules()?;
            }
        }
        Ok(())
    }

    /// Removes the state of merges and rebases, sparse patterns, and an index that cannot be
    /// trusted.
    fn forget_state(&self, worktree: &Worktree) -> Result<(), GitError> {
        worktree.forget_operations()?;
        for name in [
            "config.worktree",
            "info/sparse-checkout",
            "swarm-index",
            "swarm-index.lock",
        ] {
            forget_file(worktree, name)?;
        }
        if !self.index_is_plain(worktree)? {
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

    /// Whether git can read the index.
    pub(crate) fn index_is_readable(&self, worktree: &Worktree) -> Result<bool, GitError> {
        Ok(self.index(worktree)?.is_some())
    }

    /// Whether the index is readable and hides no file.
    pub(crate) fn index_is_plain(&self, worktree: &Worktree) -> Result<bool, GitError> {
        let entries = self.index(worktree)?;
        Ok(entries.is_some_and(|all| !all.iter().any(|entry| entry.hidden)))
    }

    /// What the index of a worktree records; `None` if git cannot read it.
    pub(crate) fn index(&self, worktree: &Worktree) -> Result<Option<Vec<IndexEntry>>, GitError> {
        entries(worktree.git(self).config("core.sparseCheckout=false"))
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
