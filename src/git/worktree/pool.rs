//! Finished worktrees, kept for the next attempt at the same path: `w01` waits as `.pool-w01`.
//!
//! Invariant: the pool holds nothing of value but ignored files (build results), which are valid at
//! that path only. A worktree enters it uncleaned; whoever takes it resets it to a commit, since a
//! process left by an agent could still write in between.
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
use crate::git::landing::verify_tree::{CONTROL, VERIFY};
use crate::git::repo::Repo;

/// Name prefixes of directories that hold nobody's work while no worktree is being prepared,
/// released or verified. Before it became `verify`, the tree that verifies merges was `.merge`.
const SPARE: [&str; 4] = [POOL, ".old-", ".new-", ".merge"];
const POOL: &str = ".pool-";

impl Repo {
    /// Number of worktrees in the pool.
    pub fn pool_size(&self) -> Result<usize, GitError> {
        Ok(self.names_with(POOL)?.len())
    }

    /// Deletes the pool, the worktrees of checks and leftovers of earlier calls; afterwards git
    /// knows only worktrees with somebody's work. Must not run while worktrees are prepared,
    /// released or verified.
    pub fn drain_pool(&self) -> Result<(), GitError> {
        self.discard_spare(|_| true)
    }

    /// Like [`Repo::drain_pool`], but keeps what the next use can build on: the verification
    /// worktree, and of the pool and [`CONTROL`] those whose names `stays` accepts.
    pub fn discard_leftovers(&self, stays: impl Fn(&str) -> bool) -> Result<(), GitError> {
        let pooled = |name: &str| name.strip_prefix(POOL).is_some_and(&stays);
        let control = |name: &str| name == CONTROL && stays(name);
        self.discard_spare(|name| name != VERIFY && !pooled(name) && !control(name))
    }

    /// Names of the directories that hold nobody's work.
    pub(crate) fn spare_names(&self) -> Result<Vec<String>, GitError> {
        let is_spare = |name: &String| {
            let prefixed = SPARE.iter().any(|prefix| name.starts_with(prefix));
            name == VERIFY || name == CONTROL || prefixed
        };
        let all = self.names_with("")?;
        Ok(all.into_iter().filter(is_spare).collect())
    }

    fn discard_spare(&self, goes: impl Fn(&str) -> bool) -> Result<(), GitError> {
        let _held = self.registry();
        for name in self.spare_names()? {
            if goes(&name) {
                self.discard_directory(&name)?;
            }
        }
        // Looking a name up repairs an interrupted rename; only then is a registration without a
        // directory stale.
        for name in self.names_with("")? {
            if !name.starts_with(".trash-") {
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
        for name in self.names_with(POOL)? {
            self.look_up(&name)?;
        }
        Ok(())
    }

    /// Takes the worktree of this name out of the pool and renames it to `staging`.
    pub(crate) fn take_from_pool(
        &self,
        name: &str,
        staging: &str,
    ) -> Result<Option<Worktree>, GitError> {
        let _held = self.registry();
        let entry = format!("{POOL}{name}");
        match self.look_up(&entry)? {
            Found::Ours(pooled) => self.rename_worktree(&pooled, staging).map(Some),
            Found::Nothing => Ok(None),
            Found::HalfMade | Found::Foreign(_) => self.discard_directory(&entry).map(|()| None),
        }
    }

    /// Puts a worktree into the pool, uncleaned, for the next attempt under this name.
    pub(crate) fn put_into_pool(&self, worktree: &Worktree, name: &str) -> Result<(), GitError> {
        let _held = self.registry();
        let entry = format!("{POOL}{name}");
        // Whoever takes the name takes the entry, so one that is there is of no use to anybody.
        if !matches!(self.look_up(&entry)?, Found::Nothing) {
            self.discard_directory(&entry)?;
        }
        self.rename_worktree(worktree, &entry).map(|_| ())
    }
}
