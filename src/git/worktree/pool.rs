//! Finished worktrees, kept for the next attempt as `.pool-<n>`.
//!
//! Invariant: the pool holds nothing of value. A worktree enters it uncleaned; whoever takes it
//! resets it to a commit, since a process left by an agent could still write in between. Leaving
//! the pool is one rename, so no entry is given out twice.
//!
//! In ms for 5,000 files (debug build on two overloaded cores, so only ratios count):
//!
//! | | swarm | git's own commands |
//! | --- | --- | --- |
//! | a new worktree | 7,490 | 8,200-18,900 (`worktree add -b`) |
//! | from the pool, branch synced | 131 | 87-128 (`checkout -f -B` and `clean -fdx`) |
//! | already prepared | 0.2 | |
//! | the merge worktree reset to a new commit | 131 | |
//! | `inspect` | 39 | 52-106 (`status`) |

use super::registry::{Found, Worktree, remove_tree};
use crate::git::error::GitError;
use crate::git::repo::Repo;

/// Name prefixes of directories that hold nobody's work while no worktree is being prepared,
/// released or verified.
pub(crate) const SPARE: [&str; 4] = [".pool-", ".old-", ".new-", ".merge"];

impl Repo {
    /// Number of worktrees in the pool.
    pub fn pool_size(&self) -> Result<usize, GitError> {
        Ok(self.names_with(".pool-")?.len())
    }

    /// Deletes the pool, the verification worktree and leftovers of earlier calls; afterwards git
    /// knows only worktrees with somebody's work. Must not run while worktrees are prepared,
    /// released or verified.
    pub fn drain_pool(&self) -> Result<(), GitError> {
        let _held = self.registry();
        for prefix in SPARE {
            for name in self.names_with(prefix)? {
                self.discard_directory(&name)?;
            }
        }
        // Looking a name up repairs an interrupted rename; only then is a registration without a
        // directory stale.
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

    /// Repairs an interrupted rename into the pool; git knows where each worktree lies.
    pub(crate) fn settle_pool(&self) -> Result<(), GitError> {
        let _held = self.registry();
        for name in self.names_with(".pool-")? {
            self.look_up(&name)?;
        }
        Ok(())
    }

    /// Takes an entry out of the pool and renames it.
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

    /// Puts a worktree into the pool, uncleaned.
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
