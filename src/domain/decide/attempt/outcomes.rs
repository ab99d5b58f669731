//! Decides on the outcomes of an attempt's effects: the worktree, the iterations, the seal. Those
//! of its checks are in [`gate`](super::gate).
//!
//! Invariant: an outcome counts only in the phase that requested it, and not for an attempt that is
//! ending: that one ends as soon as nothing is in progress.

use super::commit_hooks;
use super::gate::gate_failed;
use super::iterations::{has_another, out_of_time};
use super::provider::{self, Judged};
use super::provider_wait;
use super::run_end::{counts, is_asked_to_end, is_complete, iteration_ended};
use super::stuck;
use crate::domain::decide::decision::{End, Plan, shorten};
use crate::domain::decide::environment_faults::{self, nobodys_fault, release, release_or_fail};
use crate::domain::decide::ideas::cancelled;
use crate::domain::decide::merge::conflict;
use crate::domain::decide::setup;
use crate::domain::effect;
use crate::domain::event::{
    AttemptSealed, EndingAsked, GateFailed, IterationJudged, RunStarted, TargetSeen, WorktreeReady,
};
use crate::domain::ids::{AgentId, Oid, RunId};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::{Failure, FailureKind, SealOutcome, WorktreePrepared};
use crate::domain::state::{Attempt, AttemptEnd, Ending, Feedback, IdeaStatus, Said, Task};
use crate::domain::time::Timestamp;

/// Iterations in a row without output that make an attempt fail.
const EMPTY_OUTPUTS: u32 = 3;
/// An iteration shorter than this without a commit counts as ended at once.
const AT_ONCE_MS: i64 = 1_000;
/// First wait after the second such iteration; it doubles.
const AT_ONCE_WAIT_MS: i64 = 250;
const AT_ONCE_WAIT_MAX_MS: i64 = 10_000;
/// Wait after the first crash of an idea; it doubles.
const CRASH_WAIT_MS: i64 = 500;
const CRASH_WAIT_MAX_MS: i64 = 60_000;

pub(crate) fn prepared(
    plan: &mut Plan<'_>,
    effect: &effect::PrepareWorktree,
    outcome: Result<WorktreePrepared, Failure>,
) {
    let agent = &effect.agent;
    let Some(attempt) = plan.attempt(agent) else {
        return;
    };
    match outcome {
        Ok(WorktreePrepared {
            head,
            base,
            warm,
            setup,
        }) => {
            let setup = setup::prepared(plan, &effect.worktree, warm, &setup);
            let is_ready = setup.is_none();
            plan.emit(WorktreeReady {
                agent: agent.clone(),
                base: base.clone(),
                head,
                warm,
                setup,
                worktree: attempt.lent().map(|_| effect.worktree.clone()),
            });
            if effect.from.is_none() {
                first_sight_of_target(plan, &base);
            }
            environment_faults::over(plan);
            // An ending attempt ends now that nothing is in progress.
            let prepares = attempt.phase == AttemptPhase::Preparing;
            if prepares && attempt.ending.is_none() && is_ready {
                plan.move_attempt(agent, AttemptInput::Prepared);
            }
        }
        Err(failure) if attempt.ending.is_none() => {
            conflict::has_no_place(plan, (agent, attempt), &failure);
        }
        Err(_) => {}
    }
}

/// Records the target's first known commit, with which the queue later detects a rewrite.
fn first_sight_of_target(plan: &mut Plan<'_>, base: &Oid) {
    let Some(settings) = &plan.state.settings else {
        return;
    };
    let seen = plan.state.swarm.target.as_ref();
    if seen.is_none_or(|seen| seen.branch != settings.target) {
        plan.emit(TargetSeen {
            branch: settings.target.clone(),
            commit: base.clone(),
        });
    }
}

pub(crate) fn run_started(
    plan: &mut Plan<'_>,
    run: &RunId,
    pid: u32,
    adapter: &str,
    resumed: bool,
) {
    let known = plan
        .state
        .agents
        .values()
        .any(|attempt| attempt.run.as_ref() == Some(run) && attempt.pid != Some(pid));
    if known {
        plan.emit(RunStarted {
            run: run.clone(),
            pid,
            adapter: Some(adapter.to_owned()),
            resumed,
        });
    }
}

pub(crate) fn iteration_over(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    run: &RunId,
    outcome: &Result<RunEnd, Failure>,
) {
    let end = iteration_ended(plan, agent, run, outcome);
    let trouble = outcome.as_ref().err().and_then(nobodys_fault);
    // Only once, and not if a stop was requested meanwhile.
    let Some(attempt) = working(plan, agent, AttemptPhase::Working) else {
        return;
    };
    if attempt.task != Task::Work {
        return conflict::resolver_over(plan, agent, attempt, run, &end, trouble);
    }
    match trouble {
        Some(trouble) => release(plan, agent, trouble),
        None => judge(plan, agent, attempt, run, &end),
    }
}

/// The attempt, if it is in the outcome's phase and not ending.
pub(super) fn working<'a>(
    plan: &Plan<'a>,
    agent: &AgentId,
    phase: AttemptPhase,
) -> Option<&'a Attempt> {
    plan.attempt(agent)
        .filter(|attempt| attempt.phase == phase && attempt.ending.is_none())
}

/// Judges an iteration. Its final signal counts before the exit code: an agent that reported
/// COMPLETE may exit with any code.
fn judge(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, run: &RunId, end: &RunEnd) {
    let asked = is_asked_to_end(plan.state, run, &end.how);
    let last_word = attempt.said.as_ref().filter(|_| counts(end));
    if last_word.is_none() && provider_wait::excuses(plan, agent, attempt, end) {
        return;
    }
    if !asked && last_word.is_none() {
        match provider::judge(plan, agent, attempt, end) {
            Judged::Served => {}
            Judged::Excused => return,
            Judged::Failed(why) if end.how == RunEndKind::Idle => {
                return time_out(plan, agent, &why);
            }
            Judged::Failed(why) => return fail(plan, agent, why),
        }
    }
    let by_itself = is_complete(end);
    match last_word {
        Some(Said::Complete | Said::Resolved) => {
            plan.move_attempt(agent, AttemptInput::SaidComplete);
        }
        Some(Said::Blocked(why)) => {
            block(plan, agent, why.clone());
        }
        Some(Said::NeedsHuman(_)) if by_itself => {
            plan.move_attempt(agent, AttemptInput::NeedsHuman);
        }
        None if by_itself => go_on(plan, agent, attempt, run, end),
        // It was asked to stop, so its end says nothing.
        None | Some(Said::NeedsHuman(_)) if asked => {
            let end = End::keeping(AttemptEnd::Interrupted, IdeaStatus::Pending, None);
            plan.end(agent, end);
        }
        None | Some(Said::NeedsHuman(_)) => ended_badly(plan, agent, attempt, run, end),
    }
}

fn ended_badly(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, run: &RunId, end: &RunEnd) {
    let words = |lead| {
        let words = end.last_words.as_ref();
        words.map_or_else(String::new, |words| format!("{lead}{}", shorten(words)))
    };
    match &end.how {
        RunEndKind::TimedOut => {
            let settings = plan.state.settings.as_deref();
            let why = settings.map_or_else(|| "took too long".to_owned(), out_of_time);
            time_out(plan, agent, &why);
        }
        RunEndKind::Lost | RunEndKind::Stopped | RunEndKind::LeaseExpired => {
            let why = "its runner was killed from outside".to_owned();
            crash(plan, agent, attempt, why);
        }
        RunEndKind::Signalled { signal } => {
            // Its earlier output is hardly the reason.
            let words = words("; the end of its standard error: ");
            let why = format!("the agent was killed by signal {signal}{words}");
            crash(plan, agent, attempt, why);
        }
        RunEndKind::Idle => {
            time_out(
                plan,
                agent,
                "the agent wrote nothing for agents.idleMinutes",
            );
        }
        RunEndKind::NotStarted { message } => {
            let why = format!("the agent could not be started: {message}");
            fail(plan, agent, why);
        }
        RunEndKind::OutputLimit => {
            let why = "the agent wrote more output than agents.maxOutputMiB allows";
            fail(plan, agent, why.to_owned());
        }
        RunEndKind::Exited { code } => {
            let words = words(": ");
            let why = format!(
                "the agent exited with code {code}{words}; its output: swarm agent logs {agent} \
                (run {run})"
            );
            fail(plan, agent, why);
        }
    }
}

/// Without a final signal: another iteration, unless a limit is reached.
fn go_on(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, run: &RunId, end: &RunEnd) {
    let moved = end.head.is_some() && end.head != attempt.head;
    let empty = end.stdout_bytes == 0;
    let at_once = end.duration_ms < AT_ONCE_MS && !moved;
    if empty && attempt.empty_outputs + 1 >= EMPTY_OUTPUTS {
        let why = format!("the agent wrote nothing {EMPTY_OUTPUTS} times in a row");
        return fail(plan, agent, why);
    }
    if let Some(why) = stuck::without_change(plan, agent, attempt, run, end) {
        return block(plan, agent, why);
    }
    let in_a_row = if moved { 0 } else { attempt.without_commit + 1 };
    stuck::warn(plan, agent, attempt, in_a_row, None);
    let waits = if at_once { attempt.at_once } else { 0 };
    let not_before = (waits > 0).then(|| {
        let wait = AT_ONCE_WAIT_MS << (waits - 1).min(16);
        plan.now.plus_millis(wait.min(AT_ONCE_WAIT_MAX_MS))
    });
    plan.move_attempt_until(agent, AttemptInput::Hold, not_before);
    plan.emit(IterationJudged {
        agent: agent.clone(),
        empty,
        at_once,
    });
}

pub(crate) fn sealed(
    plan: &mut Plan<'_>,
    effect: &effect::Seal,
    outcome: Result<SealOutcome, Failure>,
) {
    let agent = &effect.agent;
    let Some(attempt) = working(plan, agent, AttemptPhase::Gating) else {
        return;
    };
    match outcome {
        Ok(SealOutcome::Sealed {
            head,
            committed,
            setup: key,
            links,
        }) => {
            environment_faults::worktrees::free_seal(plan);
            let empty = has_no_work(plan, attempt, &head);
            plan.emit(AttemptSealed {
                agent: agent.clone(),
                head,
                committed,
                setup: setup::due(plan.state, &attempt.worktree, true, key.as_deref()),
                links,
                empty,
            });
            if empty {
                said_done_without_work(plan, agent, attempt);
            }
        }
        Ok(SealOutcome::HooksDue) => commit_hooks::start(plan, agent),
        Ok(SealOutcome::Unsealable { message }) => {
            let feedback = Feedback {
                command: "committing what was left in the worktree".into(),
                how: shorten(&message),
                run: None,
                merged: false,
            };
            let failed = GateFailed {
                agent: agent.clone(),
                feedback,
                fingerprint: None,
                failed_tests: None,
            };
            gate_failed(plan, attempt, failed, None);
        }
        Err(failure) if failure.kind == FailureKind::Content => {
            environment_faults::worktrees::hold_seal(plan, &failure.message);
        }
        Err(failure) => release_or_fail(plan, agent, &failure),
    }
}

/// Whether a sealed branch has no work of its own: it is where it began, or at the target.
fn has_no_work(plan: &Plan<'_>, attempt: &Attempt, head: &Oid) -> bool {
    let target = plan.state.swarm.target.as_ref().map(|seen| &seen.commit);
    attempt.base.as_ref() == Some(head) || target == Some(head)
}

/// Sends the agent back once; then a person decides. The same iteration may be judged again after a
/// torn log.
fn said_done_without_work(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt) {
    let settings = plan.state.settings.as_deref();
    let another = settings.is_some_and(|settings| has_another(plan.state, attempt, settings));
    let before = attempt.said_done_without_work;
    if another && before.is_none_or(|iteration| iteration == attempt.iteration) {
        plan.move_attempt(agent, AttemptInput::Hold);
        return;
    }
    let why = format!(
        "the agent said it was done and changed nothing; read why: swarm agent logs {agent}; if \
        there is nothing to do: swarm idea cancel {}",
        attempt.idea
    );
    block(plan, agent, why);
}

/// Ends an attempt: at once if nothing is in progress, otherwise as soon as possible.
pub(crate) fn ask_end(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, ending: Ending) {
    if !attempt.phase.is_live() && !plan.state.is_under_way(agent, &attempt.idea) {
        return end_asked(plan, agent, ending);
    }
    // A cancelled attempt stays cancelled.
    if attempt
        .ending
        .is_some_and(|asked| asked == ending || asked == Ending::Cancelled)
    {
        return;
    }
    plan.emit(EndingAsked {
        agent: agent.clone(),
        ending,
    });
    if attempt.phase.is_live() {
        plan.move_attempt(agent, AttemptInput::Stop);
    }
}

/// Ends an attempt as requested.
pub(crate) fn end_asked(plan: &mut Plan<'_>, agent: &AgentId, ending: Ending) {
    let end = match ending {
        Ending::Stopped => End::keeping(AttemptEnd::Stopped, IdeaStatus::Pending, None),
        Ending::Interrupted => End::keeping(AttemptEnd::Interrupted, IdeaStatus::Pending, None),
        Ending::Cancelled => cancelled(),
        Ending::Redirected => End::keeping(AttemptEnd::Redirected, IdeaStatus::Pending, None),
    };
    plan.end(agent, end);
}

pub(crate) fn fail(plan: &mut Plan<'_>, agent: &AgentId, why: String) {
    plan.end(
        agent,
        End::keeping(AttemptEnd::Failed, IdeaStatus::Failed, Some(why)),
    );
}

/// Blocks the idea until a person looks at it; its worktree is kept.
pub(super) fn block(plan: &mut Plan<'_>, agent: &AgentId, why: String) {
    plan.end(
        agent,
        End::keeping(AttemptEnd::Blocked, IdeaStatus::Blocked, Some(why)),
    );
}

pub(crate) fn time_out(plan: &mut Plan<'_>, agent: &AgentId, why: &str) {
    let why = Some(why.to_owned());
    plan.end(
        agent,
        End::keeping(AttemptEnd::TimedOut, IdeaStatus::Timeout, why),
    );
}

/// Handles a crash: the idea is retried after growing waits, a limited number of times.
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
