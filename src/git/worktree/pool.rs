//! Finished worktrees, kept for the next attempt: `.pool-<n>`.
//!
//! Invariant: nothing of value is in the pool, who takes an entry brings it to a commit exactly,
//! and leaving the pool is one rename, so an entry is never given out twice.
//!
//! Measured on 5,000 files (debug build, two cores with four times the load that they can carry:
//! only the ratios count), in ms:
//!
//! | | swarm | git's own commands |
//! | --- | --- | --- |
//! | a new worktree | 7,490 | 8,200-18,900 (`worktree add -b`) |
//! | one from the pool, its branch synced | 131 | 87-128 (`checkout -f -B` and `clean -fdx`) |
//! | asked for again, ready | 0.2 | |
//! | the merge worktree brought to a new commit | 131 | |
//! | `inspect` | 39 | 52-106 (`status`) |
//!
//! A worktree enters the pool as it is. `clean` runs when it leaves: a process that an agent left
//! behind could write in between.

use super::registry::{Found, Worktree, remove_tree};
use crate::git::error::GitError;
use crate::git::repo::Repo;

/// How the names begin of what holds nobody's work once no worktree is prepared, released or
/// verified.
pub(crate) const SPARE: [&str; 4] = [".pool-", ".old-", ".new-", ".merge"];

impl Repo {
    /// How many worktrees the pool holds.
    pub fn pool_size(&self) -> Result<usize, GitError> {
        Ok(self.names_with(".pool-")?.len())
    }

    /// Deletes the pool, the worktree for verification and whatever earlier calls left; afterwards
    /// git knows only of worktrees that hold somebody's work. Not to be called while worktrees are
    /// prepared, released or verified.
    pub fn drain_pool(&self) -> Result<(), GitError> {
        let _held = self.registry();
        for prefix in SPARE {
            for name in self.names_with(prefix)? {
                self.discard_directory(&name)?;
            }
        }
        // A rename that was cut short is set right by looking; only then is a registration without
        // a directory stale.
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

    /// A rename into the pool that was cut short is set right: git knows where each worktree lies.
    pub(crate) fn settle_pool(&self) -> Result<(), GitError> {
        let _held = self.registry();
        for name in self.names_with(".pool-")? {
            self.look_up(&name)?;
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

    /// Puts a worktree into the pool, in whatever state it is: who takes it cleans it.
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
