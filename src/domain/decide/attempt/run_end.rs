//! Interprets the end of a run: whether it was asked to stop, whether it completed, how a command
//! failed.
//!
//! Invariant: the recorded end is complete: the run's own usage is in the same event. Called by
//! `outcomes` and the merge queue.

use super::{bill, conversation, provider};
use crate::domain::decide::budget::unpriced;
use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::event::RunEnded;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::Failure;
use crate::domain::state::State;
use crate::domain::usage::Counted;
use crate::domain::verdict::{Cause, Verdict};

/// Whether a run was asked to stop, so that its end says nothing about it. At system shutdown every
/// process gets the signal at once, not only through the daemon.
pub(crate) fn is_stopped(state: &State, run: &RunId, how: &RunEndKind) -> bool {
    let by_signal = match how {
        RunEndKind::Signalled { .. } | RunEndKind::Lost => true,
        // Exit codes of a shell that got, or whose child got, HUP, INT, KILL or TERM.
        RunEndKind::Exited { code } => [129, 130, 137, 143].contains(code),
        RunEndKind::TimedOut
        | RunEndKind::Idle
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::OutputLimit
        | RunEndKind::NotStarted { .. } => false,
    };
    state.stops.contains_key(run) || (by_signal && state.swarm.phase == SwarmPhase::Draining)
}

/// Run end in an outcome; a run that failed to start ends too.
fn run_end(outcome: &Result<RunEnd, Failure>) -> RunEnd {
    let mut end = match outcome {
        Ok(end) => end.clone(),
        Err(failure) => RunEnd::new(RunEndKind::NotStarted {
            message: failure.message.clone(),
        }),
    };
    if let RunEndKind::NotStarted { message } = &mut end.how {
        *message = shorten(message);
    }
    end
}

/// Records the end of a run. A run that was stopped without being asked counts as lost, like one
/// whose runner was killed: otherwise work that kills its own runner would restart for ever without
/// being counted.
pub(crate) fn run_ended(
    plan: &mut Plan<'_>,
    run: &RunId,
    outcome: &Result<RunEnd, Failure>,
) -> RunEnd {
    ended_as(plan, run, run_end(outcome))
}

fn ended_as(plan: &mut Plan<'_>, run: &RunId, mut end: RunEnd) -> RunEnd {
    let state = plan.state;
    let asked = state.stops.contains_key(run) || state.swarm.phase == SwarmPhase::Draining;
    if end.how == RunEndKind::Stopped && !asked {
        end.how = RunEndKind::Lost;
    }
    plan.emit(RunEnded {
        run: run.clone(),
        end: end.clone(),
    });
    end
}

/// [`run_ended`] for an iteration, with its conversation and usage.
pub(crate) fn iteration_ended(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    run: &RunId,
    outcome: &Result<RunEnd, Failure>,
) -> RunEnd {
    if let Ok(end) = outcome {
        if let Some(session) = &end.session {
            conversation::seen(plan, run, session);
        }
        // The answer may have gone unnoticed. This comes before the end, after which the trying run
        // is unknown.
        if counts(end) && is_complete(end) {
            provider::answered(plan, run);
        }
    }
    let end = bill::billed(plan.state, agent, run_end(outcome));
    frees_profile(plan, run, &end);
    let end = ended_as(plan, run, end);
    unpriced::ended(plan, agent, &end);
    end
}

/// A program that has ended in any other way than at its launch has begun. This, too, comes before
/// the end.
fn frees_profile(plan: &mut Plan<'_>, run: &RunId, end: &RunEnd) {
    let ended = match end.how {
        RunEndKind::Exited { .. }
        | RunEndKind::TimedOut
        | RunEndKind::Idle
        | RunEndKind::OutputLimit => true,
        RunEndKind::Signalled { .. }
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::NotStarted { .. }
        | RunEndKind::Lost => false,
    };
    let refused = matches!(
        end.verdict,
        Some(Verdict::Failed {
            cause: Cause::Profile,
            ..
        })
    );
    if ended && !refused && !end.never_began(end.head.as_ref()) {
        provider::began(plan, run);
    }
}

/// [`run_ended`] for an agent's run that belongs to no attempt, with its usage: each is a
/// conversation of its own.
pub(crate) fn lone_run_ended(
    plan: &mut Plan<'_>,
    run: &RunId,
    outcome: &Result<RunEnd, Failure>,
) -> RunEnd {
    let mut end = run_end(outcome);
    // Before the end, after which the trying run is unknown.
    if counts(&end) && is_complete(&end) {
        provider::answered(plan, run);
    }
    frees_profile(plan, run, &end);
    if let (Some(usage), Some(settings)) = (&end.usage, plan.state.settings.as_deref()) {
        end.bill = Some(usage.bill(Counted::default(), &settings.prices));
    }
    ended_as(plan, run, end)
}

pub(crate) fn is_asked_to_end(state: &State, run: &RunId, how: &RunEndKind) -> bool {
    is_stopped(state, run, how)
        || is_cut_short(state, how)
        || matches!(how, RunEndKind::Stopped | RunEndKind::LeaseExpired)
}

/// Whether an agent's last signal counts. If the agent exited by itself, only if its program
/// completed too.
pub(crate) fn counts(end: &RunEnd) -> bool {
    let through = matches!(end.verdict, None | Some(Verdict::Complete));
    through || !matches!(end.how, RunEndKind::Exited { .. })
}

/// Whether it exited by itself and successfully. A program that reports a verdict also knows its
/// exit codes.
pub(crate) fn is_complete(end: &RunEnd) -> bool {
    let well = |code| code == 0 || end.verdict == Some(Verdict::Complete);
    end.how.exit_code().is_some_and(well)
}

/// Agents react to a signal in many ways; one that fails during shutdown restarts without penalty.
fn is_cut_short(state: &State, how: &RunEndKind) -> bool {
    state.swarm.phase == SwarmPhase::Draining && matches!(how, RunEndKind::Exited { .. })
}

/// How a quality command failed; `None` if it passed or was stopped.
pub(crate) fn failure_of(how: &RunEndKind) -> Option<String> {
    match how {
        RunEndKind::Exited { code: 0 }
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::Lost => None,
        RunEndKind::Exited { code } => Some(format!("exit code {code}")),
        RunEndKind::Signalled { signal } => Some(format!("killed by signal {signal}")),
        RunEndKind::TimedOut => Some("took longer than qualityTimeoutMinutes allows".into()),
        RunEndKind::Idle => Some("wrote nothing for too long".into()),
        RunEndKind::OutputLimit => Some("wrote more output than agents.maxOutputMiB allows".into()),
        RunEndKind::NotStarted { message } => Some(format!("could not be started: {message}")),
    }
}

/// How the runner of a command was killed, if it was killed more often in a row than
/// `agents.crashRetries` allows; `before` counts the kills before this end. A command may take the
/// machine down with it, so kills that look like a power cut are limited, too.
pub(crate) fn killed_too_often(state: &State, how: &RunEndKind, before: u32) -> Option<String> {
    let allowed = state
        .settings
        .as_ref()
        .map_or(0, |settings| settings.crash_retries);
    if *how != RunEndKind::Lost || before < allowed {
        return None;
    }
    Some(match before + 1 {
        1 => "was killed".to_owned(),
        times => format!("was killed {times} times in a row"),
    })
}
