//! What the history says has landed: the trailers of the merge commits on a branch's own line.
//!
//! Invariant: reads only. Of a history that somebody has rewritten with its messages intact, the landings are still found.

use git2::Oid;

use super::error::GitError;
use super::repo::Repo;

/// A landing, as its merge commit tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// The trailer `Swarm-Idea`.
    pub idea: String,
    /// The trailer `Swarm-Op`: the effect that made it.
    pub op: String,
    /// The merge commit.
    pub commit: Oid,
}

impl Repo {
    /// The landings on the first-parent line of `tip`, newest first, without those that `hidden` has.
    pub fn landings(&self, tip: Oid, hidden: Option<Oid>) -> Result<Vec<Landed>, GitError> {
        let library = self.library()?;
        let read = || -> Result<Vec<Landed>, git2::Error> {
            let mut walk = library.revwalk()?;
            walk.set_sorting(git2::Sort::TOPOLOGICAL)?;
            walk.simplify_first_parent()?;
            walk.push(tip)?;
            if let Some(hidden) = hidden {
                walk.hide(hidden)?;
            }
            let mut found = Vec::new();
            for oid in walk {
                let commit = library.find_commit(oid?)?;
                let message = String::from_utf8_lossy(commit.message_raw_bytes()).into_owned();
                found.extend(landed(&message, commit.id())?);
            }
            Ok(found)
        };
        read().map_err(GitError::library(format!("list what has landed on {tip}")))
    }
}

fn landed(message: &str, commit: Oid) -> Result<Option<Landed>, git2::Error> {
    if !message.contains("Swarm-Op:") {
        return Ok(None);
    }
    let trailers = git2::message_trailers_strs(message)?;
    let value = |key: &str| {
        let mut all = trailers.iter();
        all.find_map(|(name, value)| (name == key).then(|| value.to_owned()))
    };
    let (idea, op) = (value("Swarm-Idea"), value("Swarm-Op"));
    Ok(idea.zip(op).map(|(idea, op)| Landed { idea, op, commit }))
}
