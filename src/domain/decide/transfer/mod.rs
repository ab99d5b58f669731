//! A swarm that moves to another machine: what its import means, its departure and its return.
//!
//! Invariant: the events of an import are one decision and reach the log together, or none does.
//! They are never dispatched: the next daemon acts on the state that they leave. Called by
//! `daemon::transfer`, under the lock.

pub mod agent;

use std::collections::BTreeMap;

use super::attempt::outcomes::end_asked;
use super::decision::Plan;
use crate::domain::event::{
    CheckpointDeleted, Event, SwarmImported, SwarmMoved, SwarmReclaimed, WorkImported,
};
use crate::domain::evolve::evolve;
use crate::domain::ids::{CheckpointName, IdeaId, ProfileName};
use crate::domain::rejection::Rejection;
use crate::domain::request::Author;
use crate::domain::state::checkpoint::unfinished;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::transfer::{ImportIssue, ImportPurpose, ImportedWork};
use crate::domain::state::{Ending, Kept, State};
use crate::domain::time::Timestamp;

/// An archive, as far as its events depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// SHA-256 of its `manifest.json`, in hex.
    pub manifest_sha256: String,
    /// SHA-256 of the first record of its log, in hex.
    pub swarm_id: String,
    /// What it is for.
    pub purpose: ImportPurpose,
    /// How much was left behind or differs, by type.
    pub issues: BTreeMap<ImportIssue, u64>,
    /// Unfinished work that it has.
    pub works: BTreeMap<IdeaId, ImportedWork>,
    /// Checkpoints that cannot be used here.
    pub unusable: Vec<CheckpointName>,
    /// Profiles that are not configured here.
    pub unknown_profiles: Vec<ProfileName>,
    /// Who imports it.
    pub by: Author,
}

/// The events after those of the archive, whose state this is.
pub fn imported(state: &State, import: &Import, now: Timestamp) -> Vec<Event> {
    let mut ends = Plan::new(state, now);
    for (agent, attempt) in &state.agents {
        // A person's earlier wish counts, but the hand-over of a redirect can no longer happen.
        let ending = match attempt.ending {
            Some(Ending::Stopped) => Ending::Stopped,
            Some(Ending::Cancelled) => Ending::Cancelled,
            Some(Ending::Interrupted | Ending::Redirected) | None => Ending::Interrupted,
        };
        end_asked(&mut ends, agent, ending);
    }
    // No hook of this machine is to hear of ends on another one.
    let mut events = ends.events;
    events.retain(|event| !matches!(event, Event::HookOwed(_)));
    events.push(
        SwarmImported {
            manifest_sha256: import.manifest_sha256.clone(),
            swarm_id: import.swarm_id.clone(),
            seq: state.seq,
            purpose: import.purpose,
            issues: import.issues.clone(),
            unknown_profiles: import.unknown_profiles.clone(),
            by: import.by.clone(),
        }
        .into(),
    );
    events.extend(unusable(state, import));
    events.extend(works(state, import, &events, now));
    events
}

fn unusable(state: &State, import: &Import) -> Vec<Event> {
    let known = import.unusable.iter();
    let known = known.filter(|name| state.checkpoints.contains_key(name));
    let deleted = known.map(|name| CheckpointDeleted { name: name.clone() });
    deleted.map(Event::from).collect()
}

/// The work of each idea that an ended attempt has left to it.
fn works(state: &State, import: &Import, ends: &[Event], now: Timestamp) -> Vec<Event> {
    let mut after = state.clone();
    let before_import = |event: &&Event| !matches!(event, Event::SwarmImported(_));
    for event in ends.iter().take_while(before_import) {
        let seq = after.seq + 1;
        evolve(&mut after, seq, now, event);
    }
    // Messages in the prompt of an iteration that was cut off were not delivered.
    let unfinished = unfinished(state);
    let work = |(id, work): (&IdeaId, &ImportedWork)| {
        let left = after.ideas.get(id)?.kept.as_deref()?;
        let mut kept = kept(left, work);
        if let Some(before) = unfinished.iter().find(|before| before.idea == *id) {
            kept.messages.clone_from(&before.messages);
        }
        let kept = Box::new(kept);
        Some(
            WorkImported {
                id: id.clone(),
                kept,
            }
            .into(),
        )
    };
    import.works.iter().filter_map(work).collect()
}

/// What the attempt left, with commits in place of its worktree.
fn kept(left: &Kept, work: &ImportedWork) -> Kept {
    Kept {
        worktree: work.saved.kept().worktree,
        session: left.session.clone().filter(|_| work.conversation),
        prompt: work.prompt.clone(),
        cause: PromptCause::Restored,
        ..left.clone()
    }
}

/// The swarm has moved away in this archive. Repeated for the same archive, nothing changes.
///
/// # Errors
/// It has moved away in another one.
pub fn moved(
    state: &State,
    manifest_sha256: &str,
    by: &Author,
) -> Result<Option<Event>, Rejection> {
    if state.swarm.moved.as_deref() == Some(manifest_sha256) {
        return Ok(None);
    }
    refuse_moved(state)?;
    let moved = SwarmMoved {
        manifest_sha256: manifest_sha256.to_owned(),
        by: by.clone(),
    };
    Ok(Some(moved.into()))
}

/// The swarm works here again.
///
/// # Errors
/// It has not moved away.
pub fn reclaimed(state: &State, by: &Author) -> Result<Event, Rejection> {
    match state.swarm.moved {
        Some(_) => Ok(SwarmReclaimed { by: by.clone() }.into()),
        None => Err(Rejection::NotNow {
            what: "reclaim this swarm".to_owned(),
            why: "it has not moved away".to_owned(),
            instead: None,
        }),
    }
}

/// Refuses every change of a swarm that has moved away.
///
/// # Errors
/// [`Rejection::Moved`]
pub fn refuse_moved(state: &State) -> Result<(), Rejection> {
    match &state.swarm.moved {
        Some(manifest_sha256) => Err(Rejection::Moved {
            manifest_sha256: manifest_sha256.clone(),
        }),
        None => Ok(()),
    }
}
