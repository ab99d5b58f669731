//! Checkpoints: requested by people, and made automatically after a number of landings and before
//! autopilot starts.
//!
//! Invariant: nothing lands while one is being made, so that the target's commit and the state in
//! it match. A periodic checkpoint that fails is a warning, never a reason to wait. Called by
//! `decide` and `advance`.

use super::decision::Plan;
use crate::domain::effect::{self, Effect};
use crate::domain::event::{CheckpointDeleted, CheckpointMade};
use crate::domain::ids::CheckpointName;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::outcome::{self, Failure};
use crate::domain::rejection::Rejection;
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::State;
use crate::domain::state::checkpoint::{Checkpoint, Reason, saved_work_in_use};
use crate::domain::time::Timestamp;
use crate::domain::warning::WarningKind;

/// Key of the warning about automatic checkpoints.
const WARNING: &str = WarningKind::Checkpoint.only();

/// Advice for work that may have been interrupted together with its daemon.
const GOES_ON: &str =
    "wait until it is finished; if no daemon runs, start one to finish it: swarm start";

pub(super) fn create(
    plan: &mut Plan<'_>,
    name: &CheckpointName,
    tag: bool,
) -> Result<(), Rejection> {
    if plan.state.checkpoints.contains_key(name) {
        return Err(Rejection::CheckpointTaken(name.clone()));
    }
    if is_being_made(plan.state, name) {
        return Err(Rejection::NotNow {
            what: format!("create checkpoint `{name}`"),
            why: "a checkpoint with this name is already being created".into(),
            instead: Some(GOES_ON.into()),
        });
    }
    if plan.state.rollback.is_some() {
        return Err(rolling_back("create a checkpoint"));
    }
    let Some(settings) = plan.state.settings.as_deref() else {
        return Err(no_settings());
    };
    plan.request(effect::MakeCheckpoint {
        tag: tag || settings.checkpoint_tag,
        ..wanted(plan, settings, name.clone(), Reason::Manual)
    });
    Ok(())
}

pub(super) fn delete(plan: &mut Plan<'_>, name: &CheckpointName) -> Result<(), Rejection> {
    let Some(checkpoint) = plan.state.checkpoints.get(name) else {
        return Err(unknown(plan.state, name));
    };
    if plan
        .state
        .rollback
        .as_ref()
        .is_some_and(|rollback| rollback.to == *name || rollback.safety == *name)
    {
        return Err(rolling_back("delete the checkpoint"));
    }
    if !is_being_deleted(plan.state, name) {
        request_deletion(plan, name, checkpoint);
    }
    Ok(())
}

/// Rejection for a checkpoint that does not exist.
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
        what: "do this yet".into(),
        why: "no daemon has read the configuration".into(),
        instead: Some("start a daemon: swarm start".into()),
    }
}

pub(super) fn rolling_back(what: &str) -> Rejection {
    Rejection::NotNow {
        what: what.into(),
        why: "a rollback is in progress".into(),
        instead: Some(GOES_ON.into()),
    }
}

/// Requests a checkpoint.
pub(super) fn request(
    plan: &mut Plan<'_>,
    settings: &Settings,
    name: CheckpointName,
    reason: Reason,
) {
    plan.request(wanted(plan, settings, name, reason));
}

fn wanted(
    plan: &Plan<'_>,
    settings: &Settings,
    name: CheckpointName,
    reason: Reason,
) -> effect::MakeCheckpoint {
    effect::MakeCheckpoint {
        name,
        reason,
        target: settings.target.clone(),
        at: plan.now,
        tag: settings.checkpoint_tag,
    }
}

/// Work that a rollback removed must not be lost with the checkpoint that undoes it.
fn request_deletion(plan: &mut Plan<'_>, name: &CheckpointName, checkpoint: &Checkpoint) {
    let in_use = saved_work_in_use(plan.state);
    let undoes = checkpoint.reason == Reason::BeforeRollback;
    plan.request(effect::DeleteCheckpoint {
        name: name.clone(),
        in_use,
        keep: undoes.then(|| checkpoint.commit.clone()),
    });
}

/// Whether this checkpoint is being made.
pub(super) fn is_being_made(state: &State, this: &CheckpointName) -> bool {
    state.is_pending(|effect| {
        matches!(effect, Effect::MakeCheckpoint(effect::MakeCheckpoint { name, .. })
            if name == this)
    })
}

pub(super) fn is_being_deleted(state: &State, this: &CheckpointName) -> bool {
    state.is_pending(|effect| {
        matches!(effect, Effect::DeleteCheckpoint(effect::DeleteCheckpoint { name, .. })
            if name == this)
    })
}

/// Requests checkpoints that are due, and the deletion of old automatic ones.
pub(super) fn keep(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    // A rollback's checkpoint must not be deleted before the rollback is over, even while draining.
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

/// Whether autopilot must wait for its checkpoint.
fn is_due_before_autopilot(state: &State, settings: &Settings) -> bool {
    settings.checkpoint_before_autopilot
        && !state.swarm.autopilot_checkpoint
        && state.mode() == Mode::Autopilot
        && state.swarm.phase == SwarmPhase::Running
}

/// Whether nothing may start until that checkpoint is made or has failed.
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

/// Deletes all but the newest automatic checkpoints.
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
            request_deletion(plan, name, checkpoint);
        }
    }
}

/// An unused name that contains the time.
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
            .expect("it has fewer than 64 lower-case letters, digits and dashes")
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
    WarningKind::CheckpointDeletion.about(name)
}

pub(super) fn made(
    plan: &mut Plan<'_>,
    effect: &effect::MakeCheckpoint,
    outcome: Result<Box<Checkpoint>, Failure>,
) {
    let name = &effect.name;
    match outcome {
        Ok(mut checkpoint) => {
            checkpoint.number = Some(plan.state.counters.checkpoints + 1);
            plan.clear_warning(WARNING);
            // Already known if the log was torn after it.
            if !plan.state.checkpoints.contains_key(name) {
                plan.emit(CheckpointMade {
                    name: name.clone(),
                    checkpoint,
                });
            }
        }
        Err(Failure { message, .. }) => match effect.reason {
            // The person who requested it is told directly.
            Reason::Manual => {}
            Reason::BeforeRollback => super::rollback::not_saved(plan, name, &message),
            Reason::Periodic | Reason::BeforeAutopilot => {
                plan.warn(
                    WARNING,
                    &format!("checkpoint `{name}` could not be created: {message}"),
                );
            }
        },
    }
}

pub(super) fn deleted(
    plan: &mut Plan<'_>,
    effect: &effect::DeleteCheckpoint,
    outcome: Result<outcome::CheckpointDeleted, Failure>,
) {
    let name = &effect.name;
    match outcome {
        Ok(outcome::CheckpointDeleted) => {
            plan.clear_warning(&deletion_key(name));
            plan.emit(CheckpointDeleted { name: name.clone() });
        }
        Err(failure) => plan.warn(&deletion_key(name), &failure.message),
    }
}
