//! What an attempt's effects came to: the worktree, the iterations, the gate.

use super::ideas::cancelled;
use super::merging;
use super::plan::{End, Plan};
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, Oid, RunId};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase};
use crate::domain::observation::{FailureKind, Outcome, RunEnd, RunEndKind};
use crate::domain::state::{Attempt, AttemptEnd, Ending, Feedback, IdeaStatus, Said, Task};
use crate::domain::time::Timestamp;

/// So many iterations in a row that write nothing, and the agent does not work.
const EMPTY_OUTPUTS: u32 = 3;
/// An iteration shorter than this that changed nothing was over at once.
const AT_ONCE_MS: i64 = 1_000;
/// The first wait after the second such iteration; it doubles.
const AT_ONCE_WAIT_MS: i64 = 250;
const AT_ONCE_WAIT_MAX_MS: i64 = 10_000;
/// The wait after the first crash of an idea; it doubles.
const CRASH_WAIT_MS: i64 = 500;
const CRASH_WAIT_MAX_MS: i64 = 60_000;

pub(super) fn prepared(plan: &mut Plan<'_>, agent: &AgentId, taken_over: bool, outcome: &Outcome) {
    let Some(attempt) = plan.attempt(agent) else {
        return;
    };
    match outcome {
        Outcome::WorktreePrepared { head, base } => {
            plan.emit(Event::WorktreeReady {
                agent: agent.clone(),
                base: base.clone(),
                head: head.clone(),
            });
            if !taken_over {
                first_sight_of_target(plan, base);
            }
            match attempt.ending {
                Some(ending) => end_asked(plan, agent, attempt, ending),
                None => {
                    plan.move_attempt(agent, AttemptInput::Prepared);
                }
            }
        }
        Outcome::Failed {
            kind: FailureKind::NoSpace,
            message,
        } => {
            let end = End::keeping(AttemptEnd::Released, IdeaStatus::Pending, None);
            plan.end(agent, end);
            plan.warn("disk-full", message);
            // Every other idea would meet the same disk.
            if let Err(refused) = super::swarm::pause(plan, Some(message)) {
                plan.warn("disk-full", &format!("{message} ({refused})"));
            }
        }
        Outcome::Failed { message, .. } => fail(plan, agent, message.clone()),
        _ => {}
    }
}

/// The queue compares later sights with this one to notice a force-push.
fn first_sight_of_target(plan: &mut Plan<'_>, base: &Oid) {
    let Some(settings) = &plan.state.settings else {
        return;
    };
    let seen = plan.state.swarm.target.as_ref();
    if seen.is_none_or(|seen| seen.branch != settings.target) {
        plan.emit(Event::TargetSeen {
            branch: settings.target.clone(),
            commit: base.clone(),
        });
    }
}

pub(super) fn run_started(plan: &mut Plan<'_>, run: &RunId, pid: u32) {
    let known = plan
        .state
        .agents
        .values()
        .any(|attempt| attempt.run.as_ref() == Some(run) && attempt.pid != Some(pid));
    if known {
        plan.emit(Event::RunStarted {
            run: run.clone(),
            pid,
        });
    }
}

/// The end that an outcome of a run effect stands for.
pub(super) fn run_end(outcome: &Outcome) -> Option<RunEnd> {
    match outcome {
        Outcome::RunEnded(end) => Some(end.clone()),
        Outcome::Failed { message, .. } => Some(RunEnd {
            how: RunEndKind::NotStarted {
                message: message.clone(),
            },
            stdout_bytes: 0,
            duration_ms: 0,
            head: None,
        }),
        _ => None,
    }
}

pub(super) fn iteration_over(plan: &mut Plan<'_>, agent: &AgentId, run: &RunId, outcome: &Outcome) {
    let Some(end) = run_end(outcome) else {
        return;
    };
    plan.emit(Event::RunEnded {
        run: run.clone(),
        end: end.clone(),
    });
    let Some(attempt) = plan.attempt(agent) else {
        return;
    };
    match attempt.ending {
        Some(ending @ (Ending::Stopped | Ending::Cancelled)) => {
            end_asked(plan, agent, attempt, ending);
        }
        _ if attempt.task != Task::Work => merging::resolver_over(plan, agent, attempt, &end),
        _ => judge(plan, agent, attempt, &end),
    }
}

/// What an iteration came to. A last word counts before the exit code: agents that said COMPLETE may end as they like.
fn judge(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, end: &RunEnd) {
    match (&attempt.said, &end.how) {
        (Some(Said::Complete | Said::Resolved), _) => {
            plan.move_attempt(agent, AttemptInput::SaidComplete);
        }
        (Some(Said::Blocked(why)), _) => {
            let why = format!("blocked: {why}");
            let end = End::keeping(AttemptEnd::Blocked, IdeaStatus::Blocked, Some(why));
            plan.end(agent, end);
        }
        (_, RunEndKind::Stopped) => {
            let end = End::keeping(AttemptEnd::Interrupted, IdeaStatus::Pending, None);
            plan.end(agent, end);
        }
        (_, RunEndKind::NotStarted { message }) => {
            fail(
                plan,
                agent,
                format!("the agent could not be started: {message}"),
            );
        }
        (_, RunEndKind::TimedOut) => {
            time_out(
                plan,
                agent,
                "the attempt took longer than agents.timeoutMinutes allows",
            );
        }
        (_, RunEndKind::OutputLimit) => {
            fail(
                plan,
                agent,
                "the agent wrote more output than agents.maxOutputMiB allows".into(),
            );
        }
        (_, RunEndKind::Lost) => {
            crash(
                plan,
                agent,
                attempt,
                "its runner was killed from outside".into(),
            );
        }
        (_, RunEndKind::Signalled { signal }) => {
            crash(
                plan,
                agent,
                attempt,
                format!("the agent was killed by signal {signal}"),
            );
        }
        (Some(Said::NeedsHuman(_)), RunEndKind::Exited { code: 0 }) => {
            plan.move_attempt(agent, AttemptInput::NeedsHuman);
        }
        (_, RunEndKind::Exited { code: 0 }) => go_on(plan, agent, attempt, end),
        (_, RunEndKind::Exited { code }) => {
            let last = attempt.runs.last().map_or("", RunId::as_str);
            let why = format!(
                "the agent exited with code {code}; its output: swarm agent logs {agent} (run {last})"
            );
            fail(plan, agent, why);
        }
    }
}

/// No last word: another iteration, unless a limit is reached.
fn go_on(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, end: &RunEnd) {
    let moved = end.head.is_some() && end.head != attempt.head;
    let empty = end.stdout_bytes == 0;
    let at_once = end.duration_ms < AT_ONCE_MS && !moved;
    plan.emit(Event::IterationJudged {
        agent: agent.clone(),
        empty,
        at_once,
    });
    if empty && attempt.empty_outputs + 1 >= EMPTY_OUTPUTS {
        let why = format!("the agent wrote nothing {EMPTY_OUTPUTS} times in a row");
        return fail(plan, agent, why);
    }
    warn_when_stuck(plan, agent, attempt, moved);
    let waits = if at_once { attempt.at_once } else { 0 };
    let not_before = (waits > 0).then(|| {
        let wait = AT_ONCE_WAIT_MS << (waits - 1).min(16);
        plan.now.plus_millis(wait.min(AT_ONCE_WAIT_MAX_MS))
    });
    plan.move_attempt_until(agent, AttemptInput::Hold, not_before);
}

fn warn_when_stuck(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, moved: bool) {
    let key = format!("stuck-{agent}");
    let threshold = plan
        .state
        .settings
        .as_ref()
        .map_or(u32::MAX, |settings| settings.stuck_threshold);
    if moved {
        plan.clear_warning(&key);
    } else if attempt.without_commit + 1 >= threshold {
        let idea = &attempt.idea;
        plan.warn(
            &key,
            &format!(
                "{agent} has made no commit on {idea} for {threshold} or more iterations; look: swarm agent logs {agent}"
            ),
        );
    }
}

pub(super) fn gate_over(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    run: &RunId,
    index: usize,
    command: &str,
    outcome: &Outcome,
) {
    let Some(end) = run_end(outcome) else {
        return;
    };
    plan.emit(Event::RunEnded {
        run: run.clone(),
        end: end.clone(),
    });
    let Some(attempt) = plan.attempt(agent) else {
        return;
    };
    if let Some(ending @ (Ending::Stopped | Ending::Cancelled)) = attempt.ending {
        return end_asked(plan, agent, attempt, ending);
    }
    match failure_of(&end.how) {
        None if matches!(end.how, RunEndKind::Exited { .. }) => plan.emit(Event::GatePassed {
            agent: agent.clone(),
            index,
        }),
        // Stopped or lost: not judged; it runs again when the swarm goes on.
        None => {}
        Some(how) => {
            let feedback = Feedback {
                command: command.to_owned(),
                how,
                run: Some(run.clone()),
                merged: false,
            };
            gate_failed(plan, agent, feedback);
        }
    }
}

fn gate_failed(plan: &mut Plan<'_>, agent: &AgentId, feedback: Feedback) {
    plan.emit(Event::GateFailed {
        agent: agent.clone(),
        feedback,
    });
    plan.move_attempt(agent, AttemptInput::Hold);
}

/// How a quality command failed, in words; none: it passed, or was not allowed to end.
pub(super) fn failure_of(how: &RunEndKind) -> Option<String> {
    match how {
        RunEndKind::Exited { code: 0 } | RunEndKind::Stopped | RunEndKind::Lost => None,
        RunEndKind::Exited { code } => Some(format!("exit code {code}")),
        RunEndKind::Signalled { signal } => Some(format!("killed by signal {signal}")),
        RunEndKind::TimedOut => Some("took longer than qualityTimeoutMinutes allows".into()),
        RunEndKind::OutputLimit => Some("wrote more output than agents.maxOutputMiB allows".into()),
        RunEndKind::NotStarted { message } => Some(format!("could not be started: {message}")),
    }
}

pub(super) fn sealed(plan: &mut Plan<'_>, agent: &AgentId, outcome: &Outcome) {
    let Some(attempt) = plan.attempt(agent) else {
        return;
    };
    if let Outcome::Sealed { head, committed } = outcome {
        plan.emit(Event::AttemptSealed {
            agent: agent.clone(),
            head: head.clone(),
            committed: *committed,
        });
    }
    if let Some(ending @ (Ending::Stopped | Ending::Cancelled)) = attempt.ending {
        return end_asked(plan, agent, attempt, ending);
    }
    match outcome {
        Outcome::Unsealable { message } => {
            let feedback = Feedback {
                command: "committing what was left in the worktree".into(),
                how: message.clone(),
                run: None,
                merged: false,
            };
            gate_failed(plan, agent, feedback);
        }
        Outcome::Failed { message, .. } => fail(plan, agent, message.clone()),
        _ => {}
    }
}

/// Ends an attempt as somebody asked.
pub(super) fn end_asked(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, ending: Ending) {
    let end = match ending {
        Ending::Stopped => End::keeping(AttemptEnd::Stopped, IdeaStatus::Pending, None),
        Ending::Interrupted => End::keeping(AttemptEnd::Interrupted, IdeaStatus::Pending, None),
        Ending::Cancelled => cancelled(),
    };
    debug_assert!(attempt.phase != AttemptPhase::Merged);
    plan.end(agent, end);
}

pub(super) fn fail(plan: &mut Plan<'_>, agent: &AgentId, why: String) {
    plan.end(
        agent,
        End::keeping(AttemptEnd::Failed, IdeaStatus::Failed, Some(why)),
    );
}

pub(super) fn time_out(plan: &mut Plan<'_>, agent: &AgentId, why: &str) {
    let why = Some(why.to_owned());
    plan.end(
        agent,
        End::keeping(AttemptEnd::TimedOut, IdeaStatus::Timeout, why),
    );
}

/// The agent's process died: the idea is tried again, later each time, and so often only.
fn crash(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, why: String) {
    let crashes = plan
        .state
        .ideas
        .get(&attempt.idea)
        .map_or(0, |idea| idea.retry_count);
    let allowed = plan
        .state
        .settings
        .as_ref()
        .map_or(0, |settings| settings.crash_retries);
    if crashes >= allowed {
        let why = format!(
            "{why}; that was crash {} of this idea, and agents.crashRetries is {allowed}",
            crashes + 1
        );
        let end = End::keeping(AttemptEnd::Crashed, IdeaStatus::Failed, Some(why));
        return plan.end(agent, end);
    }
    plan.end(
        agent,
        End {
            end: AttemptEnd::Crashed,
            status: IdeaStatus::Pending,
            message: Some(why),
            not_before: Some(crash_wait(plan.now, crashes)),
            keep_worktree: true,
        },
    );
}

fn crash_wait(now: Timestamp, crashes: u32) -> Timestamp {
    let wait = CRASH_WAIT_MS << crashes.min(16);
    now.plus_millis(wait.min(CRASH_WAIT_MAX_MS))
}
