//! What lies under `.swarm/worktrees` without being anybody's work, for those who make room.
//!
//! Invariant: only listed here; what goes, goes through [`Repo::drain_pool`] or the way of every
//! directory there: renamed into a trash folder first.

use std::path::PathBuf;

use git2::Oid;

use super::nested_repos::kept_name;
use super::pool::SPARE;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::repo::Repo;

/// A folder under `.swarm/worktrees`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disposable {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// Work that was kept when its worktree or history went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescued {
    /// The reference, under `refs/swarm/rescue/`.
    pub reference: String,
    /// The date of its commit; none: it names no commit that can be read.
    pub at: Option<Timestamp>,
}

impl Repo {
    /// What [`Repo::drain_pool`] would delete.
    pub fn disposable_worktrees(&self) -> Result<Vec<Disposable>, GitError> {
        let mut found = Vec::new();
        for prefix in SPARE.into_iter().chain([".trash-"]) {
            found.extend(self.spare(prefix)?);
        }
        Ok(found)
    }

    /// The folders of kept repositories, each with the name of the worktree that they lay in.
    pub fn kept_repositories(&self) -> Result<Vec<(String, Disposable)>, GitError> {
        let prefix = kept_name("");
        let each = self.spare(&prefix)?.into_iter();
        Ok(each
            .map(|spare| (spare.name[prefix.len()..].to_owned(), spare))
            .collect())
    }

    /// Deletes such a folder, all of it.
    pub fn discard_kept_repositories(&self, worktree: &str) -> Result<(), GitError> {
        let _held = self.registry();
        self.discard_directory(&kept_name(worktree))
    }

    /// Everything under `refs/swarm/rescue/`.
    pub fn rescued(&self) -> Result<Vec<Rescued>, GitError> {
        let library = self.library()?;
        let date = |oid: Oid| {
            let commit = library.find_commit(oid).ok()?;
            let millis = commit.time().seconds().saturating_mul(1_000);
            Some(Timestamp::from_millis(millis))
        };
        let found = self.list_refs("refs/swarm/rescue/")?;
        let each = found.into_iter().map(|(reference, oid)| Rescued {
            reference,
            at: date(oid),
        });
        Ok(each.collect())
    }

    fn spare(&self, prefix: &str) -> Result<Vec<Disposable>, GitError> {
        // Looking makes no folder.
        if !self.worktree_path("").is_dir() {
            return Ok(Vec::new());
        }
        let each = self.names_with(prefix)?.into_iter().map(|name| {
            let path = self.worktree_path(&name);
            Disposable { name, path }
        });
        Ok(each.collect())
    }
}
