//! Reads from the history which ideas have landed: the trailers of merge commits.
//!
//! Invariant: reads only. Only merge commits on the first-parent history count, since an agent's
//! branch can contain any text. Landings survive a rewritten history as long as the messages do.

use std::collections::HashSet;

use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::store::format::Commit;
use crate::git::store::oid::Oid;

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
        let is_beyond = match hidden {
            Some(hidden) => Some(self.beyond(&[tip], &[hidden])?),
            None => None,
        };
        let is_beyond: Option<HashSet<Oid>> = is_beyond.map(|all| all.into_iter().collect());
        let is_wanted = |oid: &Oid| is_beyond.as_ref().is_none_or(|all| all.contains(oid));
        let mut found = Vec::new();
        let mut at = Some(tip);
        while let Some(oid) = at.filter(|oid| is_wanted(oid) && !known(*oid)) {
            // A shallow clone does not have all of its history.
            let Some(commit) = self.find_commit(oid)? else {
                break;
            };
            found.extend(landed(&commit));
            at = commit.parents.first().copied();
        }
        Ok(found)
    }

    /// Of these commits, which `tip` has, those that no landing brought.
    pub fn not_landed(&self, tip: Oid, commits: &HashSet<Oid>) -> Result<HashSet<Oid>, GitError> {
        let (mut open, mut seen, mut found) = (vec![tip], HashSet::new(), HashSet::new());
        while let Some(oid) = open.pop() {
            if !commits.contains(&oid) || !seen.insert(oid) {
                continue;
            }
            let commit = self.commit(oid)?;
            if landed(&commit).is_some() {
                // Its other parents are an agent's work.
                open.extend(commit.parents.iter().take(1));
            } else {
                found.insert(oid);
                open.extend(&commit.parents);
            }
        }
        Ok(found)
    }
}

/// Whether it is a merge commit with swarm's trailers.
pub(crate) fn is_landing(commit: &Commit) -> bool {
    landed(commit).is_some()
}

fn landed(commit: &Commit) -> Option<Landed> {
    let message = commit.text();
    let last = message.trim_end().rsplit("\n\n").next()?;
    let trailer = |name| {
        last.lines()
            .find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
    };
    (commit.parents.len() > 1).then_some(())?;
    Some(Landed {
        commit: commit.id,
        idea: trailer(IDEA)?,
        operation: trailer(OPERATION)?,
        at: commit.seconds(),
    })
}
