//! Finds the files that the setup of a worktree depends on, and those that are tracked in it; and
//! the files of the checkout that `swarm init` reads.
//!
//! Invariant: reads only. Ignored files do not count: the setup itself may write them.

use std::fmt::Display;
use std::path::PathBuf;

use crate::git::error::GitError;
use crate::git::exec::command::Git;
use crate::git::objects::names::path_of;
use crate::git::repo::Repo;

impl Repo {
    /// Paths in a worktree that match one of these patterns, sorted. A pattern starts at the root;
    /// `*` and `?` match within one folder, `**/` matches any folders.
    pub fn matching_files(
        &self,
        name: &str,
        patterns: &[String],
    ) -> Result<Vec<PathBuf>, GitError> {
        if patterns.is_empty() {
            return Ok(Vec::new());
        }
        matching(self.worktree(name)?.git(self), patterns)
    }

    /// Like [`Repo::matching_files`], of the person's checkout; without those that are not UTF-8.
    pub fn matching_in_checkout(&self, patterns: &[&str]) -> Result<Vec<String>, GitError> {
        let paths = matching(self.git(), patterns)?.into_iter();
        Ok(paths
            .filter_map(|path| path.into_os_string().into_string().ok())
            .collect())
    }

    /// Paths of the tracked files in a worktree, sorted; without those that are not UTF-8.
    pub fn tracked_files(&self, name: &str) -> Result<Vec<String>, GitError> {
        let worktree = self.worktree(name)?;
        let git = worktree.git(self).long();
        let listed = git.args(["ls-files", "-z", "--cached"]).ok()?;
        let paths = listed.pieces().map(path_of);
        let text = paths.filter_map(|path| path.to_str().map(str::to_owned));
        let mut paths: Vec<String> = text.collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }
}

fn matching<T: Display>(git: Git<'_>, patterns: &[T]) -> Result<Vec<PathBuf>, GitError> {
    let patterns = patterns.iter();
    let listed = git
        .long()
        .args(["ls-files", "-z", "--cached", "--others"])
        .args(["--exclude-standard", "--"])
        .args(patterns.map(|pattern| format!(":(top,glob){pattern}")))
        .ok()?;
    let mut paths: Vec<PathBuf> = listed.pieces().map(path_of).collect();
    paths.sort();
    // A file in conflict is listed once for each side.
    paths.dedup();
    Ok(paths)
}
