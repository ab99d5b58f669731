//! Hooks: calls that are owed are made, in order; what becomes of them; steps that a hook stands
//! before wait for it.
//!
//! Invariant: the calls follow from the state alone, so that a daemon that is killed anywhere goes
//! on with them. One that was cut off, by a crash or by an end that was asked for, is not judged.

use std::collections::BTreeSet;

use super::attempt::run_end::{is_stopped, run_ended};
use super::decision::{End, Plan};
use super::environment_faults::{EnvironmentFault, hold_for, nobodys_fault};
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::{
    Event, HookApproved, HookAsked, HookCutOff, HookFinished, HookOwed, HookStarted, HookTimedOut,
};
use crate::domain::evolve;
use crate::domain::hook::{HookCall, HookName, Passage, WARNING};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::MergeInput;
use crate::domain::observation::{Outcome, RunEnd, RunEndKind};
use crate::domain::settings::Settings;
use crate::domain::state::{Attempt, AttemptEnd, IdeaStatus, MergeEntry, State, Task, Waits};
use crate::domain::time::Timestamp;

/// So many calls at a time, beside those that a step waits for.
const AT_ONCE: usize = 16;
/// So long an idea's hook that only tells goes before one that is asked about it: one that is quick
/// has ended then, one that is slow holds up nobody.
const TELLS_FIRST_MS: i64 = 500;
/// So often a call may lose its runner.
const LOST_RUNS: u32 = 3;

/// The calls that an event makes owed. The first rules are frozen, for old logs are folded by them;
/// a new or a changed one is added here.
pub(super) fn owed_by(state: &State, at: Timestamp, event: &Event) -> Vec<HookOwed> {
    evolve::hooks::frozen(state, at, event)
}

/// Makes the calls whose turn it is.
pub(super) fn call(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let full = state.swarm.held_until.is_some_and(|until| until > plan.now);
    let mut room = AT_ONCE.saturating_sub(busy(state));
    // Of each idea, one after the other.
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
            // It was announced and never asked for: the log was torn between the two.
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

/// When a call that holds a step has its turn, where something that was owed before is being told
/// about the same idea.
fn asked_after(state: &State, call: &HookCall) -> Option<Timestamp> {
    let before = state.hooks.iter().take_while(|other| other.seq < call.seq);
    let telling = before.filter(|other| !other.hook.can_veto() && other.idea == call.idea);
    let begun = telling.filter_map(|other| other.run.as_ref().and(other.begun_at));
    begun.map(|at| at.plus_millis(TELLS_FIRST_MS)).max()
}

/// When calls that wait for others have their turn.
pub(super) fn deadlines(state: &State) -> impl Iterator<Item = Timestamp> {
    let waits = |call: &&HookCall| call.hook.can_veto() && call.run.is_none();
    let waiting = state.hooks.iter().filter(waits);
    waiting.filter_map(|call| asked_after(state, call))
}

/// Whether it stands before a step of an attempt that is to end: nobody waits for it, and it goes
/// with that.
pub(crate) fn is_ending(state: &State, call: &HookCall) -> bool {
    let of = call.agent.as_ref().filter(|_| call.hook.can_veto());
    let attempt = of.and_then(|agent| state.agents.get(agent));
    attempt.is_some_and(|attempt| attempt.ending.is_some())
}

/// How many run that no step waits for.
fn busy(state: &State) -> usize {
    let running = |call: &&HookCall| call.run.is_some() && !call.hook.can_veto();
    state.hooks.iter().filter(running).count()
}

/// Begins a call; false: there is nothing to call any more.
fn begin(plan: &mut Plan<'_>, call: &HookCall, settings: &Settings) -> bool {
    let Some(hook) = settings.hooks.get(&call.hook) else {
        over(plan, call, "there is no such hook any more", true, false);
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

/// What a call came to.
pub(super) fn call_over(
    plan: &mut Plan<'_>,
    hook: HookName,
    seq: u64,
    run: &RunId,
    outcome: &Outcome,
) {
    let Some(end) = run_ended(plan, run, outcome) else {
        return;
    };
    // What it stood before may be over, and the call with it. After a torn log another run may make
    // the call by now: this one was judged.
    let this =
        |call: &&HookCall| call.hook == hook && call.seq == seq && call.run.as_ref() == Some(run);
    let Some(call) = plan.state.hooks.iter().find(this) else {
        return;
    };
    if let Some(trouble) = nobodys_fault(outcome).filter(EnvironmentFault::passes) {
        hold_for(plan, trouble);
        return cut_off(plan, call, false);
    }
    let settings = plan.state.settings.as_ref();
    let settings = settings.and_then(|settings| settings.hooks.get(&hook));
    let ended = matches!(end.how, RunEndKind::Stopped | RunEndKind::LeaseExpired);
    let lost = end.how == RunEndKind::Lost;
    // One that was through before the word to end reached it has given its answer.
    let through = end.how == RunEndKind::Exited { code: 0 };
    if lost || ended || (!through && is_stopped(plan.state, run, &end.how)) {
        if lost && call.cut_off + 1 >= LOST_RUNS {
            let how = format!("its runner was killed {LOST_RUNS} times in a row");
            return fail(plan, call, run, &how);
        }
        if settings.is_none_or(|settings| settings.again) {
            return cut_off(plan, call, lost);
        }
        over(
            plan,
            call,
            "was cut off, and is not called again",
            false,
            // What it guards is not let through for want of an answer.
            hook.can_veto(),
        );
        return warn(plan, call, "was cut off, and is not called again (onCrash)");
    }
    match &end.how {
        RunEndKind::Exited { code: 0 } => {
            over(plan, call, "exit code 0", true, false);
            plan.clear_warning(&key(hook));
        }
        RunEndKind::TimedOut => {
            let veto = hook.can_veto() && settings.is_some_and(|settings| settings.veto_on_timeout);
            plan.emit(HookTimedOut {
                hook,
                about: seq,
                veto,
            });
            let held = if veto {
                ""
            } else {
                "; swarm goes on without it"
            };
            warn(
                plan,
                call,
                &format!("took too long and was ended{held}; its output: .swarm/runs/{run}"),
            );
        }
        RunEndKind::NotStarted { message } => not_run(plan, call, message),
        RunEndKind::Exited { .. }
        | RunEndKind::Signalled { .. }
        | RunEndKind::Idle
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::OutputLimit
        | RunEndKind::Lost => fail(plan, call, run, &describe_end(&end.how, &end)),
    }
}

fn describe_end(how: &RunEndKind, end: &RunEnd) -> String {
    let said = end.last_words.as_ref();
    let said = said.map_or_else(String::new, |words| format!(": {words}"));
    format!("{how}{said}")
}

/// One that can hold its step does.
fn fail(plan: &mut Plan<'_>, call: &HookCall, run: &RunId, how: &str) {
    over(plan, call, how, false, call.hook.can_veto());
    if !call.hook.can_veto() {
        warn(
            plan,
            call,
            &format!("failed ({how}); its output: .swarm/runs/{run}"),
        );
    }
}

/// There is no output then to look at.
fn not_run(plan: &mut Plan<'_>, call: &HookCall, why: &str) {
    let holds = call.hook.can_veto();
    finished(plan, call, why, (false, holds), true);
    if !holds {
        warn(plan, call, &format!("failed: {why}"));
    }
}

fn key(hook: HookName) -> String {
    format!("{WARNING}{hook}")
}

fn warn(plan: &mut Plan<'_>, call: &HookCall, what: &str) {
    let about = call.idea.as_ref();
    let about = about.map_or_else(String::new, |idea| format!(", about {idea},"));
    let message = format!("the hook {}{about} {what}", call.hook);
    plan.warn(&key(call.hook), &message);
}

/// How the call went that holds a step, for those who wonder.
fn why(state: &State, hook: HookName) -> String {
    let last = state.hooks_last.get(&hook);
    let (how, run) = last.map_or(("failed", None), |last| {
        (last.how.as_str(), last.run.as_ref())
    });
    let output = run.map_or_else(String::new, |run| {
        format!("; its output: .swarm/runs/{run}")
    });
    format!("{}{how}{output}", hook.against())
}

/// Whether the hook before an attempt's first iteration lets it begin; asks, or blocks the idea,
/// where that is to be done.
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

/// The same for the hook before a landing; one that is against it makes the merge wait for a
/// person.
pub(super) fn may_land(plan: &mut Plan<'_>, entry: &MergeEntry, settings: &Settings) -> bool {
    match entry.pre_merge {
        Some(Passage::Free) => true,
        Some(Passage::Asked) => false,
        Some(Passage::Held) => {
            let waits = Waits {
                reason: why(plan.state, HookName::PreMerge),
                files: vec![],
                person: true,
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

/// Whoever is asked about an attempt that is to end is not waited for.
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

/// A person has looked at what an agent's landed work made of a hook.
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
