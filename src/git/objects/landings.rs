//! Reads from the history which ideas have landed: the trailers of merge commits.
//!
//! Invariant: reads only. Only merge commits on the first-parent history count, since an agent's
//! branch can contain any text. Landings survive a rewritten history as long as the messages do.

use std::collections::HashSet;

use git2::{Oid, Sort};

use crate::git::error::GitError;
use crate::git::repo::Repo;

const IDEA: &str = "Swarm-Idea: ";
const OPERATION: &str = "Swarm-Op: ";

/// A merge commit with swarm's trailers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // for fields whose names say it all
pub struct Landed {
    pub commit: Oid,
    /// Idea id from the trailer, unchecked.
    pub idea: String,
    /// Operation id from the trailer, unchecked.
    pub operation: String,
    /// Commit time, in seconds since 1970.
    pub at: i64,
}

impl Repo {
    /// Landings from `tip` back to the first commit for which `known` returns true, newest first.
    /// Commits reachable from `hidden` are left out.
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

    /// Of these commits, which `tip` has, those that no landing brought.
    pub fn not_landed(&self, tip: Oid, commits: &HashSet<Oid>) -> Result<HashSet<Oid>, GitError> {
        let library = self.library()?;
        let read = || -> Result<HashSet<Oid>, git2::Error> {
            let (mut open, mut seen, mut found) = (vec![tip], HashSet::new(), HashSet::new());
            while let Some(oid) = open.pop() {
                if !commits.contains(&oid) || !seen.insert(oid) {
                    continue;
                }
                let commit = library.find_commit(oid)?;
                if landed(&commit).is_some() {
                    // Its other parents are an agent's work.
                    open.extend(commit.parent_ids().take(1));
                } else {
                    found.insert(oid);
                    open.extend(commit.parent_ids());
                }
            }
            Ok(found)
        };
        read().map_err(GitError::library(format!(
            "tell landings from other commits up to {tip:.10}"
        )))
    }

    /// Best common ancestor; `None` if the histories are unrelated.
    pub fn merge_base(&self, one: Oid, other: Oid) -> Result<Option<Oid>, GitError> {
        merge_base(&self.library()?, one, other)
    }
}

/// Best common ancestor in this repository.
pub(super) fn merge_base(
    library: &git2::Repository,
    one: Oid,
    other: Oid,
) -> Result<Option<Oid>, GitError> {
    match library.merge_base(one, other) {
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        found => found.map(Some).map_err(GitError::library(format!(
            "compare {one:.10} with {other:.10}"
        ))),
    }
}

/// Whether it is a merge commit with swarm's trailers.
pub(crate) fn is_landing(commit: &git2::Commit<'_>) -> bool {
    landed(commit).is_some()
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
