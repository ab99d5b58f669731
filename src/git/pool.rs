//! Finished worktrees, kept for the next attempt: `.pool-<n>`.
//!
//! Invariant: nothing of value is in the pool, every entry is clean when it enters, and leaving it is one rename, so an entry
//! is never given out twice.

use super::error::GitError;
use super::registry::{Found, Worktree, remove_tree};
use super::repo::Repo;

impl Repo {
    /// How many worktrees the pool holds.
    pub fn pool_size(&self) -> Result<usize, GitError> {
        Ok(self.names_with(".pool-")?.len())
    }

    /// Deletes the pool, the worktree for verification and whatever earlier calls left; afterwards git knows only of worktrees that hold
    /// somebody's work. Not to be called while worktrees are prepared, released or verified.
    pub fn drain_pool(&self) -> Result<(), GitError> {
        let _held = self.registry();
        for prefix in [".pool-", ".old-", ".new-", ".merge"] {
            for name in self.names_with(prefix)? {
                self.discard_directory(&name)?;
            }
        }
        // A rename that was cut short is set right by looking; only then is a registration without a directory stale.
        for name in self.names_with("")? {
            if !name.starts_with(".trash-") && name != ".gitignore" {
                self.look_up(&name)?;
            }
        }
        self.discard_stale_registrations()?;
        for name in self.names_with(".trash-")? {
            remove_tree(&self.worktree_path(&name))?;
        }
        Ok(())
    }

    /// Takes an entry out of the pool, under a new name.
    pub(crate) fn take_from_pool(&self, name: &str) -> Result<Option<Worktree>, GitError> {
        let _held = self.registry();
        for entry in self.names_with(".pool-")? {
            match self.look_up(&entry)? {
                Found::Ours(pooled) => return self.rename_worktree(&pooled, name).map(Some),
                Found::Nothing => {}
                Found::HalfMade | Found::Foreign(_) => self.discard_directory(&entry)?,
            }
        }
        Ok(None)
    }

    /// Puts a clean worktree into the pool.
    pub(crate) fn put_into_pool(&self, worktree: &Worktree) -> Result<(), GitError> {
        let _held = self.registry();
        let numbers = self.names_with(".pool-")?;
        let last = numbers
            .iter()
            .filter_map(|name| name.trim_start_matches(".pool-").parse().ok())
            .max();
        let next = last.unwrap_or(0_u32) + 1;
        self.rename_worktree(worktree, &format!(".pool-{next}"))
            .map(|_| ())
    }
}
