//! Which facts may be out of date: a file of their evidence has changed on the target since.
//!
//! Invariant: computed from git whenever it is asked for and never stored, so that rollbacks and
//! people's commits count. What cannot be looked up does not count as changed.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::domain::ids::Oid;
use crate::domain::memory::{Evidence, FactKey, Sources};
use crate::domain::state::State;
use crate::git::{self, Repo};

/// Paths of each fact's evidence that changed since. Facts without such paths are not in it.
pub type Aged = BTreeMap<FactKey, Vec<String>>;

/// The files that a fact's evidence saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFiles {
    key: FactKey,
    files: Vec<Seen>,
}

/// A file to look up: the commit in which it was as the evidence says, and its path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    commit: Oid,
    path: String,
}

/// The files that the facts' evidence saw, for [`aged`].
pub fn seen_files(state: &State) -> Vec<SeenFiles> {
    let facts = state.facts.iter();
    let seen = facts.map(|(key, fact)| SeenFiles {
        key: key.clone(),
        files: seen_in(state, &fact.evidence),
    });
    seen.filter(|seen| !seen.files.is_empty()).collect()
}

/// As [`aged`], for a target as the state knows it. Nothing counts as changed where there is no
/// repository or no target.
pub fn aged_in(root: &Path, seen: &[SeenFiles], target: Option<&Oid>) -> Aged {
    let Some(target) = target.filter(|_| !seen.is_empty()) else {
        return Aged::new();
    };
    match Repo::open(root) {
        Ok(repo) => aged(&repo, seen, target),
        Err(error) => {
            tracing::warn!(%error, "files of facts cannot be looked up");
            Aged::new()
        }
    }
}

/// The target's commit, as the state last saw it.
pub fn target_of(state: &State) -> Option<Oid> {
    let seen = state.swarm.target.as_ref();
    seen.map(|seen| seen.commit.clone())
}

/// Finds the facts whose files have changed on the target, which is at `target` now.
pub fn aged(repo: &Repo, seen: &[SeenFiles], target: &Oid) -> Aged {
    let mut paths: BTreeMap<&Oid, Vec<&str>> = BTreeMap::new();
    for file in seen.iter().flat_map(|seen| &seen.files) {
        paths.entry(&file.commit).or_default().push(&file.path);
        paths.entry(target).or_default().push(&file.path);
    }
    let versions = look_up(repo, paths);
    let has_changed = |file: &Seen| {
        let version = |commit: &Oid| versions.get(&(commit.clone(), file.path.clone()));
        match (version(&file.commit), version(target)) {
            (Some(then), Some(now)) => then != now,
            // The commit is gone, for example after a rewrite of the history.
            (None, _) | (_, None) => false,
        }
    };
    let mut aged = Aged::new();
    for SeenFiles { key, files } in seen {
        let changed = files.iter().filter(|file| has_changed(file));
        let mut changed: Vec<String> = changed.map(|file| file.path.clone()).collect();
        changed.sort();
        changed.dedup();
        if !changed.is_empty() {
            aged.insert(key.clone(), changed);
        }
    }
    aged
}

/// The files that the evidence saw, each in the commit that landed the idea or, until that landed,
/// in the target as it was then. Where people speak for a fact, only their files count: an agent
/// could otherwise age it by naming a file that it changes.
fn seen_in(state: &State, sources: &Sources) -> Vec<Seen> {
    let of_one = |evidence: &Evidence| {
        let idea = evidence.author.idea().and_then(|id| state.ideas.get(id));
        let landed = idea.and_then(|idea| idea.commit.clone());
        let commit = landed.or_else(|| evidence.target.clone());
        let seen = |path: &String| {
            Some(Seen {
                commit: commit.clone()?,
                path: path.clone(),
            })
        };
        evidence.paths.iter().filter_map(seen).collect::<Vec<_>>()
    };
    let is_by_people = sources.kept.iter().any(|it| it.author.is_person());
    let kept = sources.kept.iter();
    kept.filter(|it| !is_by_people || it.author.is_person())
        .flat_map(of_one)
        .collect()
}

/// The versions of files by commit and path. A commit that cannot be read has none.
fn look_up(
    repo: &Repo,
    paths: BTreeMap<&Oid, Vec<&str>>,
) -> HashMap<(Oid, String), Option<git::Oid>> {
    let mut versions = HashMap::new();
    for (commit, mut paths) in paths {
        paths.sort_unstable();
        paths.dedup();
        let Ok(id) = git::Oid::from_str(commit.as_str()) else {
            continue;
        };
        match repo.file_versions(id, &paths) {
            Ok(Some(found)) => {
                let found = paths.iter().zip(found);
                let found = found.map(|(path, id)| ((commit.clone(), (*path).to_owned()), id));
                versions.extend(found);
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%commit, %error, "files of facts cannot be looked up");
            }
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;
    use crate::domain::request::Author;

    fn said(author: Author, path: &str) -> Evidence {
        Evidence {
            author,
            paths: vec![path.to_owned()],
            target: Some("0123456789012345678901234567890123456789".parse().unwrap()),
            ..Evidence::default()
        }
    }

    #[test]
    fn an_agent_cannot_age_what_a_person_says_by_naming_another_file() {
        let agent = Author::Agent {
            id: "ed-001".parse().unwrap(),
            idea_id: None,
            run: "r1".parse().unwrap(),
        };
        let paths = |sources: &Sources| {
            let seen = seen_in(&State::default(), sources);
            seen.into_iter().map(|it| it.path).collect::<Vec<_>>()
        };
        let mut sources = Sources::one(said(agent, "busy.rs"));
        assert_eq!(paths(&sources), ["busy.rs"]);
        sources.add(said(Author::Person, "api.rs"));
        assert_eq!(paths(&sources), ["api.rs"]);
    }
}
