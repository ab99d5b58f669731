//! How a run ended, and what that says: whether it was asked to, whether it came through, how a
//! command failed.
//!
//! Invariant: what is written down of an end is complete: what the run used by itself is in the
//! same event.

use super::provider;
use crate::domain::decide::budget::unpriced;
use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::event::RunEnded;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::{Outcome, RunEnd, RunEndKind};
use crate::domain::state::State;
use crate::domain::verdict::Verdict;

/// Whether a run was asked to end: then how it ended says nothing about it. Where the machine goes
/// down, the daemon is not the only one who asks: everything gets the signal at the same time.
pub(crate) fn is_stopped(state: &State, run: &RunId, how: &RunEndKind) -> bool {
    let by_signal = match how {
        RunEndKind::Signalled { .. } | RunEndKind::Lost => true,
        // A shell that was, or whose child was: HUP, INT, KILL, TERM.
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

/// The end that an outcome of a run effect stands for.
fn run_end(outcome: &Outcome) -> Option<RunEnd> {
    match outcome {
        Outcome::RunEnded(end) => {
            let mut end = end.clone();
            if let RunEndKind::NotStarted { message } = &mut end.how {
                *message = shorten(message);
            }
            Some(end)
        }
        Outcome::Failed { message, .. } => Some(RunEnd::new(RunEndKind::NotStarted {
            message: shorten(message),
        })),
        _ => None,
    }
}

/// Writes down that a run is over, and how. One that was ended, and that nobody had asked to end,
/// has lost its runner like one whose runner was killed: else what ends its runner itself would be
/// begun again and again, and never counted.
pub(crate) fn run_ended(plan: &mut Plan<'_>, run: &RunId, outcome: &Outcome) -> Option<RunEnd> {
    ended_as(plan, run, outcome, |end| end)
}

fn ended_as(
    plan: &mut Plan<'_>,
    run: &RunId,
    outcome: &Outcome,
    completed: impl Fn(RunEnd) -> RunEnd,
) -> Option<RunEnd> {
    let mut end = completed(run_end(outcome)?);
    let state = plan.state;
    let asked = state.stops.contains_key(run) || state.swarm.phase == SwarmPhase::Draining;
    if end.how == RunEndKind::Stopped && !asked {
        end.how = RunEndKind::Lost;
    }
    plan.emit(RunEnded {
        run: run.clone(),
        end: end.clone(),
    });
    Some(end)
}

/// The same of an iteration, with its conversation and with what it used.
pub(crate) fn iteration_ended(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    run: &RunId,
    outcome: &Outcome,
) -> Option<RunEnd> {
    let state = plan.state;
    if let Outcome::RunEnded(end) = outcome {
        if let Some(session) = &end.session {
            provider::session_seen(plan, run, session);
        }
        // Nobody may have heard the answer itself. Before the end, with which it is no longer known
        // who tried.
        if counts(end) && is_complete(end) {
            provider::answered(plan, run);
        }
    }
    let end = ended_as(plan, run, outcome, |end| {
        provider::billed(state, agent, end)
    })?;
    unpriced::ended(plan, agent, &end);
    Some(end)
}

pub(crate) fn is_asked_to_end(state: &State, run: &RunId, how: &RunEndKind) -> bool {
    is_stopped(state, run, how)
        || is_cut_short(state, how)
        || matches!(how, RunEndKind::Stopped | RunEndKind::LeaseExpired)
}

/// Whether what an agent said last counts. Of one that ended by itself, only where its program was
/// through, too.
pub(crate) fn counts(end: &RunEnd) -> bool {
    let through = matches!(end.verdict, None | Some(Verdict::Complete));
    through || !matches!(end.how, RunEndKind::Exited { .. })
}

/// Whether it ended by itself and well. A program that has words for that also knows which exit
/// codes belong to them.
pub(crate) fn is_complete(end: &RunEnd) -> bool {
    let well = |code| code == 0 || end.verdict == Some(Verdict::Complete);
    end.how.exit_code().is_some_and(well)
}

/// Agents answer a signal in many ways; one that fails while the daemon ends begins again without a
/// penalty.
fn is_cut_short(state: &State, how: &RunEndKind) -> bool {
    state.swarm.phase == SwarmPhase::Draining && matches!(how, RunEndKind::Exited { .. })
}

/// How a quality command failed, in words; none: it passed, or was not allowed to end.
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
