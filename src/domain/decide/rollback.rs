//! A rollback, step by step: check -> stop the agents -> safety checkpoint -> the target -> the
//! ideas.
//!
//! Invariant: each step follows from the state alone, so a killed daemon's successor continues.
//! Until the target moves, the rollback can be abandoned, with only agents stopped; afterwards
//! nothing can prevent it, since all it needs is in the log. Called by `advance`.

use std::collections::BTreeMap;

use super::attempt::outcomes::{ask_end, end_asked};
use super::checkpoints::{self, named, rolling_back};
use super::decision::{Plan, few, shorten};
use super::undo;
use crate::domain::effect::{self, Effect};
use crate::domain::event::{
    PauseLifted, PauseSet, RollbackAbandoned, RollbackBegun, RollbackPlanned, RollbackStepped,
    RolledBack, TargetSeen,
};
use crate::domain::ids::{AgentId, CheckpointName, Oid};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase, SwarmInput, SwarmPhase};
use crate::domain::outcome::{CheckRollbackOutcome, CheckoutBlocked, Failure, MoveTargetOutcome};
use crate::domain::rejection::Rejection;
use crate::domain::settings::Settings;
use crate::domain::state::checkpoint::{Reason, Rollback, RollbackStep};
use crate::domain::state::undo::Action;
use crate::domain::state::{Attempt, Ending};
use crate::domain::warning::WarningKind;

/// Most lines of a reason that are kept.
const LINES: usize = 5;

pub(super) fn begin(
    plan: &mut Plan<'_>,
    name: &CheckpointName,
    pause: bool,
    from: Option<&Oid>,
    undoes: Option<u64>,
) -> Result<(), Rejection> {
    let state = plan.state;
    if state.rollback.is_some() {
        return Err(rolling_back("start another rollback"));
    }
    if state.settings.is_none() {
        return Err(checkpoints::no_settings());
    }
    let Some(checkpoint) = state.checkpoints.get(name) else {
        return Err(checkpoints::unknown(state, name));
    };
    if checkpoints::is_being_deleted(state, name) {
        return Err(Rejection::NotNow {
            what: format!("roll back to {name}"),
            why: "the checkpoint is being deleted".into(),
            instead: Some("list the others: swarm checkpoint list".into()),
        });
    }
    let rollback = Rollback {
        to: name.clone(),
        commit: checkpoint.commit.clone(),
        safety: named(state, "before-rollback", plan.now),
        pause,
        resume: !pause,
        from: from.cloned(),
        undoes,
        step: RollbackStep::Checking,
        at: plan.now,
        ideas: BTreeMap::new(),
    };
    // First the event that announces the rollback: a daemon that finds only this one continues it.
    plan.next_phase(SwarmInput::RollBack)?;
    plan.emit(RollbackBegun {
        rollback: Box::new(rollback),
    });
    let reason = format!("rolling back to {name}");
    plan.move_swarm(SwarmInput::RollBack, Some(&reason), None)
}

/// Takes the next step, if possible.
pub(super) fn go_on(plan: &mut Plan<'_>, settings: &Settings) {
    let Some(rollback) = plan.state.rollback.as_deref() else {
        // The end was journaled, but the log was torn before the phase change that follows.
        return leave(plan);
    };
    match rollback.step {
        RollbackStep::Checking => check(plan, rollback, settings),
        RollbackStep::Stopping => stop(plan),
        RollbackStep::Saving => save(plan, rollback, settings),
        RollbackStep::Moving => move_target(plan, rollback, settings),
        RollbackStep::Restoring => restore(plan, rollback),
    }
}

fn step_to(plan: &mut Plan<'_>, step: RollbackStep) {
    plan.emit(RollbackStepped { step });
}

fn check(plan: &mut Plan<'_>, rollback: &Rollback, settings: &Settings) {
    let Some(checkpoint) = plan.state.checkpoints.get(&rollback.to) else {
        return abandon(plan, "the checkpoint no longer exists", &[]);
    };
    // A landing moves the checkouts before the branch: in between they look changed by a person.
    let waits = |effect: &Effect| matches!(effect, Effect::CheckRollback(_) | Effect::Land(_));
    if plan.state.is_pending(waits) {
        return;
    }
    plan.request(effect::CheckRollback {
        name: rollback.to.clone(),
        commit: rollback.commit.clone(),
        tag: checkpoint.tag.clone(),
        sha256: checkpoint.sha256.clone(),
        target: settings.target.clone(),
        from: rollback.from.clone(),
    });
}

/// Handles the result of the check.
pub(super) fn checked(
    plan: &mut Plan<'_>,
    _: &effect::CheckRollback,
    outcome: Result<CheckRollbackOutcome, Failure>,
) {
    let Some(rollback) = plan.state.rollback.as_deref() else {
        return;
    };
    if rollback.step != RollbackStep::Checking {
        return;
    }
    match outcome {
        Ok(CheckRollbackOutcome::Ready(ideas)) => {
            for (id, idea) in ideas {
                if rollback.ideas.get(&id) != Some(&idea) {
                    let idea = Box::new(idea);
                    plan.emit(RollbackPlanned { id, idea });
                }
            }
            step_to(plan, RollbackStep::Stopping);
        }
        Ok(CheckRollbackOutcome::CheckoutBlocked(CheckoutBlocked { reason, files, .. })) => {
            abandon(plan, &reason, &files);
        }
        Err(failure) => abandon(plan, &failure.message, &[]),
    }
}

/// Stops all runs; git operations in progress finish by themselves.
fn stop(plan: &mut Plan<'_>) {
    let state = plan.state;
    for effect in state.outbox.values() {
        if let Effect::Run(effect::Run { run, .. }) = effect {
            plan.stop_run(run, false);
        }
    }
    for (agent, attempt) in &state.agents {
        if !state.is_under_way(agent, &attempt.idea) {
            end_one(plan, agent, attempt);
        } else if attempt.ending.is_none() {
            // Logged, so that no attempt is blamed even if the daemon exits now.
            ask_end(plan, agent, attempt, Ending::Interrupted);
        } else if attempt.phase.is_live() && attempt.phase != AttemptPhase::Stopping {
            plan.move_attempt(agent, AttemptInput::Stop);
        }
    }
    if state.agents.is_empty() && state.outbox.is_empty() && state.owed.is_empty() {
        step_to(plan, RollbackStep::Saving);
    }
}

/// Ends an attempt without blame; an end that a person requested earlier takes precedence.
fn end_one(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt) {
    end_asked(plan, agent, attempt.ending.unwrap_or(Ending::Interrupted));
}

fn save(plan: &mut Plan<'_>, rollback: &Rollback, settings: &Settings) {
    if plan.state.checkpoints.contains_key(&rollback.safety) {
        step_to(plan, RollbackStep::Moving);
    } else if !checkpoints::is_being_made(plan.state, &rollback.safety) {
        checkpoints::request(
            plan,
            settings,
            rollback.safety.clone(),
            Reason::BeforeRollback,
        );
    }
}

/// Abandons the rollback if the safety checkpoint failed. One in the log exists, whatever a
/// repeated effect reports.
pub(super) fn not_saved(plan: &mut Plan<'_>, safety: &CheckpointName, why: &str) {
    if !plan.state.checkpoints.contains_key(safety) {
        abandon(plan, why, &[]);
    }
}

fn move_target(plan: &mut Plan<'_>, rollback: &Rollback, settings: &Settings) {
    let Some(safety) = plan.state.checkpoints.get(&rollback.safety) else {
        return abandon(plan, "its safety checkpoint no longer exists", &[]);
    };
    if plan
        .state
        .is_pending(|effect| matches!(effect, Effect::MoveTarget(_)))
    {
        return;
    }
    plan.request(effect::MoveTarget {
        target: settings.target.clone(),
        expected: safety.commit.clone(),
        commit: rollback.commit.clone(),
        at: rollback.at,
    });
}

/// Handles the result of moving the target.
pub(super) fn moved(
    plan: &mut Plan<'_>,
    effect: &effect::MoveTarget,
    outcome: Result<MoveTargetOutcome, Failure>,
) {
    let Some(rollback) = plan.state.rollback.as_deref() else {
        return;
    };
    if rollback.step != RollbackStep::Moving {
        return;
    }
    match outcome {
        Ok(MoveTargetOutcome::Moved) => {
            plan.clear_warning(WarningKind::Submodules.only());
            target_is_back(plan, effect, rollback);
        }
        Ok(MoveTargetOutcome::MovedBehind { submodules }) => {
            plan.warn(WarningKind::Submodules.only(), &submodules);
            target_is_back(plan, effect, rollback);
        }
        Ok(MoveTargetOutcome::TargetMoved { found }) => {
            let why = format!(
                "somebody else has moved the target to {found}; check that commit, then roll back \
                again"
            );
            abandon(plan, &why, &[]);
        }
        Ok(MoveTargetOutcome::CheckoutBlocked(CheckoutBlocked { reason, files, .. })) => {
            abandon(plan, &reason, &files);
        }
        Err(failure) => abandon(plan, &failure.message, &[]),
    }
}

fn target_is_back(plan: &mut Plan<'_>, effect: &effect::MoveTarget, rollback: &Rollback) {
    plan.emit(TargetSeen {
        branch: effect.target.clone(),
        commit: rollback.commit.clone(),
    });
    step_to(plan, RollbackStep::Restoring);
}

fn restore(plan: &mut Plan<'_>, rollback: &Rollback) {
    if rollback.pause {
        plan.emit(PauseSet {
            reason: format!(
                "rolled back to {}; to go on from there: swarm resume",
                rollback.to
            ),
            command: None,
        });
    } else if rollback.resume && plan.state.swarm.paused {
        plan.emit(PauseLifted {});
    }
    plan.emit(RolledBack {
        to: rollback.to.clone(),
        commit: rollback.commit.clone(),
        safety: rollback.safety.clone(),
    });
    if rollback.undoes.is_none() {
        let (to, safety) = (rollback.to.clone(), rollback.safety.clone());
        undo::record(plan, Action::Rollback { to, safety });
    }
}

/// Abandons the rollback: nothing is rolled back, and stopped work continues by itself.
pub(super) fn abandon(plan: &mut Plan<'_>, why: &str, files: &[String]) {
    let Some(rollback) = plan.state.rollback.as_deref() else {
        return;
    };
    plan.emit(RollbackAbandoned {
        to: rollback.to.clone(),
        why: shorten(&first_lines(why)),
        files: few(files),
    });
}

/// Limits git's output, which may have a line for each of thousands of files.
fn first_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match lines.len().checked_sub(LINES) {
        None | Some(0) => text.to_owned(),
        Some(more) => format!("{}\nand {more} more lines", lines[..LINES].join("\n")),
    }
}

/// Returns to work, or to the pause in force, once the worktrees of ended attempts are released.
/// Does not wait for agents that were not stopped.
fn leave(plan: &mut Plan<'_>) {
    let state = plan.state;
    let given_back = |effect: &Effect| matches!(effect, Effect::ReleaseWorktree(_));
    let tidy = state.owed.is_empty() && !state.is_pending(given_back);
    if tidy && state.swarm.phase == SwarmPhase::RollingBack {
        let paused = plan.state.swarm.paused;
        let reason = plan.state.swarm.pause_reason.as_deref();
        let moved = plan.move_swarm(SwarmInput::RolledBack { paused }, reason, None);
        debug_assert!(moved.is_ok());
    }
}
