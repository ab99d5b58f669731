//! What the history says has landed: the trailers of the merge commits on a branch's own line.
//!
//! Invariant: reads only. Only merge commits of the first-parent history count: what lies on an
//! agent's own branch may say anything. Of a history that somebody has rewritten with its messages
//! intact, the landings are still found.

use git2::{Oid, Sort};

use crate::git::error::GitError;
use crate::git::repo::Repo;

const IDEA: &str = "Swarm-Idea: ";
const OPERATION: &str = "Swarm-Op: ";

/// A merge commit that says which idea it landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// The merge commit.
    pub commit: Oid,
    /// The idea, as the trailer has it.
    pub idea: String,
    /// The operation, as the trailer has it.
    pub operation: String,
    /// When it was committed, in seconds since 1970.
    pub at: i64,
}

impl Repo {
    /// The landings from `tip` back to the first commit for which `known` holds, newest first,
    /// without those that `hidden` has.
    pub fn landings(
        &self,
        tip: Oid,
        hidden: Option<Oid>,
        known: impl Fn(Oid) -> bool,
    ) -> Result<Vec<Landed>, GitError> {
        let library = self.library()?;
        let read = || -> Result<Vec<Landed>, git2::Error> {
            let mut walk = library.revwalk()?;
            walk.set_sorting(Sort::NONE)?;
            walk.simplify_first_parent()?;
            walk.push(tip)?;
            if let Some(hidden) = hidden {
                walk.hide(hidden)?;
            }
            let mut found = Vec::new();
            for oid in walk {
                let oid = oid?;
                if known(oid) {
                    break;
                }
                found.extend(landed(&library.find_commit(oid)?));
            }
            Ok(found)
        };
        read().map_err(GitError::library(format!(
            "list the landings up to {tip:.10}"
        )))
    }

    /// Where two histories part; none: nowhere.
    pub fn merge_base(&self, one: Oid, other: Oid) -> Result<Option<Oid>, GitError> {
        match self.library()?.merge_base(one, other) {
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            found => found.map(Some).map_err(GitError::library(format!(
                "compare {one:.10} with {other:.10}"
            ))),
        }
    }
}

fn landed(commit: &git2::Commit<'_>) -> Option<Landed> {
    let message = String::from_utf8_lossy(commit.message_bytes());
    let last = message.trim_end().rsplit("\n\n").next()?;
    let trailer = |name| {
        last.lines()
            .find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
    };
    (commit.parent_count() > 1).then_some(())?;
    Some(Landed {
        commit: commit.id(),
        idea: trailer(IDEA)?,
        operation: trailer(OPERATION)?,
        at: commit.time().seconds(),
    })
}
