//! Checkpoints: asked for by people, and by themselves every so many landings and before autopilot
//! begins.
//!
//! Invariant: while one is being made nothing lands, so that the target's commit and the state in
//! it belong together. A periodic one that cannot be made is a warning, never a reason to wait.

use super::decision::Plan;
use crate::domain::effect::{self, Effect};
use crate::domain::event::{CheckpointDeleted, CheckpointMade};
use crate::domain::ids::{CheckpointName, Oid};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Outcome;
use crate::domain::rejection::Rejection;
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::State;
use crate::domain::state::checkpoint::{Checkpoint, Reason, saved_work_in_use};
use crate::domain::time::Timestamp;

/// The warning about automatic checkpoints.
const WARNING: &str = "checkpoint";

/// Of what may have been cut off with its daemon.
const GOES_ON: &str = "wait for its end; if no daemon runs, one goes on with it: swarm start";

pub(super) fn create(plan: &mut Plan<'_>, name: &CheckpointName) -> Result<(), Rejection> {
    if plan.state.checkpoints.contains_key(name) {
        return Err(Rejection::CheckpointTaken(name.clone()));
    }
    if is_being_made(plan.state, name) {
        return Err(Rejection::NotNow {
            what: format!("a checkpoint `{name}`"),
            why: "one of that name is being made".into(),
            instead: Some(GOES_ON.into()),
        });
    }
    if plan.state.rollback.is_some() {
        return Err(rolling_back("a checkpoint"));
    }
    let Some(settings) = plan.state.settings.as_deref() else {
        return Err(no_settings());
    };
    request(plan, settings, name.clone(), Reason::Manual);
    Ok(())
}

pub(super) fn delete(plan: &mut Plan<'_>, name: &CheckpointName) -> Result<(), Rejection> {
    if !plan.state.checkpoints.contains_key(name) {
        return Err(unknown(plan.state, name));
    }
    if plan
        .state
        .rollback
        .as_ref()
        .is_some_and(|rollback| rollback.to == *name || rollback.safety == *name)
    {
        return Err(rolling_back("deleting that checkpoint"));
    }
    if !is_being_deleted(plan.state, name) {
        request_deletion(plan, name, None);
    }
    Ok(())
}

/// The refusal of a checkpoint that is not there.
pub fn unknown(state: &State, name: &CheckpointName) -> Rejection {
    let newest = state
        .checkpoints
        .iter()
        .max_by_key(|(_, checkpoint)| checkpoint.seq);
    Rejection::CheckpointUnknown {
        name: name.clone(),
        newest: newest.map(|(name, _)| name.clone()),
    }
}

pub(super) fn no_settings() -> Rejection {
    Rejection::NotNow {
        what: "that".into(),
        why: "no daemon has read the configuration yet".into(),
        instead: Some("start one: swarm start".into()),
    }
}

pub(super) fn rolling_back(what: &str) -> Rejection {
    Rejection::NotNow {
        what: what.into(),
        why: "a rollback is under way".into(),
        instead: Some(GOES_ON.into()),
    }
}

/// Requests one.
pub(super) fn request(
    plan: &mut Plan<'_>,
    settings: &Settings,
    name: CheckpointName,
    reason: Reason,
) {
    plan.request(effect::MakeCheckpoint {
        name,
        reason,
        target: settings.target.clone(),
        at: plan.now,
    });
}

fn request_deletion(plan: &mut Plan<'_>, name: &CheckpointName, keep: Option<&Oid>) {
    let in_use = saved_work_in_use(plan.state);
    plan.request(effect::DeleteCheckpoint {
        name: name.clone(),
        in_use,
        keep: keep.cloned(),
    });
}

/// Whether that very checkpoint is being made.
pub(super) fn is_being_made(state: &State, this: &CheckpointName) -> bool {
    state.is_pending(|effect| matches!(effect, Effect::MakeCheckpoint(effect::MakeCheckpoint { name, .. }) if name == this))
}

pub(super) fn is_being_deleted(state: &State, this: &CheckpointName) -> bool {
    state.is_pending(
        |effect| matches!(effect, Effect::DeleteCheckpoint(effect::DeleteCheckpoint { name, .. }) if name == this),
    )
}

/// Checkpoints that are due by themselves, and old ones that may go.
pub(super) fn keep(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    // What a rollback goes back to must not go before it is over, also while the daemon ends.
    if state.rollback.is_some() || state.is_pending(Effect::holds_queue) {
        return;
    }
    if is_due_before_autopilot(state, settings) {
        let name = named(state, "before-autopilot", plan.now);
        return request(plan, settings, name, Reason::BeforeAutopilot);
    }
    let every = settings.checkpoint_every;
    if every > 0 && state.swarm.landed_since_checkpoint >= every {
        let last = state.swarm.last_landed.as_ref();
        let stem = last.map_or_else(|| "periodic".to_owned(), |idea| format!("after-{idea}"));
        let name = named(state, &stem, plan.now);
        return request(plan, settings, name, Reason::Periodic);
    }
    retire(plan, settings);
}

/// Whether autopilot has to wait for its checkpoint.
fn is_due_before_autopilot(state: &State, settings: &Settings) -> bool {
    settings.checkpoint_before_autopilot
        && !state.swarm.autopilot_checkpoint
        && state.mode() == Mode::Autopilot
        && state.swarm.phase == SwarmPhase::Running
        && state.swarm.rewritten.is_none()
}

/// Whether nothing may be begun before that one is made, or has failed.
pub(super) fn holds_autopilot(state: &State, settings: &Settings) -> bool {
    let being_made = |effect: &Effect| {
        matches!(
            effect,
            Effect::MakeCheckpoint(effect::MakeCheckpoint {
                reason: Reason::BeforeAutopilot,
                ..
            })
        )
    };
    is_due_before_autopilot(state, settings) || state.is_pending(being_made)
}

/// Of those that nobody asked for, the newest stay. What a rollback took away must not go with the
/// one that undoes it.
fn retire(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let automatic =
        |(_, checkpoint): &(&CheckpointName, &Checkpoint)| checkpoint.reason != Reason::Manual;
    let mut old: Vec<_> = state.checkpoints.iter().filter(automatic).collect();
    let keep = settings.checkpoints_kept as usize;
    if old.len() <= keep {
        return;
    }
    old.sort_by_key(|(_, checkpoint)| checkpoint.seq);
    let over = old.len() - keep;
    for (name, checkpoint) in old.into_iter().take(over) {
        if !is_being_deleted(state, name) && !state.warnings.contains_key(&deletion_key(name)) {
            let undoes = checkpoint.reason == Reason::BeforeRollback;
            request_deletion(plan, name, undoes.then_some(&checkpoint.commit));
        }
    }
}

/// A name with the time in it, never taken.
pub(super) fn named(state: &State, stem: &str, now: Timestamp) -> CheckpointName {
    let time: String = now
        .to_string()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let stem: String = stem.chars().take(40).collect();
    let name = |text: String| {
        text.parse::<CheckpointName>()
            .expect("made of lower-case letters, digits and dashes, shorter than 64")
    };
    let mut found = name(format!("{stem}-{time}"));
    let mut number = 2;
    while state.checkpoints.contains_key(&found) || is_being_made(state, &found) {
        found = name(format!("{stem}-{time}-{number}"));
        number += 1;
    }
    found
}

fn deletion_key(name: &CheckpointName) -> String {
    format!("delete-{name}")
}

pub(super) fn made(plan: &mut Plan<'_>, name: &CheckpointName, reason: Reason, outcome: &Outcome) {
    match outcome {
        Outcome::CheckpointMade(checkpoint) => {
            plan.clear_warning(WARNING);
            // Known already where the log was torn behind it.
            if !plan.state.checkpoints.contains_key(name) {
                plan.emit(CheckpointMade {
                    name: name.clone(),
                    checkpoint: checkpoint.clone(),
                });
            }
        }
        Outcome::Failed { message, .. } => match reason {
            // Whoever asked for it is told.
            Reason::Manual => {}
            Reason::BeforeRollback => super::rollback::not_saved(plan, name, message),
            Reason::Periodic | Reason::BeforeAutopilot => {
                plan.warn(
                    WARNING,
                    &format!("the checkpoint `{name}` could not be made: {message}"),
                );
            }
        },
        _ => {}
    }
}

pub(super) fn deleted(plan: &mut Plan<'_>, name: &CheckpointName, outcome: &Outcome) {
    if let Outcome::Failed { message, .. } = outcome {
        plan.warn(&deletion_key(name), message);
    } else {
        plan.clear_warning(&deletion_key(name));
        plan.emit(CheckpointDeleted { name: name.clone() });
    }
}
