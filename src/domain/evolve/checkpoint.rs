//! Folds events about checkpoints and rollbacks.

use super::baseline;
use super::idea::{audit, unused, with_idea};
use crate::domain::effect::Effect;
use crate::domain::event::{CheckpointMade, RollbackPlanned, RollbackStepped, RolledBack};
use crate::domain::ids::{CheckpointName, IdeaId};
use crate::domain::state::checkpoint::{Checkpoint, IdeaThen};
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;

pub(super) fn keep(state: &mut State, made: &CheckpointMade) {
    let checkpoint = Checkpoint::clone(&made.checkpoint);
    let number = checkpoint.number.unwrap_or_default();
    state.counters.checkpoints = state.counters.checkpoints.max(number);
    state.checkpoints.insert(made.name.clone(), checkpoint);
}

pub(super) fn plan_idea(state: &mut State, planned: &RollbackPlanned) {
    if let Some(rollback) = &mut state.rollback {
        let then = IdeaThen::clone(&planned.idea);
        rollback.ideas.insert(planned.id.clone(), then);
    }
}

pub(super) fn step(state: &mut State, stepped: &RollbackStepped) {
    if let Some(rollback) = &mut state.rollback {
        rollback.step = stepped.step;
    }
}

pub(super) fn abandon(state: &mut State) {
    state.rollback = None;
    // The next rollback cannot use them, even if a torn log left them unfinished.
    let its = |effect: &Effect| matches!(effect, Effect::CheckRollback(_) | Effect::MoveTarget(_));
    state.outbox.retain(|_, effect| !its(effect));
}

/// Restores the ideas. One that was added and landed since must be done again; everything else of
/// it stays.
pub(super) fn roll_back(state: &mut State, at: Timestamp, rolled_back: &RolledBack) {
    let Some(rollback) = state.rollback.take() else {
        return;
    };
    if let Some(undone) = rollback.undoes {
        state.undo.take_back(undone);
    }
    state.undo.forget_redirects(|_| true);
    baseline::see_target(state, &rolled_back.commit);
    if let Some(target) = &mut state.swarm.target {
        target.commit = rolled_back.commit.clone();
    }
    state.swarm.rewritten = None;
    // Work based on what the target no longer contains must not bring it back.
    state.swarm.rebase = true;
    state.swarm.failures_in_a_row = 0;
    state.swarm.gave_up = None;
    state.swarm.landed_since_checkpoint = 0;
    let ids: Vec<IdeaId> = state.ideas.keys().cloned().collect();
    for id in ids {
        state.ideas.change(&id, |idea| idea.reserved = None);
        match rollback.ideas.get(&id) {
            Some(then) => restore_idea(state, at, &id, then, &rollback.to),
            None => with_idea(state, &id, at, |idea| {
                if idea.status == IdeaStatus::Done {
                    idea.status = IdeaStatus::Pending;
                    idea.forget_landing();
                    audit(idea, at, "rolled_back", rollback.to.as_str());
                }
            }),
        }
    }
}

fn restore_idea(
    state: &mut State,
    at: Timestamp,
    id: &IdeaId,
    then: &IdeaThen,
    to: &CheckpointName,
) {
    let left = state.ideas.change(id, |idea| {
        let now = IdeaThen::of(idea, None);
        let same = idea.kept.is_none() && now == *then && idea.status == then.status;
        if same {
            return None;
        }
        let left = idea.kept.take();
        idea.kept = then.saved.as_ref().map(|saved| Box::new(saved.kept()));
        idea.status = then.status;
        idea.retry_count = then.retry_count;
        idea.failed_attempts = then.failed_attempts;
        idea.commit.clone_from(&then.commit);
        idea.landed_since.clone_from(&then.landed_since);
        idea.last_error.clone_from(&then.last_error);
        idea.assigned = false;
        idea.not_before = None;
        idea.updated_at = at;
        audit(idea, at, "rolled_back", to.as_str());
        left
    });
    // Its work is in the safety checkpoint.
    let left = left.flatten().and_then(|left| unused(*left));
    state.owed.worktrees.extend(left);
}
