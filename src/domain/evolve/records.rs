//! Folds events about provenance records and replays, and notes which iterations owe a record.

use crate::domain::event::{
    GateFailed, GateStarted, IterationRecorded, RecordsExpired, ReplayAsked, RunEnded,
};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::state::State;
use crate::domain::state::records::{GateResult, OwedRecord, Replay};
use crate::domain::time::Timestamp;

/// The run, if it is an iteration, owes a record from now on.
pub(super) fn owe(state: &mut State, at: Timestamp, run: &RunId, end: &RunEnd) {
    let keeps = state.settings.as_ref().is_some_and(|it| it.keep_records);
    let never_ran = matches!(end.how, RunEndKind::NotStarted { .. });
    if !keeps || never_ran {
        return;
    }
    let mut agents = state.agents.iter();
    let of_run = agents.find(|(_, attempt)| attempt.run.as_ref() == Some(run));
    let Some((agent, attempt)) = of_run else {
        return;
    };
    if matches!(
        attempt.phase,
        AttemptPhase::Preparing | AttemptPhase::Gating
    ) {
        return;
    }
    let owed = OwedRecord {
        agent: agent.clone(),
        idea: attempt.idea.clone(),
        attempt: attempt.number,
        iteration: attempt.iteration,
        profile: attempt.profile.clone(),
        task: attempt.task.clone(),
        started_at: attempt.iteration_at.unwrap_or(at),
        ended_at: at,
        adapter: attempt.started.adapter.clone(),
        said: attempt.said.clone(),
        session: attempt.session.as_ref().map(|it| it.id.clone()),
        end: end.clone(),
        gate: Vec::new(),
    };
    state.records.owed.insert(run.clone(), owed);
}

/// The record of the agent's last iteration, if it is still owed.
fn last_owed<'a>(state: &'a mut State, agent: &AgentId) -> Option<&'a mut OwedRecord> {
    let run = state.agents.get(agent)?.last_iteration()?;
    state.records.owed.get_mut(run)
}

pub(super) fn start_gate(state: &mut State, started: &GateStarted) {
    let commands = state.settings.as_ref().map(|it| &it.quality_commands);
    let command = commands.and_then(|commands| commands.get(started.index));
    let result = GateResult {
        run: started.run.clone(),
        command: command.cloned().unwrap_or_default(),
        passed: None,
        how: None,
    };
    if let Some(owed) = last_owed(state, &started.agent) {
        owed.gate.push(result);
    }
}

pub(super) fn pass_gate(state: &mut State, agent: &AgentId) {
    let owed = last_owed(state, agent);
    if let Some(last) = owed.and_then(|owed| owed.gate.last_mut()) {
        last.passed = Some(true);
    }
}

/// A failure on the merged tree judges more than the iteration, and is not its own.
pub(super) fn fail_gate(state: &mut State, failed: &GateFailed) {
    let feedback = &failed.feedback;
    let owed = last_owed(state, &failed.agent);
    let Some(last) = owed.and_then(|owed| owed.gate.last_mut()) else {
        return;
    };
    if !feedback.merged && feedback.run.as_ref() == Some(&last.run) {
        last.passed = Some(false);
        last.how = Some(feedback.how.clone());
    }
}

pub(super) fn record(state: &mut State, recorded: &IterationRecorded) {
    state.records.owed.remove(&recorded.run);
}

pub(super) fn expire(state: &mut State, expired: &RecordsExpired) {
    state.records.expired_before = Some(expired.before);
}

pub(super) fn ask_replay(state: &mut State, at: Timestamp, asked: &ReplayAsked) {
    state.counters.runs += 1;
    state.records.replay = Some(Box::new(Replay {
        by: asked.by.clone(),
        asked_at: at,
        of: asked.of.clone(),
        sha256: asked.sha256.clone(),
        profile: asked.profile.clone(),
        run: asked.run.clone(),
        requested: false,
        end: None,
    }));
}

pub(super) fn begin_replay(state: &mut State, run: &RunId) {
    let replay = state.records.replay.as_deref_mut();
    if let Some(replay) = replay.filter(|it| it.run == *run) {
        replay.requested = true;
    }
}

pub(super) fn end_replay(state: &mut State, ended: &RunEnded) {
    let replay = state.records.replay.as_deref_mut();
    if let Some(replay) = replay.filter(|it| it.run == ended.run) {
        replay.end = Some(Box::new(ended.end.clone()));
    }
}
