//! Which events a hook is told of, and what becomes of its calls.
//!
//! Invariant: a call is owed in the very fold of the event that it is about. One before a step goes with the attempt, or the merge, that the step
//! is of.

use std::collections::BTreeMap;

use crate::domain::effect::ConflictLevel;
use crate::domain::event::{
    AttemptEnded, Event, HookApproved, HookAsked, HookCutOff, HookFinished, HookStarted,
    HookTimedOut, IdeaLanded, Learned, MergeBuilt, MergeConflicted, MergeQueued, PauseSet,
    WarningRaised,
};
use crate::domain::hook::{HookCall, HookName, LastCall, Passage};
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::lifecycle::MergePhase;
use crate::domain::state::{Attempt, AttemptEnd, IdeaStatus, State};
use crate::domain::time::Timestamp;

/// So many contents of a hook stay approved.
const APPROVALS: usize = 20;

type Facts = BTreeMap<String, String>;

/// What is told: variables, without their `SWARM_`.
fn facts<const N: usize>(pairs: [(&str, String); N]) -> Facts {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The calls that this event makes owed, by the state before it: of hooks that there are.
pub(super) fn owed_by(state: &State, seq: u64, at: Timestamp, event: &Event) -> Vec<HookCall> {
    let Some(settings) = state.settings.as_ref().filter(|it| !it.hooks.is_empty()) else {
        return Vec::new();
    };
    let mut calls = about(state, at, event);
    calls.retain(|call| settings.hooks.contains_key(&call.hook));
    for call in &mut calls {
        call.seq = seq;
    }
    calls
}

fn call(
    hook: HookName,
    idea: Option<&IdeaId>,
    agent: Option<&AgentId>,
    facts: Facts,
) -> Vec<HookCall> {
    vec![HookCall {
        seq: 0,
        hook,
        idea: idea.cloned(),
        agent: agent.cloned(),
        facts,
        run: None,
        begun_at: None,
        cut_off: 0,
    }]
}

fn about(state: &State, at: Timestamp, event: &Event) -> Vec<HookCall> {
    match event {
        Event::HookAsked(HookAsked { hook, id, agent }) => asked(state, *hook, id, agent)
            .map_or_else(Vec::new, |facts| call(*hook, Some(id), Some(agent), facts)),
        Event::AttemptEnded(AttemptEnded {
            agent,
            end,
            status,
            message,
            ..
        }) => ended(state, at, agent, *end, *status, message.as_deref()),
        // Before the merge queue: its work is complete. What the queue gives back has been told of already.
        Event::MergeQueued(MergeQueued { id, agent, .. }) => match state.agents.get(agent) {
            Some(attempt) if attempt.returns == 0 && state.entry(id).is_none() => {
                complete(at, agent, attempt, IdeaStatus::Done)
            }
            _ => Vec::new(),
        },
        Event::IdeaLanded(IdeaLanded { id, commit }) => {
            let facts = facts([
                ("IDEA_ID", id.to_string()),
                ("COMMIT_HASH", commit.to_string()),
                ("TARGET", target(state)),
            ]);
            call(HookName::PostMerge, Some(id), None, facts)
        }
        Event::MergeConflicted(MergeConflicted {
            id, level, files, ..
        }) => conflict(id, *level, files),
        Event::MergeBuilt(MergeBuilt { id, resolved, .. }) if !resolved.is_empty() => {
            conflict(id, ConflictLevel::Simple, resolved)
        }
        Event::Learned(Learned {
            id,
            global,
            content,
            ..
        }) if !state.learnings.iter().any(|known| known.id == *id) => {
            let scope = if *global { "global" } else { "local" };
            let facts = facts([
                ("LEARNING_ID", id.clone()),
                ("SCOPE", scope.to_owned()),
                ("CONTENT", content.clone()),
            ]);
            call(HookName::OnLearning, None, None, facts)
        }
        Event::PauseSet(PauseSet { reason }) => {
            let running = state.agents.values().map(|attempt| attempt.idea.as_str());
            let facts = facts([
                ("REASON", reason.clone()),
                ("RUNNING_IDEAS", running.collect::<Vec<_>>().join(",")),
            ]);
            call(HookName::OnPause, None, None, facts)
        }
        // A hook that fails is not told of itself.
        Event::WarningRaised(WarningRaised { key, message }) if !key.starts_with(WARNING) => {
            error("warning", message, None)
        }
        _ => Vec::new(),
    }
}

fn error(kind: &str, message: &str, idea: Option<&IdeaId>) -> Vec<HookCall> {
    let facts = facts([
        ("ERROR_TYPE", kind.to_owned()),
        ("MESSAGE", message.to_owned()),
        ("IDEA_ID", idea.map_or_else(String::new, IdeaId::to_string)),
    ]);
    call(HookName::OnError, idea, None, facts)
}

/// An attempt that goes on later has not ended for those who are told.
fn ended(
    state: &State,
    at: Timestamp,
    agent: &AgentId,
    end: AttemptEnd,
    status: IdeaStatus,
    message: Option<&str>,
) -> Vec<HookCall> {
    let Some(attempt) = state.agents.get(agent) else {
        return Vec::new();
    };
    let idea = &attempt.idea;
    let mut calls = Vec::new();
    if status.is_bad() {
        calls.extend(complete(at, agent, attempt, status));
    }
    let kind = match end {
        AttemptEnd::Failed => "failed",
        AttemptEnd::TimedOut => "timeout",
        AttemptEnd::Crashed => "crashed",
        AttemptEnd::Blocked => "blocked",
        _ => return calls,
    };
    calls.extend(error(kind, message.unwrap_or_default(), Some(idea)));
    calls
}

fn complete(
    at: Timestamp,
    agent: &AgentId,
    attempt: &Attempt,
    status: IdeaStatus,
) -> Vec<HookCall> {
    let seconds = at.since(attempt.claimed_at).max(0) / 1_000;
    let facts = facts([
        ("IDEA_ID", attempt.idea.to_string()),
        ("AGENT", agent.to_string()),
        ("STATUS", status.as_str().to_owned()),
        ("DURATION", seconds.to_string()),
        ("BRANCH", attempt.branch.clone()),
    ]);
    let idea = Some(&attempt.idea);
    call(HookName::PostComplete, idea, Some(agent), facts)
}

/// How the keys of warnings about hooks begin.
pub(crate) const WARNING: &str = "hook-";

fn target(state: &State) -> String {
    let settings = state.settings.as_ref();
    settings.map_or_else(String::new, |settings| settings.target.clone())
}

fn conflict(id: &IdeaId, level: ConflictLevel, files: &[String]) -> Vec<HookCall> {
    let level = match level {
        ConflictLevel::Simple => "SIMPLE",
        ConflictLevel::Medium => "MEDIUM",
        ConflictLevel::Complex => "COMPLEX",
    };
    let facts = facts([
        ("IDEA_ID", id.to_string()),
        ("FILES", files.join("\n")),
        ("LEVEL", level.to_owned()),
    ]);
    call(HookName::OnConflict, Some(id), None, facts)
}

fn asked(state: &State, hook: HookName, id: &IdeaId, agent: &AgentId) -> Option<Facts> {
    if hook == HookName::PreMerge {
        let entry = state.entry(id)?;
        let commit = entry.commit.as_ref()?;
        return Some(facts([
            ("IDEA_ID", id.to_string()),
            ("BRANCH", entry.branch.clone()),
            ("TARGET", target(state)),
            ("COMMIT_HASH", commit.to_string()),
        ]));
    }
    let attempt = state.agents.get(agent)?;
    Some(facts([
        ("IDEA_ID", id.to_string()),
        ("AGENT", agent.to_string()),
        ("WORKTREE", attempt.worktree.clone()),
        ("BRANCH", attempt.branch.clone()),
    ]))
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

/// The step that the hook stands before.
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

/// A call is over; `last` becomes what is known of the hook's last call, with the run that made it.
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

/// What stood before a step of an attempt, or of a merge, that is over or begins anew is not asked any more.
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
        _ => true,
    };
    state.hooks.retain(wanted);
}
