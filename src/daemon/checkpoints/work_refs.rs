//! Finds the references to kept work that somebody deleted, and puts them back while git still has
//! the commits. Called by `list`, `rollback` and `doctor --fix`.
//!
//! Invariant: a reference that is there is never moved.

use std::collections::BTreeSet;

use super::file;
use super::{work_reference, works_of};
use crate::daemon::effects::failure::oid;
use crate::daemon::error::DaemonError;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::domain::state::checkpoint::SavedWork;
use crate::git::{GitError, Repo};

/// The work whose reference is gone.
pub(super) fn missing<'a>(
    repo: &Repo,
    name: &CheckpointName,
    works: impl Iterator<Item = &'a SavedWork>,
) -> Result<Vec<&'a SavedWork>, GitError> {
    let kept = repo.list_refs(&works_of(name))?;
    let mut missing = Vec::new();
    for work in works {
        for commit in std::iter::once(&work.tip).chain(&work.wip) {
            let commit = oid(commit)?;
            let mut is_kept = false;
            for (_, tip) in &kept {
                is_kept |= repo.contains(*tip, commit)?;
            }
            if !is_kept {
                missing.push(work);
                break;
            }
        }
    }
    Ok(missing)
}

/// Why the checkpoint cannot be used, if references to its work are gone.
pub(super) fn problem(name: &CheckpointName, missing: &[&SavedWork]) -> Option<String> {
    let first = missing.first()?;
    let reference = work_reference(name, &first.agent);
    let more = match missing.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(format!(
        "the reference {reference} to the work of {} was deleted{more}, so git will prune that \
        work; put it back: swarm doctor --fix",
        first.agent
    ))
}

/// Puts the missing references to work back whose commits git still has; returns their names.
///
/// # Errors
/// Git cannot be asked.
pub fn put_back(repo: &Repo, state: &State) -> Result<BTreeSet<String>, DaemonError> {
    let mut names = BTreeSet::new();
    for name in state.checkpoints.keys() {
        let Ok((file, _)) = file::read(repo, name) else {
            continue;
        };
        let works = || file.agent_states.iter().chain(&file.kept_work);
        for work in missing(repo, name, works().map(|one| &one.work))? {
            let reference = work_reference(name, &work.agent);
            for commit in std::iter::once(&work.tip).chain(&work.wip) {
                // What git has pruned cannot be put back.
                if repo.resolve_commit(commit.as_str())?.is_some() {
                    repo.keep_commit(&reference, oid(commit)?)?;
                    names.insert(reference.clone());
                }
            }
        }
    }
    Ok(names)
}
