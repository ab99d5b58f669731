//! Folds events about hook calls.
//!
//! Invariant: a call is owed from the fold of the event that it is about, if a `hookOwed` event
//! before it announced the call. A call that guards a step is dropped with the attempt or merge
//! that the step belongs to.

use crate::domain::event::{
    Event, HookApproved, HookAsked, HookCutOff, HookFinished, HookOwed, HookStarted, HookTimedOut,
};
use crate::domain::hook::{HookCall, HookName, LastCall, Passage};
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::lifecycle::MergePhase;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// Number of approved contents kept per hook.
const APPROVALS: usize = 20;

/// The announced calls about this event.
pub(super) fn owed_by(state: &mut State, seq: u64, event: &Event) -> Vec<HookCall> {
    if matches!(event, Event::HookOwed(_)) {
        return Vec::new();
    }
    // After a torn log, what was announced may be about an event that was lost.
    let announced = std::mem::take(&mut state.hooks_announced);
    let its = announced.into_iter().filter(|owed| owed.of == event.kind());
    let call = |owed: HookOwed| HookCall {
        seq,
        hook: owed.hook,
        idea: owed.idea,
        agent: owed.agent,
        facts: owed.facts,
        run: None,
        begun_at: None,
        cut_off: 0,
    };
    its.map(call).collect()
}

pub(super) fn announce(state: &mut State, owed: &HookOwed) {
    state.hooks_announced.push(owed.clone());
}

pub(super) fn ask(state: &mut State, asked: &HookAsked) {
    pass(state, asked.hook, &asked.id, &asked.agent, Passage::Asked);
}

pub(super) fn start(state: &mut State, at: Timestamp, started: &HookStarted) {
    state.counters.runs += 1;
    with_call(state, started.hook, started.about, |call| {
        call.run = Some(started.run.clone());
        call.begun_at = Some(at);
    });
}

pub(super) fn cut_off(state: &mut State, cut_off: &HookCutOff) {
    with_call(state, cut_off.hook, cut_off.about, |call| {
        call.run = None;
        call.cut_off += u32::from(cut_off.lost);
    });
}

pub(super) fn finish(state: &mut State, at: Timestamp, finished: &HookFinished) {
    let HookFinished { hook, about, .. } = *finished;
    if finished.not_run {
        with_call(state, hook, about, |call| call.run = None);
    }
    let last = LastCall {
        at,
        run: None,
        how: finished.how.clone(),
        well: finished.well,
    };
    over(state, hook, about, last, finished.veto);
}

pub(super) fn time_out(state: &mut State, at: Timestamp, timed_out: &HookTimedOut) {
    let last = LastCall {
        at,
        run: None,
        how: "took too long".to_owned(),
        well: false,
    };
    over(state, timed_out.hook, timed_out.about, last, timed_out.veto);
}

pub(super) fn approve(state: &mut State, approval: &HookApproved) {
    let approved = state.hooks_approved.entry(approval.hook).or_default();
    approved.retain(|known| *known != approval.content);
    approved.push(approval.content.clone());
    let over = approved.len().saturating_sub(APPROVALS);
    approved.drain(..over);
}

fn with_call(state: &mut State, hook: HookName, seq: u64, change: impl FnOnce(&mut HookCall)) {
    let call = |call: &&mut HookCall| call.seq == seq && call.hook == hook;
    if let Some(call) = state.hooks.iter_mut().find(call) {
        change(call);
    }
}

/// Sets the state of the step that the hook guards.
fn pass(state: &mut State, hook: HookName, id: &IdeaId, agent: &AgentId, to: Passage) {
    if hook == HookName::PreMerge {
        let entry = state.queue.iter_mut().find(|entry| entry.idea == *id);
        if let Some(entry) = entry {
            entry.pre_merge = Some(to);
        }
    } else if let Some(attempt) = state.agents.get_mut(agent) {
        attempt.pre_start = Some(to);
    }
}

/// Ends a call; `last` becomes the hook's last result, with the run that made the call.
fn over(state: &mut State, hook: HookName, seq: u64, last: LastCall, veto: bool) {
    let this = |call: &HookCall| call.seq == seq && call.hook == hook;
    let Some(place) = state.hooks.iter().position(this) else {
        return;
    };
    let HookCall {
        run, idea, agent, ..
    } = state.hooks.remove(place);
    state.hooks_last.insert(hook, LastCall { run, ..last });
    if let (true, Some(id), Some(agent)) = (hook.can_veto(), &idea, &agent) {
        let to = if veto { Passage::Held } else { Passage::Free };
        pass(state, hook, id, agent, to);
    }
}

/// Drops calls that guard a step of an attempt or merge that is over or starts again.
pub(super) fn forget(state: &mut State) {
    let (agents, queue) = (&state.agents, &state.queue);
    let wanted = |call: &HookCall| match (call.hook, &call.agent, &call.idea) {
        (HookName::PreStart, Some(agent), _) => {
            let attempt = agents.get(agent);
            attempt.is_some_and(|attempt| attempt.pre_start == Some(Passage::Asked))
        }
        (HookName::PreMerge, _, Some(id)) => queue.iter().any(|entry| {
            entry.idea == *id
                && entry.phase == MergePhase::Landing
                && entry.pre_merge == Some(Passage::Asked)
        }),
        (
            HookName::PreStart
            | HookName::PostComplete
            | HookName::PreMerge
            | HookName::PostMerge
            | HookName::OnConflict
            | HookName::OnLearning
            | HookName::OnPause
            | HookName::OnError
            | HookName::OnNeedsYou,
            ..,
        ) => true,
    };
    state.hooks.retain(wanted);
}
