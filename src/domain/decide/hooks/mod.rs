//! Calls hooks: owed calls are made in order, their results recorded, and steps that a hook guards
//! wait for it.
//!
//! Invariant: calls follow from the state alone, so a killed daemon's successor continues them. A
//! call that was interrupted, by a crash or a requested stop, is not judged. Called by `advance`
//! and by the outcomes of runs.

mod causes;

use std::collections::BTreeSet;

use super::attempt::run_end::{is_stopped, run_ended};
use super::decision::{End, Plan};
use super::environment_faults::{EnvironmentFault, hold_for, nobodys_fault};
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::{
    HookApproved, HookAsked, HookCutOff, HookFinished, HookStarted, HookTimedOut,
};
use crate::domain::hook::{HookCall, HookName, HookSettings, Passage};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::MergeInput;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::Failure;
use crate::domain::settings::Settings;
use crate::domain::state::{Attempt, AttemptEnd, IdeaStatus, MergeEntry, State, Task, Waits};
use crate::domain::time::Timestamp;
use crate::domain::warning::WarningKind;

pub(crate) use causes::owed_by;

/// Most calls at a time, besides those that a step waits for.
const AT_ONCE: usize = 16;
/// Head start of an idea's informing hook over one that guards a step: a quick one is finished by
/// then, a slow one delays nobody.
const TELLS_FIRST_MS: i64 = 500;
/// Most times that a call may lose its runner.
const LOST_RUNS: u32 = 3;

/// Starts the calls whose turn it is.
pub(super) fn call(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let full = state.swarm.held_until.is_some_and(|until| until > plan.now);
    let mut room = AT_ONCE.saturating_sub(busy(state));
    // One call at a time for each idea.
    let (mut told, mut begun) = (BTreeSet::new(), BTreeSet::new());
    for call in &state.hooks {
        let holds = call.hook.can_veto();
        let first = if holds {
            asked_after(state, call).is_none_or(|at| at <= plan.now)
                && call.idea.as_ref().is_none_or(|idea| !begun.contains(idea))
        } else {
            call.idea.as_ref().is_none_or(|idea| told.insert(idea))
        };
        match &call.run {
            // It was announced but never requested: the log was torn in between.
            Some(run) if state.run_effect(run).is_none() => cut_off(plan, call, false),
            Some(_) => {}
            None if full || !first || (!holds && room == 0) || is_ending(state, call) => {}
            None => {
                let begins = begin(plan, call, settings) && !holds;
                room -= usize::from(begins);
                begun.extend(call.idea.as_ref().filter(|_| begins));
            }
        }
    }
}

/// When a guarding call may start while an earlier call about the same idea is running.
fn asked_after(state: &State, call: &HookCall) -> Option<Timestamp> {
    let before = state.hooks.iter().take_while(|other| other.seq < call.seq);
    let telling = before.filter(|other| !other.hook.can_veto() && other.idea == call.idea);
    let begun = telling.filter_map(|other| other.run.as_ref().and(other.begun_at));
    begun.map(|at| at.plus_millis(TELLS_FIRST_MS)).max()
}

/// When waiting calls may start.
pub(super) fn deadlines(state: &State) -> impl Iterator<Item = Timestamp> {
    let waits = |call: &&HookCall| call.hook.can_veto() && call.run.is_none();
    let waiting = state.hooks.iter().filter(waits);
    waiting.filter_map(|call| asked_after(state, call))
}

/// Whether it guards a step of an attempt that is about to end: nothing waits for it, and it ends
/// with the attempt.
pub(crate) fn is_ending(state: &State, call: &HookCall) -> bool {
    let of = call.agent.as_ref().filter(|_| call.hook.can_veto());
    let attempt = of.and_then(|agent| state.agents.get(agent));
    attempt.is_some_and(|attempt| attempt.ending.is_some())
}

/// Number of running calls that no step waits for.
fn busy(state: &State) -> usize {
    let running = |call: &&HookCall| call.run.is_some() && !call.hook.can_veto();
    state.hooks.iter().filter(running).count()
}

/// Starts a call; returns false if there is nothing to call.
fn begin(plan: &mut Plan<'_>, call: &HookCall, settings: &Settings) -> bool {
    let Some(hook) = settings.hooks.get(&call.hook) else {
        over(plan, call, "the hook no longer exists", true, false);
        return false;
    };
    let run = plan.run_id(&format!("{}-{}", call.hook, call.seq));
    plan.emit(HookStarted {
        hook: call.hook,
        about: call.seq,
        run: run.clone(),
    });
    let holds = call.hook.can_veto();
    let purpose = Purpose::Hook {
        hook: call.hook,
        seq: call.seq,
        agent: call.agent.clone().filter(|_| holds),
        idea: call.idea.clone().filter(|_| holds),
    };
    plan.request_run(run, purpose, hook.timeout_ms);
    true
}

fn cut_off(plan: &mut Plan<'_>, call: &HookCall, lost: bool) {
    plan.emit(HookCutOff {
        hook: call.hook,
        about: call.seq,
        lost,
    });
}

fn over(plan: &mut Plan<'_>, call: &HookCall, how: &str, well: bool, veto: bool) {
    finished(plan, call, how, (well, veto), false);
}

fn finished(
    plan: &mut Plan<'_>,
    call: &HookCall,
    how: &str,
    (well, veto): (bool, bool),
    not_run: bool,
) {
    plan.emit(HookFinished {
        hook: call.hook,
        about: call.seq,
        how: how.to_owned(),
        well,
        veto,
        not_run,
    });
}

/// Handles the end of a call.
pub(super) fn call_over(
    plan: &mut Plan<'_>,
    hook: HookName,
    seq: u64,
    run: &RunId,
    outcome: &Result<RunEnd, Failure>,
) {
    let end = run_ended(plan, run, outcome);
    // The guarded step, and so the call, may be over. After a torn log another run may be making
    // the call: this one was judged.
    let this =
        |call: &&HookCall| call.hook == hook && call.seq == seq && call.run.as_ref() == Some(run);
    let Some(call) = plan.state.hooks.iter().find(this) else {
        return;
    };
    let trouble = outcome.as_ref().err().and_then(nobodys_fault);
    if let Some(trouble) = trouble.filter(EnvironmentFault::passes) {
        hold_for(plan, trouble);
        return cut_off(plan, call, false);
    }
    let ended = matches!(end.how, RunEndKind::Stopped | RunEndKind::LeaseExpired);
    let lost = end.how == RunEndKind::Lost;
    // A call that finished before it was told to stop has given its answer.
    let through = end.how == RunEndKind::Exited { code: 0 };
    if lost || ended || (!through && is_stopped(plan.state, run, &end.how)) {
        interrupted(plan, call, run, lost);
    } else {
        answered(plan, call, run, &end);
    }
}

/// The call was stopped, or its runner was killed, before it gave an answer.
fn interrupted(plan: &mut Plan<'_>, call: &HookCall, run: &RunId, lost: bool) {
    if lost && call.cut_off + 1 >= LOST_RUNS {
        let how = format!("its runner was killed {LOST_RUNS} times in a row");
        return fail(plan, call, run, &how);
    }
    if settings_of(plan.state, call.hook).is_none_or(|settings| settings.again) {
        return cut_off(plan, call, lost);
    }
    // A missing answer does not let the step pass.
    let holds = call.hook.can_veto();
    over(
        plan,
        call,
        "was interrupted and is not called again",
        false,
        holds,
    );
    warn(
        plan,
        call,
        "was interrupted and is not called again (onCrash)",
    );
}

fn answered(plan: &mut Plan<'_>, call: &HookCall, run: &RunId, end: &RunEnd) {
    match &end.how {
        RunEndKind::Exited { code: 0 } => {
            over(plan, call, "exit code 0", true, false);
            plan.clear_warning(&key(call.hook));
        }
        RunEndKind::TimedOut => {
            let settings = settings_of(plan.state, call.hook);
            let veto =
                call.hook.can_veto() && settings.is_some_and(|settings| settings.veto_on_timeout);
            plan.emit(HookTimedOut {
                hook: call.hook,
                about: call.seq,
                veto,
            });
            let held = if veto {
                ""
            } else {
                "; swarm continues without it"
            };
            warn(
                plan,
                call,
                &format!("took too long and was stopped{held}; its output: .git/swarm/runs/{run}"),
            );
        }
        RunEndKind::NotStarted { message } => not_run(plan, call, message),
        RunEndKind::Exited { .. }
        | RunEndKind::Signalled { .. }
        | RunEndKind::Idle
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::OutputLimit
        | RunEndKind::Lost => fail(plan, call, run, &describe_end(end)),
    }
}

fn settings_of(state: &State, hook: HookName) -> Option<&HookSettings> {
    state.settings.as_ref()?.hooks.get(&hook)
}

fn describe_end(end: &RunEnd) -> String {
    let said = end.last_words.as_ref();
    let said = said.map_or_else(String::new, |words| format!(": {words}"));
    format!("{}{said}", end.how)
}

/// Records a failed call; a guarding hook then holds its step.
fn fail(plan: &mut Plan<'_>, call: &HookCall, run: &RunId, how: &str) {
    over(plan, call, how, false, call.hook.can_veto());
    if !call.hook.can_veto() {
        warn(
            plan,
            call,
            &format!("failed ({how}); its output: .git/swarm/runs/{run}"),
        );
    }
}

/// A call whose program did not start has no output to show.
fn not_run(plan: &mut Plan<'_>, call: &HookCall, why: &str) {
    let holds = call.hook.can_veto();
    finished(plan, call, why, (false, holds), true);
    if !holds {
        warn(plan, call, &format!("failed: {why}"));
    }
}

fn key(hook: HookName) -> String {
    WarningKind::Hook.about(hook)
}

fn warn(plan: &mut Plan<'_>, call: &HookCall, what: &str) {
    let about = call.idea.as_ref();
    let about = about.map_or_else(String::new, |idea| format!(" for {idea}"));
    let message = format!("the hook {}{about} {what}", call.hook);
    plan.warn(&key(call.hook), &message);
}

/// Why a guarding hook holds its step, for people.
fn why(state: &State, hook: HookName) -> String {
    let last = state.hooks_last.get(&hook);
    let (how, run) = last.map_or(("failed", None), |last| {
        (last.how.as_str(), last.run.as_ref())
    });
    let output = run.map_or_else(String::new, |run| {
        format!("; its output: .git/swarm/runs/{run}")
    });
    format!("{}{how}{output}", hook.against())
}

/// Whether the `pre-start` hook allows the attempt to start; calls it, or blocks the idea, as
/// needed.
pub(super) fn may_begin(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    settings: &Settings,
) -> bool {
    let first = attempt.iteration == 0 && attempt.task == Task::Work;
    match attempt.pre_start {
        _ if !first => true,
        Some(Passage::Free) => true,
        Some(Passage::Asked) => false,
        Some(Passage::Held) => {
            let why = why(plan.state, HookName::PreStart);
            let end = End::keeping(AttemptEnd::Blocked, IdeaStatus::Blocked, Some(why));
            plan.end(agent, end);
            false
        }
        None => !asks(plan, HookName::PreStart, agent, attempt, settings),
    }
}

/// Whether the `pre-merge` hook allows the landing; if it rejects it, the merge waits for a person.
pub(super) fn may_land(plan: &mut Plan<'_>, entry: &MergeEntry, settings: &Settings) -> bool {
    match entry.pre_merge {
        Some(Passage::Free) => true,
        Some(Passage::Asked) => false,
        Some(Passage::Held) => {
            let waits = Waits {
                reason: why(plan.state, HookName::PreMerge),
                files: vec![],
                person: true,
                target: false,
            };
            plan.move_merge_waiting(&entry.idea, MergeInput::Requeue, None, Some(waits));
            false
        }
        None => {
            let attempt = plan.attempt(&entry.agent);
            attempt.is_none_or(|attempt| {
                !asks(plan, HookName::PreMerge, &entry.agent, attempt, settings)
            })
        }
    }
}

fn asks(
    plan: &mut Plan<'_>,
    hook: HookName,
    agent: &AgentId,
    attempt: &Attempt,
    settings: &Settings,
) -> bool {
    let there = settings.hooks.contains_key(&hook);
    if there {
        plan.emit(HookAsked {
            hook,
            id: attempt.idea.clone(),
            agent: agent.clone(),
        });
    }
    there
}

/// Drops the call that guards an attempt about to end.
pub(super) fn stop_asking(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt) {
    let state = plan.state;
    for effect in state.outbox.values() {
        if let Effect::Run(effect::Run {
            run,
            purpose: Purpose::Hook { .. },
            ..
        }) = effect
            && effect.works_for(agent, &attempt.idea)
        {
            plan.stop_run(run, false);
        }
    }
}

/// Records that a person approved a hook that an agent's landed work changed.
pub(super) fn approve(plan: &mut Plan<'_>, hook: HookName, content: &str) {
    let approved = plan.state.hooks_approved.get(&hook);
    if approved.and_then(|all| all.last()).map(String::as_str) != Some(content) {
        plan.emit(HookApproved {
            hook,
            content: content.to_owned(),
        });
    }
    plan.clear_warning(&key(hook));
}
