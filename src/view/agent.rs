//! Agents, running and ended: `swarm agent list`, `swarm agent show`.

use std::cmp::Reverse;

use serde::Serialize;
use utoipa::ToSchema;

use super::usage::UsedView;
use super::{schema, unread_messages, usage};
use crate::domain::attention::worktree_path;
use crate::domain::ids::{AgentId, IdeaId, ProfileName, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::state::message::Message;
use crate::domain::state::{Attempt, AttemptEnd, EndedAttempt, State};
use crate::domain::time::Timestamp;

/// One agent's attempt at an idea.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Agent)]
pub struct AgentView {
    /// The agent's id.
    #[schema(value_type = String)]
    pub id: AgentId,
    /// Its idea.
    #[schema(value_type = String)]
    pub idea_id: IdeaId,
    /// Its phase. An ended agent is `merged`, `failed` or `released`.
    #[schema(schema_with = schema::words::<AttemptPhase>, required)]
    pub phase: AttemptPhase,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::words::<AttemptEnd>, required = false)]
    pub end: Option<AttemptEnd>,
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// The number of its current or last iteration, from 1.
    pub iteration: u32,
    /// The process id of its program.
    #[schema(required)]
    pub pid: Option<u32>,
    /// Its current or last run resumed a conversation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub resumed: bool,
    /// Its profile.
    #[schema(value_type = String)]
    pub profile: ProfileName,
    /// Its worktree, or the last that it had; `null` while that is lent to another idea.
    #[schema(required)]
    pub worktree: Option<String>,
    /// Its branch.
    pub branch: String,
    /// The progress that it reported, in percent.
    #[schema(required)]
    pub progress: Option<u8>,
    /// When it started.
    #[schema(schema_with = schema::time, required)]
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::time, required = false)]
    pub ended_at: Option<Timestamp>,
    /// Its runs, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<String>)]
    pub runs: Vec<RunId>,
    /// Messages that no prompt has delivered yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub messages: Vec<String>,
    /// All messages to it with their stages, newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Message>, required = false)]
    pub said: Vec<MessageView>,
    /// The idea that takes its place when it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub redirected_to: Option<IdeaId>,
    /// The id of its conversation, as its program names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub session: Option<String>,
    /// Why it waits or ended, if something went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub reason: Option<String>,
    /// When its next iteration, or a setup that failed, may start at the earliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub not_before: Option<Timestamp>,
    /// When its program began to wait for its provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub provider_wait_since: Option<Timestamp>,
    /// What its iterations used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub used: Option<UsedView>,
}

/// A message from a person to an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    /// `accepted`: the next prompt delivers it; `delivered`: the current run has it; `seen`: that
    /// run has ended; `notDelivered`: the agent ended first, and the next attempt at its idea gets
    /// it; `neverRead`: the idea was done first.
    pub stage: &'static str,
    /// The message as it is stored.
    #[serde(flatten)]
    pub message: Message,
}

pub(super) fn live_agent(state: &State, id: &AgentId, attempt: &Attempt) -> AgentView {
    AgentView {
        id: id.clone(),
        idea_id: attempt.idea.clone(),
        phase: attempt.phase,
        end: None,
        attempt: attempt.number,
        iteration: attempt.iteration,
        pid: attempt.pid,
        resumed: attempt.started.resumed,
        profile: attempt.profile.clone(),
        worktree: own_worktree(state, attempt),
        branch: attempt.branch.clone(),
        progress: attempt.progress,
        started_at: attempt.claimed_at,
        ended_at: None,
        runs: attempt.runs.clone(),
        messages: attempt.messages.clone(),
        said: said(&attempt.heard, None),
        redirected_to: attempt
            .redirect
            .as_ref()
            .map(|redirect| redirect.to.clone()),
        session: attempt
            .session
            .as_ref()
            .map(|session| session.id.to_string()),
        reason: failed_setup(attempt)
            .or_else(|| awaited_checks(state, attempt))
            .or_else(|| awaited_provider(attempt)),
        not_before: attempt.not_before.filter(|_| {
            let setup = failed_setup(attempt).is_some();
            setup || attempt.phase == AttemptPhase::Backoff
        }),
        provider_wait_since: attempt.provider_wait.as_ref().map(|wait| wait.since),
        used: usage::any_used(&usage::by_attempt(attempt)),
    }
}

/// Path of the worktree that an attempt has.
pub fn own_worktree(state: &State, attempt: &Attempt) -> Option<String> {
    let own = attempt.lent().is_none();
    own.then(|| worktree_path(state, &attempt.worktree))
}

/// What keeps an attempt from its first iteration.
fn failed_setup(attempt: &Attempt) -> Option<String> {
    let due = attempt.setup.as_ref()?;
    let failed = attempt.phase == AttemptPhase::Preparing && due.tries > 0;
    failed.then(|| match due.tries {
        1 => "its setup failed".to_owned(),
        tries => format!("its setup failed {tries} times in a row"),
    })
}

/// What keeps an attempt from its next quality command.
fn awaited_checks(state: &State, attempt: &Attempt) -> Option<String> {
    let waits = state.waits_for_checks(attempt);
    waits.then(|| "its check waits for another check to end (checks.maxParallel)".to_owned())
}

/// What the program of the current run waits for at its provider.
fn awaited_provider(attempt: &Attempt) -> Option<String> {
    let wait = attempt.provider_wait.as_ref()?;
    Some(format!("waiting for the provider: {}", wait.why))
}

/// Why an attempt ended, as its idea's history has it.
fn why_ended(state: &State, ended: &EndedAttempt) -> Option<String> {
    let released = ended.end == AttemptEnd::Released;
    let idea = state.ideas.get(&ended.idea).filter(|_| released)?;
    let mut lines = idea.audit.iter().rev();
    let line = lines.find(|line| line.at == ended.ended_at && line.what == "released")?;
    (!line.detail.is_empty()).then(|| line.detail.clone())
}

fn ended_agent(state: &State, id: &AgentId, ended: &EndedAttempt) -> AgentView {
    let phase = match ended.end {
        AttemptEnd::Merged | AttemptEnd::NothingToMerge => AttemptPhase::Merged,
        AttemptEnd::Blocked | AttemptEnd::Failed | AttemptEnd::TimedOut => AttemptPhase::Failed,
        AttemptEnd::Crashed
        | AttemptEnd::Stopped
        | AttemptEnd::Interrupted
        | AttemptEnd::Cancelled
        | AttemptEnd::Released
        | AttemptEnd::Redirected => AttemptPhase::Released,
    };
    AgentView {
        id: id.clone(),
        idea_id: ended.idea.clone(),
        phase,
        end: Some(ended.end),
        attempt: ended.number,
        iteration: ended.iteration,
        pid: None,
        resumed: false,
        profile: ended.profile.clone(),
        worktree: Some(worktree_path(state, &ended.worktree)),
        branch: ended.branch.clone(),
        progress: None,
        started_at: ended.claimed_at,
        ended_at: Some(ended.ended_at),
        runs: ended.runs.clone(),
        messages: vec![],
        said: said(&ended.heard, Some(ended.end)),
        redirected_to: None,
        session: ended.session.as_ref().map(ToString::to_string),
        reason: why_ended(state, ended),
        not_before: None,
        provider_wait_since: None,
        used: usage::any_used(&ended.used),
    }
}

fn said(heard: &[Message], ended: Option<AttemptEnd>) -> Vec<MessageView> {
    let stage = |message: &Message| match (message.seen_at, message.delivered_at) {
        (Some(_), _) => "seen",
        (None, Some(_)) => "delivered",
        (None, None) => match ended {
            None => "accepted",
            Some(end) if unread_messages::is_last(end) => "neverRead",
            Some(_) => "notDelivered",
        },
    };
    let each = heard.iter().map(|message| MessageView {
        stage: stage(message),
        message: message.clone(),
    });
    each.collect()
}

/// One agent, running or ended; `None` if there is no such agent.
pub fn agent(state: &State, id: &AgentId) -> Option<AgentView> {
    let live = state
        .agents
        .get(id)
        .map(|attempt| live_agent(state, id, attempt));
    live.or_else(|| {
        state
            .ended
            .get(id)
            .map(|ended| ended_agent(state, id, ended))
    })
}

/// All agents, oldest first.
pub fn agents(state: &State) -> Vec<AgentView> {
    let mut all = last_ended_agents(state, usize::MAX);
    all.extend(live_agents(state));
    all.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    all
}

/// The agents that have not ended, oldest first.
pub fn live_agents(state: &State) -> Vec<AgentView> {
    let all = state.agents.iter();
    let mut all: Vec<_> = all
        .map(|(id, attempt)| live_agent(state, id, attempt))
        .collect();
    all.sort_by_key(|agent| agent.started_at);
    all
}

/// The agents that have ended, the last to start first, at most `most`.
pub fn last_ended_agents(state: &State, most: usize) -> Vec<AgentView> {
    let mut all: Vec<_> = state.ended.iter().collect();
    all.sort_by_key(|(id, ended)| Reverse((ended.claimed_at, *id)));
    let last = all.into_iter().take(most);
    last.map(|(id, ended)| ended_agent(state, id, ended))
        .collect()
}
