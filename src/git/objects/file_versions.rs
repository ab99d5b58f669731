//! Which version of a file a commit has.
//!
//! Invariant: reads only; a file is identified by its object id.

use std::path::Path;

use git2::{ErrorCode, Oid};

use crate::git::error::GitError;
use crate::git::repo::Repo;

impl Repo {
    /// Object ids of these files and folders in a commit, in their order; `None` for one that is
    /// not there. `None` in all if the commit is gone.
    pub fn file_versions(
        &self,
        commit: Oid,
        paths: &[&str],
    ) -> Result<Option<Vec<Option<Oid>>>, GitError> {
        let library = self.library()?;
        let read = || -> Result<Option<Vec<Option<Oid>>>, git2::Error> {
            let tree = match library.find_commit(commit) {
                Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
                commit => commit?.tree()?,
            };
            let version = |path: &&str| match tree.get_path(Path::new(path)) {
                Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
                entry => entry.map(|entry| Some(entry.id())),
            };
            paths
                .iter()
                .map(version)
                .collect::<Result<_, _>>()
                .map(Some)
        };
        read().map_err(GitError::library(format!(
            "look up files in commit {commit:.10}"
        )))
    }
}
