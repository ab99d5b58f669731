//! Checks a branch before anybody tries to merge it.
//!
//! Invariant: reads only. The branch's author must fix what it finds: a history unrelated to the
//! target cannot be merged, and files in swarm's own directories would land on top of the state in
//! the person's checkout.

use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;

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
        if self.merge_base(head, base)?.is_none() {
            return Ok(Some(BranchProblem::Unrelated));
        }
        let at = |commit: Oid, path: &str| -> Result<Option<Oid>, GitError> {
            Ok(self.entry_at(commit, path.as_ref())?.map(|entry| entry.id))
        };
        let mut private = Vec::new();
        for path in PRIVATE {
            let now = at(head, path)?;
            if now.is_some() && now != at(base, path)? {
                private.push((*path).to_owned());
            }
        }
        Ok((!private.is_empty()).then_some(BranchProblem::Private(private)))
    }
}
