//! Removing a checkpoint, and what an earlier removal had to leave.
//!
//! Invariant: what only it has, and nobody asked to lose, is kept under `refs/swarm/rescue/` before
//! anything goes. Its file goes first, so that nobody rolls back to what is half gone; then its
//! tag, then its references but for those of agents whose work an idea is to go on from. Those go
//! when a daemon ends and no idea needs them any more.

use super::{REFERENCES, file, references, tag_of};
use crate::crash;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::failure::oid;
use crate::domain::effect;
use crate::domain::ids::{AgentId, CheckpointName};
use crate::domain::outcome::{CheckpointDeleted, Failure};
use crate::domain::state::State;
use crate::domain::state::checkpoint::saved_work_in_use;
use crate::git::{self, GitError};

/// Removes it. Blocks.
pub(in crate::daemon) fn delete(
    context: &DriverContext,
    effect: &effect::DeleteCheckpoint,
) -> Result<CheckpointDeleted, Failure> {
    let effect::DeleteCheckpoint { name, in_use, keep } = effect;
    if let Some(commit) = keep {
        rescue(context, name, oid(commit)?)?;
    }
    let path = file::path_of(&context.paths, name);
    file::remove(&context.paths, name).map_err(|source| GitError::io("delete", &path, source))?;
    crash::point("checkpoint.file-removed");
    context.repo.delete_tag(&tag_of(name))?;
    crash::point("checkpoint.tag-removed");
    let prefix = references(name);
    for (reference, commit) in context.repo.list_refs(&prefix)? {
        if !is_used(&reference[prefix.len()..], in_use) {
            context.repo.delete_ref(&reference, commit)?;
        }
    }
    Ok(CheckpointDeleted)
}

/// Keeps what only this checkpoint has. Done already: the references are there, or those that they
/// are made of are gone.
fn rescue(
    context: &DriverContext,
    name: &CheckpointName,
    commit: git::Oid,
) -> Result<(), GitError> {
    let to = |rest: &str| format!("refs/swarm/rescue/checkpoint-{name}/{rest}");
    let mut on_a_branch = false;
    // An agent's branch goes by itself, and is no place to stay.
    for (name, head) in context.repo.list_refs("refs/heads/")? {
        on_a_branch |=
            !name.starts_with("refs/heads/agent/") && context.repo.contains(head, commit)?;
    }
    if !on_a_branch && context.repo.resolve_commit(&commit.to_string())?.is_some() {
        context.repo.keep_commit(&to("target"), commit)?;
    }
    let prefix = references(name);
    for (reference, work) in context.repo.list_refs(&prefix)? {
        context
            .repo
            .keep_commit(&to(&reference[prefix.len()..]), work)?;
    }
    Ok(())
}

/// Removes the references of checkpoints that are gone, tag and file, and whose work no idea is to
/// go on from. Nothing may be under way. Blocks.
pub(in crate::daemon) fn sweep(context: &DriverContext, state: &State) -> Result<(), GitError> {
    let in_use = saved_work_in_use(state);
    for (reference, commit) in context.repo.list_refs(REFERENCES)? {
        let Some((name, rest)) = reference[REFERENCES.len()..].split_once('/') else {
            continue;
        };
        let Ok(name) = name.parse::<CheckpointName>() else {
            continue;
        };
        let there = state.checkpoints.contains_key(&name)
            || file::path_of(&context.paths, &name).exists()
            || context.repo.tag(&tag_of(&name))?.is_some();
        if !there && !is_used(rest, &in_use) {
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
