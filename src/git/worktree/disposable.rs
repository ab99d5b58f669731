//! Lists what in the folder of the worktrees holds nobody's work, for `swarm clean`.
//!
//! Invariant: this file only lists, apart from [`Repo::discard_kept_repositories`]. Deletion goes
//! through [`Repo::drain_pool`] or first renames the directory into a trash folder.

use std::path::PathBuf;

use super::nested_repos::kept_name;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;

/// A directory in the folder of the worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disposable {
    /// Name of the directory.
    pub name: String,
    /// Full path.
    pub path: PathBuf,
}

/// A reference that kept work whose worktree or history was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescued {
    /// Full name, under `refs/swarm/rescue/`.
    pub reference: String,
    /// Commit date; `None` if it names no readable commit.
    pub at: Option<Timestamp>,
}

impl Repo {
    /// Directories that [`Repo::drain_pool`] would delete.
    pub fn disposable_worktrees(&self) -> Result<Vec<Disposable>, GitError> {
        let mut found = self.spare(".trash-")?;
        found.extend(self.spare_names()?.into_iter().map(|name| {
            let path = self.worktree_path(&name);
            Disposable { name, path }
        }));
        Ok(found)
    }

    /// Directories of kept repositories, each with the name of the attempt that created them.
    pub fn kept_repositories(&self) -> Result<Vec<(String, Disposable)>, GitError> {
        let prefix = kept_name("");
        let each = self.spare(&prefix)?.into_iter();
        Ok(each
            .map(|spare| (spare.name[prefix.len()..].to_owned(), spare))
            .collect())
    }

    /// Deletes the kept repositories of an attempt.
    pub fn discard_kept_repositories(&self, attempt: &str) -> Result<(), GitError> {
        let _held = self.registry();
        self.discard_directory(&kept_name(attempt))
    }

    /// All references under `refs/swarm/rescue/`.
    pub fn rescued(&self) -> Result<Vec<Rescued>, GitError> {
        let date = |oid: Oid| -> Result<Option<Timestamp>, GitError> {
            let commit = self.find_commit(oid)?;
            let millis = commit.map(|commit| commit.seconds().saturating_mul(1_000));
            Ok(millis.map(Timestamp::from_millis))
        };
        let found = self.list_refs("refs/swarm/rescue/")?;
        let each = found.into_iter().map(|(reference, oid)| {
            let at = date(oid)?;
            Ok(Rescued { reference, at })
        });
        each.collect()
    }

    fn spare(&self, prefix: &str) -> Result<Vec<Disposable>, GitError> {
        let each = self.names_with(prefix)?.into_iter().map(|name| {
            let path = self.worktree_path(&name);
            Disposable { name, path }
        });
        Ok(each.collect())
    }
}
