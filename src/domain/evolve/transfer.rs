//! Folds events about swarms that move.
//!
//! Invariant: after an import nothing is under way, and nothing of the other machine is trusted: no
//! effect, run, worktree, approval or account. Ideas, memory, usage and history stay.

use super::idea::{audit, with_idea};
use crate::domain::event::{AgentImported, SwarmImported, SwarmMoved, WorkImported};
use crate::domain::ids::IdeaId;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::state::baseline::Baseline;
use crate::domain::state::transfer::Imported;
use crate::domain::state::transfer::agent::ImportedAgent;
use crate::domain::state::undo::UndoStack;
use crate::domain::state::{Idea, Owed, State};
use crate::domain::time::Timestamp;

/// Attempts have ended by events of their own before; what they left follows as `workImported`.
pub(super) fn import(state: &mut State, at: Timestamp, imported: &SwarmImported) {
    state.outbox.clear();
    state.stops.clear();
    state.owed = Owed::default();
    state.queue.clear();
    state.rollback = None;
    state.setups.clear();
    state.accounts.clear();
    state.profiles.clear();
    state.records.replay = None;
    state.warnings.clear();
    state.undo = UndoStack::default();
    state.hooks.clear();
    state.hooks_announced.clear();
    state.hooks_approved.clear();
    state.attention.night = None;
    state.attention.outgoing.clear();
    let swarm = &mut state.swarm;
    swarm.phase = SwarmPhase::Stopped;
    swarm.drain_deadline = None;
    swarm.held_until = None;
    swarm.worktrees_held = None;
    swarm.broken_command = None;
    swarm.baseline = Baseline::default();
    swarm.moved = None;
    swarm.imported = Some(Box::new(Imported {
        manifest_sha256: imported.manifest_sha256.clone(),
        swarm_id: imported.swarm_id.clone(),
        seq: imported.seq,
        purpose: imported.purpose,
        issues: imported.issues.clone(),
        at,
    }));
    let ids: Vec<IdeaId> = state.ideas.keys().cloned().collect();
    for id in ids {
        state.ideas.change(&id, |idea| {
            idea.kept = None;
            // Its file is in no archive.
            idea.imported = None;
            idea.reserved = None;
            let unknown = |profile: &mut _| imported.unknown_profiles.contains(profile);
            idea.profile.take_if(unknown);
        });
    }
}

pub(super) fn import_work(state: &mut State, at: Timestamp, work: &WorkImported) {
    with_idea(state, &work.id, at, |idea| {
        idea.kept = Some(work.kept.clone());
        audit(idea, at, "imported", work.kept.worktree.agent.as_str());
    });
}

pub(super) fn move_away(state: &mut State, moved: &SwarmMoved) {
    state.swarm.moved = Some(moved.manifest_sha256.clone());
}

pub(super) fn import_agent(state: &mut State, at: Timestamp, event: &AgentImported) {
    with_idea(state, &event.id, at, |idea| {
        go_on_from(idea, &event.imported);
        if event.profile.is_some() {
            idea.profile.clone_from(&event.profile);
        }
        audit(idea, at, "agent_imported", event.imported.agent.as_str());
    });
}

/// The commits of an earlier import go with it.
pub(super) fn go_on_from(idea: &mut Idea, imported: &ImportedAgent) {
    let earlier = idea.imported.take();
    let brought = earlier.as_deref().and_then(ImportedAgent::kept);
    idea.kept
        .take_if(|kept| brought.as_ref() == Some(kept.as_ref()));
    if let Some(kept) = imported.kept() {
        idea.kept = Some(Box::new(kept));
    }
    idea.imported = Some(Box::new(imported.clone()));
}
