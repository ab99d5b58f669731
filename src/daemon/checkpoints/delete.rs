//! Removing a checkpoint, and what an earlier removal had to leave.
//!
//! Invariant: what only it has, and nobody asked to lose, is kept under `refs/swarm/rescue/` before
//! anything goes. A tag goes only if it is ours; then the reference to the tag object, so that
//! nobody rolls back to what is half gone; then its file, and the references to work but for agents
//! whose work an idea is to go on from. Those go when a daemon ends and no idea needs them.

use super::{FILES, REFERENCES, WORK, file, file_reference, reference_of, tag_reference, works_of};
use crate::crash;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::failure::oid;
use crate::domain::effect;
use crate::domain::ids::{AgentId, CheckpointName};
use crate::domain::outcome::{CheckpointDeleted, Failure};
use crate::domain::state::State;
use crate::domain::state::checkpoint::saved_work_in_use;
use crate::git::{self, GitError, Repo};

/// Removes it. Blocks.
pub(in crate::daemon) fn delete(
    context: &DriverContext,
    effect: &effect::DeleteCheckpoint,
) -> Result<CheckpointDeleted, Failure> {
    let effect::DeleteCheckpoint { name, in_use, keep } = effect;
    if let Some(commit) = keep {
        rescue(&context.repo, name, oid(commit)?)?;
    }
    let (repo, reference) = (&context.repo, reference_of(name));
    let tag = repo.read_ref(&reference)?;
    if let Some(tag) = tag
        && repo.read_ref(&tag_reference(name))? == Some(tag)
    {
        repo.delete_ref(&tag_reference(name), tag)?;
    }
    repo.remove_ref(&reference)?;
    crash::point("checkpoint.tag-removed");
    repo.remove_ref(&file_reference(name))?;
    crash::point("checkpoint.file-removed");
    let path = file::path_of(&context.paths, name);
    file::remove(&context.paths, name).map_err(|source| GitError::io("delete", &path, source))?;
    let prefix = works_of(name);
    for (reference, commit) in context.repo.list_refs(&prefix)? {
        if !is_used(&reference[prefix.len()..], in_use) {
            context.repo.delete_ref(&reference, commit)?;
        }
    }
    Ok(CheckpointDeleted)
}

/// Keeps what only this checkpoint has. Done already: the references are there, or those that they
/// are made of are gone.
fn rescue(repo: &Repo, name: &CheckpointName, commit: git::Oid) -> Result<(), GitError> {
    let to = |rest: &str| format!("refs/swarm/rescue/checkpoint-{name}/{rest}");
    let mut on_a_branch = false;
    // An agent's branch goes by itself, and is no place to stay.
    for (name, head) in repo.list_refs("refs/heads/")? {
        on_a_branch |= !name.starts_with("refs/heads/agent/") && repo.contains(head, commit)?;
    }
    if !on_a_branch && repo.resolve_commit(&commit.to_string())?.is_some() {
        repo.keep_commit(&to("target"), commit)?;
    }
    let prefix = works_of(name);
    for (reference, work) in repo.list_refs(&prefix)? {
        repo.keep_commit(&to(&reference[prefix.len()..]), work)?;
    }
    Ok(())
}

/// Ends the checkpoints of an earlier swarm, before a new one begins: their commits stay under
/// `refs/swarm/rescue/`.
///
/// # Errors
/// Git failed.
pub fn retire_all(repo: &Repo) -> Result<(), GitError> {
    for (reference, oid) in repo.list_refs(REFERENCES)? {
        let Ok(name) = reference[REFERENCES.len()..].parse() else {
            continue;
        };
        if let Some(commit) = repo.tag(&reference)?.and_then(|tag| tag.commit) {
            rescue(repo, &name, commit)?;
        }
        repo.remove_ref(&file_reference(&name))?;
        for (work, commit) in repo.list_refs(&works_of(&name))? {
            repo.delete_ref(&work, commit)?;
        }
        // Last, so that a repetition after a kill finds it.
        repo.delete_ref(&reference, oid)?;
    }
    Ok(())
}

/// Removes the references of checkpoints that are gone, or were never finished, and whose work no
/// idea is to go on from. Nothing may be under way. Blocks.
pub(in crate::daemon) fn sweep(context: &DriverContext, state: &State) -> Result<(), GitError> {
    let in_use = saved_work_in_use(state);
    let is_gone = |name: &str| -> Result<bool, GitError> {
        let Ok(name) = name.parse::<CheckpointName>() else {
            return Ok(false);
        };
        let known = state.checkpoints.contains_key(&name);
        Ok(!known && context.repo.read_ref(&reference_of(&name))?.is_none())
    };
    for (reference, blob) in context.repo.list_refs(FILES)? {
        if is_gone(&reference[FILES.len()..])? {
            context.repo.delete_ref(&reference, blob)?;
        }
    }
    for (reference, commit) in context.repo.list_refs(WORK)? {
        let Some((name, rest)) = reference[WORK.len()..].split_once('/') else {
            continue;
        };
        if !is_used(rest, &in_use) && is_gone(name)? {
            context.repo.delete_ref(&reference, commit)?;
        }
    }
    Ok(())
}

/// Whether a reference is of one of these agents: `ed-001`, `ed-001-branch`, `ed-001-2`.
fn is_used(rest: &str, in_use: &[AgentId]) -> bool {
    in_use.iter().any(|agent| {
        let more = rest.strip_prefix(agent.as_str());
        more.is_some_and(|more| more.is_empty() || more.starts_with('-'))
    })
}
