//! Folds events about attempts; `end` folds how one ends, `worktree` what becomes of its worktree.

pub(super) mod end;
pub(super) mod worktree;

use super::idea::audit;
use super::{baseline, blame, checks, memory, provider, records, redirect, setup};
use crate::domain::event::{
    AttemptMoved, AttemptSealed, CommitHooksPassed, CommitHooksStarted, EndingAsked, GateFailed,
    GatePassed, GateStarted, IdeaClaimed, IterationJudged, IterationStarted, MessageQueued,
    RunEnded, RunStarted, SignalSeen, TaskSet,
};
use crate::domain::ids::{AgentId, Oid, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::memory::MemoryUse;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::signal::Signal;
use crate::domain::state::message::{self, Message};
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::setup::failures_after;
use crate::domain::state::{
    Attempt, Ending, Excused, FailedCheck, IdeaStatus, Kept, Lending, MergeEntry, Said, SealState,
    Started, State, Task,
};
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;
use crate::domain::verdict::Verdict;

/// Number of runs that an attempt remembers.
const RUNS_KEPT: usize = 100;

pub(super) fn with_attempt(state: &mut State, agent: &AgentId, change: impl FnOnce(&mut Attempt)) {
    if let Some(attempt) = state.agents.get_mut(agent) {
        change(attempt);
    }
}

pub(super) fn claim(state: &mut State, at: Timestamp, claimed: &IdeaClaimed) {
    let IdeaClaimed { id, agent, .. } = claimed;
    state.counters.agents += 1;
    let known = state.ideas.change(id, |idea| {
        idea.updated_at = at;
        idea.status = IdeaStatus::Active;
        idea.attempts = claimed.attempt;
        idea.not_before = None;
        audit(idea, at, "claimed", agent.as_str());
        // In semi-auto mode it counts as assigned, so that it continues by itself after an
        // interruption.
        idea.assigned |= idea.reserved.take().is_some();
        let imported = idea.imported.clone();
        let known = idea.imported.as_deref_mut();
        if let Some(conversation) = known.and_then(|known| known.conversation.as_mut()) {
            conversation.taken = true;
        }
        (idea.kept.take(), imported)
    });
    let Some((kept, imported)) = known else {
        return;
    };
    let mut attempt = begin_attempt(claimed, kept, at);
    if attempt.session.is_none() {
        let brought = imported.as_deref();
        let session = brought.and_then(|imported| imported.session(&claimed.profile));
        attempt.session = session.map(Box::new);
        if attempt.session.is_some() {
            attempt.cause = PromptCause::Restored;
        }
    }
    attempt.imported = imported;
    state.agents.insert(agent.clone(), attempt);
}

/// Why the next prompt is written, as far as an earlier attempt says.
fn cause_before(kept: Option<&Kept>) -> PromptCause {
    kept.map_or(PromptCause::Begin, |kept| kept.cause.clone())
}

/// An attempt at its beginning, with what an earlier one left.
fn begin_attempt(claimed: &IdeaClaimed, kept: Option<Box<Kept>>, at: Timestamp) -> Attempt {
    Attempt {
        session: provider::taken_up(kept.as_deref(), &claimed.profile),
        idea: claimed.id.clone(),
        number: claimed.attempt,
        profile: claimed.profile.clone(),
        branch: claimed.branch.clone(),
        worktree: claimed.worktree.clone(),
        lending: Lending::Own,
        phase: AttemptPhase::Preparing,
        task: Task::Work,
        cause: cause_before(kept.as_deref()),
        iteration: 0,
        base: None,
        head: None,
        run: None,
        runs: Vec::new(),
        pid: None,
        started: Started::default(),
        signal_offset: None,
        said: None,
        setup: None,
        gate_next: 0,
        seal: SealState::Open,
        said_done_without_work: None,
        progress: None,
        empty_outputs: 0,
        without_commit: 0,
        tree: None,
        left: None,
        without_change: 0,
        check: FailedCheck::default(),
        asked: None,
        pre_start: None,
        returns: 0,
        catch_up: None,
        lost_runs: 0,
        at_once: 0,
        feedback: kept.as_ref().and_then(|kept| kept.feedback.clone()),
        review: kept.as_ref().and_then(|kept| kept.review.clone()),
        messages: texts_before(kept.as_deref()),
        heard: heard_before(kept.as_deref(), at),
        text: None,
        kept,
        imported: None,
        told: Vec::new(),
        ending: None,
        redirect: None,
        not_before: None,
        claimed_at: at,
        iteration_at: None,
        spent_ms: 0,
        own_session: None,
        used: Spent::default(),
        using: None,
        provider_wait: None,
        excused: Excused::default(),
        memory: MemoryUse::default(),
    }
}

/// Texts waiting for the first prompt.
fn texts_before(kept: Option<&Kept>) -> Vec<String> {
    kept.map_or_else(Vec::new, |kept| kept.messages.clone())
}

/// Messages waiting for the first prompt. A checkpoint keeps only their texts.
fn heard_before(kept: Option<&Kept>, at: Timestamp) -> Vec<Message> {
    let Some(kept) = kept else {
        return Vec::new();
    };
    if kept.said.len() == kept.messages.len() {
        return kept.said.clone();
    }
    let messages = kept.messages.iter();
    messages.map(|text| Message::new(text, at)).collect()
}

pub(super) fn change_phase(state: &mut State, moved: &AttemptMoved) {
    with_attempt(state, &moved.agent, |attempt| {
        attempt.phase = moved.phase;
        attempt.not_before = moved.not_before;
    });
}

pub(super) fn start_iteration(state: &mut State, at: Timestamp, started: &IterationStarted) {
    state.counters.runs += 1;
    with_attempt(state, &started.agent, |attempt| {
        begin_run(attempt, &started.run);
        attempt.iteration = started.iteration;
        attempt.lending = Lending::Own;
        attempt.memory.writes = 0;
        attempt.iteration_at = Some(at);
        if let Some(Said::NeedsHuman(question)) = attempt.said.take() {
            attempt.asked = Some(question.into());
        }
        attempt.signal_offset = None;
        attempt.seal = SealState::Open;
        attempt.setup = None;
        attempt.gate_next = 0;
        attempt.lost_runs = 0;
        attempt.check.uncharged = None;
        // A person's words are a reason to try again.
        if !attempt.messages.is_empty() {
            attempt.without_change = 0;
            attempt.check.same_failures = 0;
            attempt.check.failures = 0;
        }
        // Kept so that a prompt rebuilt after a restart includes them.
        attempt.told = std::mem::take(&mut attempt.messages);
        message::deliver(&mut attempt.heard, &started.run, at);
    });
}

pub(super) fn start_gate(state: &mut State, started: &GateStarted) {
    state.counters.runs += 1;
    records::start_gate(state, started);
    with_attempt(state, &started.agent, |attempt| {
        begin_run(attempt, &started.run);
    });
}

pub(super) fn start_commit_hooks(state: &mut State, started: &CommitHooksStarted) {
    state.counters.runs += 1;
    with_attempt(state, &started.agent, |attempt| {
        begin_run(attempt, &started.run);
    });
}

pub(super) fn pass_commit_hooks(state: &mut State, passed: &CommitHooksPassed) {
    with_attempt(state, &passed.agent, |attempt| {
        attempt.seal = SealState::HooksPassed;
    });
}

pub(super) fn begin_run(attempt: &mut Attempt, run: &RunId) {
    attempt.run = Some(run.clone());
    attempt.pid = None;
    attempt.started = Started::default();
    if attempt.runs.len() >= RUNS_KEPT {
        attempt.runs.remove(0);
    }
    attempt.runs.push(run.clone());
}

pub(super) fn start_run(state: &mut State, started: &RunStarted) {
    with_run(state, &started.run, |attempt| {
        attempt.pid = Some(started.pid);
        attempt.started.adapter.clone_from(&started.adapter);
        attempt.started.resumed = started.resumed;
    });
}

fn with_run(state: &mut State, run: &RunId, change: impl FnOnce(&mut Attempt)) {
    let of_run = |attempt: &&mut Attempt| attempt.run.as_ref() == Some(run);
    if let Some(attempt) = state.agents.values_mut().find(of_run) {
        change(attempt);
    }
}

pub(super) fn end_run(state: &mut State, at: Timestamp, ended: &RunEnded) {
    let RunEnded { run, end } = ended;
    let profile = state.profile_of_run(run).cloned();
    records::owe(state, at, run, end);
    blame::end_run(state, ended);
    checks::end_run(state, ended);
    provider::run_over(state, at, run, end);
    with_run(state, run, |attempt| {
        attempt.run = None;
        attempt.pid = None;
        let before_work = attempt.phase == AttemptPhase::Preparing;
        if before_work && let Some(due) = &mut attempt.setup {
            due.tries = due.tries_after(&end.how);
        }
        if before_work || attempt.phase == AttemptPhase::Gating {
            count_lost(&mut attempt.lost_runs, end);
        } else {
            end_iteration(attempt, at, end);
            // What a resolver with another profile leaves is news for the attempt's own agent.
            if profile.is_none_or(|profile| profile == attempt.profile) {
                attempt.left.clone_from(&end.tree);
            }
        }
    });
    baseline::end_run(state, ended);
    memory::end_run(state, ended);
    records::end_replay(state, ended);
    let of_run = |entry: &&mut MergeEntry| entry.run.as_ref() == Some(run);
    if let Some(entry) = state.queue.iter_mut().find(of_run) {
        entry.run = None;
        if entry.setup.is_some() {
            entry.setup_failures = failures_after(entry.setup_failures, &end.how);
        }
        count_lost(&mut entry.lost_runs, end);
    }
}

/// Counts quality commands in a row whose runner was killed.
pub(super) fn count_lost(lost: &mut u32, end: &RunEnd) {
    match end.how {
        RunEndKind::Lost => *lost += 1,
        RunEndKind::Stopped | RunEndKind::LeaseExpired => {}
        RunEndKind::Exited { .. }
        | RunEndKind::Signalled { .. }
        | RunEndKind::TimedOut
        | RunEndKind::Idle
        | RunEndKind::OutputLimit
        | RunEndKind::NotStarted { .. } => *lost = 0,
    }
}

fn end_iteration(attempt: &mut Attempt, at: Timestamp, end: &RunEnd) {
    let never_began = end.never_began(attempt.head.as_ref());
    // The idea's time excludes a resolver's time, and time in which a program waited for its
    // provider.
    let waited = end.verdict.as_ref().is_some_and(Verdict::is_of_provider);
    if attempt.task == Task::Work && !waited {
        attempt.spent_ms = attempt.spent_ms.saturating_add(end.duration_ms);
    }
    attempt.cause = attempt.cause_after(end);
    attempt.without_change = attempt.without_change_after(end);
    attempt.tree.clone_from(&end.tree);
    let through = !matches!(end.verdict, Some(Verdict::Cut | Verdict::Failed { .. }));
    if let Some(head) = &end.head {
        see_head(attempt, head, through);
    }
    let well = end.verdict.is_none() || end.verdict == Some(Verdict::Complete);
    if well && matches!(end.how, RunEndKind::Exited { .. }) {
        provider::went_well(attempt);
    }
    let told = std::mem::take(&mut attempt.told);
    // Messages in a prompt that the provider refused were not delivered.
    let refused = never_began || matches!(end.verdict, Some(Verdict::Failed { .. }));
    let delivered = !refused
        && matches!(
            end.how,
            RunEndKind::Exited { .. }
                | RunEndKind::TimedOut
                | RunEndKind::Idle
                | RunEndKind::OutputLimit
        );
    if delivered {
        attempt.asked = None;
    } else {
        attempt.messages.splice(0..0, told);
    }
    message::settle(&mut attempt.heard, delivered, at);
}

pub(super) fn hear(state: &mut State, seen: &SignalSeen) {
    with_attempt(state, &seen.agent, |attempt| {
        attempt.signal_offset = Some(seen.offset);
        match &seen.signal {
            Signal::Complete(_) => attempt.said = Some(Said::Complete),
            Signal::Resolved(_) => attempt.said = Some(Said::Resolved),
            Signal::Blocked(why) => attempt.said = Some(Said::Blocked(told(why.as_ref()))),
            Signal::NeedsHuman(why) => attempt.said = Some(Said::NeedsHuman(told(why.as_ref()))),
            Signal::Progress(percent) => attempt.progress = Some(*percent),
            Signal::LearningLocal(_) | Signal::LearningGlobal(_) => {}
        }
        // It wrote something, which ends a series of iterations without output.
        attempt.empty_outputs = 0;
        if attempt.said.is_some() {
            attempt.at_once = 0;
        }
    });
}

fn told(why: Option<&String>) -> String {
    why.cloned().unwrap_or_else(|| "no reason given".to_owned())
}

pub(super) fn judge_iteration(state: &mut State, judged: &IterationJudged) {
    let count = |flag: bool, so_far: u32| if flag { so_far + 1 } else { 0 };
    with_attempt(state, &judged.agent, |attempt| {
        attempt.empty_outputs = count(judged.empty, attempt.empty_outputs);
        attempt.at_once = count(judged.at_once, attempt.at_once);
    });
}

pub(super) fn seal(state: &mut State, sealed: &AttemptSealed) {
    let attempt = state.agents.get(&sealed.agent);
    let worktree = attempt.map(|attempt| attempt.worktree.clone());
    let setup = setup::require(
        state,
        worktree.as_deref().unwrap_or_default(),
        sealed.setup.as_deref(),
    );
    with_attempt(state, &sealed.agent, |attempt| {
        let moved = attempt.head.as_ref() != Some(&sealed.head);
        if moved {
            attempt.without_commit = 0;
        }
        // What it had left is committed now, so the tree is clean.
        if moved || sealed.committed {
            attempt.tree = None;
        }
        if sealed.empty {
            attempt
                .said_done_without_work
                .get_or_insert(attempt.iteration);
            attempt.cause = PromptCause::ChangedNothing;
        }
        attempt.head = Some(sealed.head.clone());
        attempt.seal = SealState::Sealed;
        attempt.setup = setup;
    });
}

/// An attempt that was interrupted cannot have made a commit.
fn see_head(attempt: &mut Attempt, head: &Oid, through: bool) {
    if attempt.head.as_ref() == Some(head) {
        attempt.without_commit += u32::from(through);
    } else {
        attempt.without_commit = 0;
        attempt.excused.exhausted = 0;
    }
    attempt.head = Some(head.clone());
}

pub(super) fn pass_gate(state: &mut State, passed: &GatePassed) {
    records::pass_gate(state, &passed.agent);
    with_attempt(state, &passed.agent, |attempt| {
        attempt.gate_next = passed.index + 1;
        attempt.check.uncharged = None;
    });
}

pub(super) fn fail_gate(state: &mut State, failed: &GateFailed) {
    records::fail_gate(state, failed);
    with_attempt(state, &failed.agent, |attempt| {
        let fingerprint = failed.fingerprint.as_deref();
        attempt.check.same_failures = attempt.failures_with(&failed.feedback, fingerprint);
        attempt.check.fingerprint.clone_from(&failed.fingerprint);
        attempt.check.failures = attempt.check_failures_with(&failed.feedback, failed.failed_tests);
        attempt.check.failed_tests = if attempt.check.failures == 1 {
            failed.failed_tests
        } else {
            // The fewest known: a number that rises and falls is no progress.
            let both = attempt
                .check
                .failed_tests
                .into_iter()
                .chain(failed.failed_tests);
            both.min()
        };
        attempt.feedback = Some(failed.feedback.clone());
        attempt.cause = PromptCause::FailedCheck;
        attempt.check.uncharged = None;
    });
}

pub(super) fn set_task(state: &mut State, set: &TaskSet) {
    with_attempt(state, &set.agent, |attempt| {
        attempt.task = set.task.clone();
        // A new task resets the counts of failures in a row.
        attempt.excused.cut = 0;
        if set.task == Task::Work {
            provider::back_to_own(attempt);
        }
    });
}

pub(super) fn queue_message(state: &mut State, at: Timestamp, queued: &MessageQueued) {
    with_attempt(state, &queued.agent, |attempt| {
        attempt.messages.push(queued.text.clone());
        message::accept(&mut attempt.heard, Message::new(&queued.text, at));
    });
}

pub(super) fn ask_end(state: &mut State, asked: &EndingAsked) {
    with_attempt(state, &asked.agent, |attempt| {
        attempt.ending = Some(asked.ending);
    });
    if asked.ending == Ending::Stopped {
        redirect::take_back(state, &asked.agent);
    }
}
