//! Checks a branch before anybody tries to merge it.
//!
//! Invariant: reads only. The branch's author must fix what it finds: a history unrelated to the
//! target cannot be merged, and files in swarm's own directories would land on top of the state in
//! the person's checkout.

use git2::Oid;

use crate::git::error::GitError;
use crate::git::repo::Repo;

/// Directories with swarm's local state, which must not be committed.
const PRIVATE: &[&str] = &[".swarm/state", ".swarm/provenance", ".swarm/logs"];

/// Why a branch cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchProblem {
    /// It shares no commit with its base: its history was replaced, or the branch was deleted and
    /// committed anew.
    Unrelated,
    /// It adds or changes something in these directories of swarm.
    Private(Vec<String>),
}

impl Repo {
    /// The problem with the branch at `head` that started at `base`; `None` if there is none.
    pub fn branch_problem(&self, head: Oid, base: Oid) -> Result<Option<BranchProblem>, GitError> {
        let library = self.library()?;
        match library.merge_base(head, base) {
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                return Ok(Some(BranchProblem::Unrelated));
            }
            found => found.map_err(GitError::library(format!("compare {head} with {base}")))?,
        };
        let tree = |commit: Oid| {
            let commit = library.find_commit(commit);
            commit.and_then(|commit| commit.tree())
        };
        let read = GitError::library(format!("read the files of {head}"));
        let (new, old) = tree(head)
            .and_then(|new| Ok((new, tree(base)?)))
            .map_err(read)?;
        let at = |tree: &git2::Tree<'_>, path: &str| {
            let entry = tree.get_path(path.as_ref()).ok();
            entry.map(|entry| entry.id())
        };
        let touched = |path: &&&str| at(&new, path).is_some() && at(&new, path) != at(&old, path);
        let private: Vec<String> = PRIVATE
            .iter()
            .filter(touched)
            .map(ToString::to_string)
            .collect();
        Ok((!private.is_empty()).then_some(BranchProblem::Private(private)))
    }
}
