//! What a person or a killed git left in the repository that stands in the way of swarm: locks,
//! unfinished operations in a checkout, submodules that did not follow.
//!
//! Invariant: nothing is changed. Called by `doctor`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{At, GitError};
use super::exec::lock_files::{self, Lock};
use super::landing::submodules::Leftover;
use super::objects::names::shown;
use super::operations::Operation;
use super::repo::Repo;
use super::worktree::registry::Worktree;

/// A lock that a live program holds is named after this time.
const LONG: Duration = Duration::from_secs(60);

impl Repo {
    /// All of it, in the shared git directory, the main checkout and each checkout of the target.
    pub fn leftovers(&self, target: Option<&str>) -> Result<Vec<Leftover>, GitError> {
        let mut checkouts = self.peoples_checkouts()?;
        checkouts.truncate(1);
        for checkout in target.map_or(Ok(Vec::new()), |target| self.checkouts_of(target))? {
            if checkout.git_dir != *self.common_dir() {
                checkouts.push(checkout);
            }
        }
        let mut locks = Vec::new();
        for checkout in &checkouts {
            locks_in(&checkout.git_dir, false, &mut locks)?;
        }
        locks_in(&self.common_dir().join("refs"), true, &mut locks)?;
        let mut found = Vec::new();
        for lock in locks {
            found.extend(lock_leftover(&lock)?);
        }
        found.extend(checkouts.iter().filter_map(unfinished));
        found.extend(self.submodules_behind(None)?);
        Ok(found)
    }
}

/// Lock files in a folder.
fn locks_in(folder: &Path, deep: bool, found: &mut Vec<PathBuf>) -> Result<(), GitError> {
    for entry in fs::read_dir(folder).at("list", folder)? {
        let path = entry.at("list", folder)?.path();
        if path.extension().is_some_and(|ending| ending == "lock") {
            found.push(path);
        } else if deep && path.is_dir() && !path.is_symlink() {
            locks_in(&path, deep, found)?;
        }
    }
    Ok(())
}

/// A lock that nobody seems to hold, or that somebody has held for long.
fn lock_leftover(lock: &Path) -> Result<Option<Leftover>, GitError> {
    let age = lock_files::age(lock)?.unwrap_or_default();
    let stands = match lock_files::inspect_lock(lock)? {
        Lock::Absent => false,
        Lock::Held => age >= LONG,
        Lock::Dead => true,
    };
    Ok(stands.then(|| {
        let report = lock_files::report(lock, age);
        Leftover {
            what: report.what,
            way_out: report.command,
        }
    }))
}

/// The operation that a person has not finished in a checkout.
fn unfinished(checkout: &Worktree) -> Option<Leftover> {
    let operation = Operation::in_progress(&checkout.git_dir)?;
    let place = shown(&checkout.path);
    Some(Leftover {
        what: format!(
            "git {} is not finished in {place}; what lands does not reach that checkout before it \
            is",
            operation.name
        ),
        way_out: operation.end_in(&checkout.path),
    })
}
