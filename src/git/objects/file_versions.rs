//! Which version of a file a commit has.
//!
//! Invariant: reads only; a file is identified by its object id.

use std::path::Path;

use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;

impl Repo {
    /// Object ids of these files and folders in a commit, in their order; `None` for one that is
    /// not there. `None` in all if the commit is gone.
    pub fn file_versions(
        &self,
        commit: Oid,
        paths: &[&str],
    ) -> Result<Option<Vec<Option<Oid>>>, GitError> {
        if !self.has_commit(commit)? {
            return Ok(None);
        }
        let version = |path: &&str| -> Result<Option<Oid>, GitError> {
            let entry = self.entry_at(commit, Path::new(path))?;
            Ok(entry.map(|entry| entry.id))
        };
        paths
            .iter()
            .map(version)
            .collect::<Result<_, _>>()
            .map(Some)
    }
}
