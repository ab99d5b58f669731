//! An agent's state on its own, for `swarm agent export`: who it is, what it and its model said,
//! and what it was told from elsewhere. `message_log` puts the messages together,
//! `import` says what an import makes of it here.
//!
//! Invariant: tools are in no file, because the program makes them anew. The values of a profile's
//! environment are not here. Names, once released, keep their meaning.

pub mod contexts;
pub mod import;
pub mod message_log;

use std::io;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::contexts::{Contexts, LearningsContext, WorktreeContext};
use self::message_log::{Message, Repair};
use super::{memory, schema, usage};
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, IdeaId, ProfileName, RunId};
use crate::domain::session::SessionId;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::domain::usage::{MicroUsd, Spent};

/// Value of [`AgentState::format`].
pub const FORMAT: &str = "swarm-agent";
/// Version of the format that this program writes.
pub const VERSION: &str = "1.0.0";

/// The state of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentState {
    /// Always `swarm-agent`.
    pub format: String,
    /// Version of the format.
    pub version: String,
    /// Time of the last event in it, so that the same state gives the same bytes.
    #[schema(schema_with = schema::time, required)]
    pub exported_at: Timestamp,
    /// Where it comes from.
    pub source: Source,
    /// Who it is.
    pub identity: Identity,
    /// Its program and model.
    pub model: Model,
    /// Limits of its idea.
    pub token_budget: TokenBudget,
    /// What its runs used.
    pub token_usage: TokenUsage,
    /// What it and its model said, and what tools answered.
    pub message_log: Vec<Message>,
    /// What was added to the messages or left out.
    pub repairs: Vec<Repair>,
    /// The conversation as its program keeps it; null if swarm cannot copy it.
    #[schema(required)]
    pub conversation: Option<ConversationFile>,
    /// What it was told from elsewhere.
    pub contexts: Contexts,
}

impl AgentState {
    /// The bytes of its file.
    ///
    /// # Errors
    /// None that is known: the fields are plain.
    pub fn document(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Where a state comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentStateSource)]
pub struct Source {
    /// Identity of the swarm: SHA-256 of the first record of its log.
    #[schema(required)]
    pub swarm_id: Option<String>,
    /// Number of the last event.
    pub seq: u64,
    /// Running checksum of the log up to it, in hex.
    #[schema(required)]
    pub log_crc: Option<String>,
}

/// Who an agent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentIdentity)]
pub struct Identity {
    /// Its id, unique within its swarm.
    #[schema(value_type = String)]
    pub id: AgentId,
    /// Its id among all swarms; equal for equal swarm and id.
    #[schema(required)]
    pub uuid: Option<String>,
    /// Its profile.
    #[schema(value_type = String)]
    pub name: ProfileName,
    /// Its idea.
    #[schema(value_type = String)]
    pub idea_id: IdeaId,
    /// The idea's text.
    pub idea_text: String,
    /// Number of the attempt at this idea, from 1.
    pub attempt: u32,
    /// Number of its iterations.
    pub iterations: u32,
    /// The agent that it goes on for, in another swarm or at another idea; null if none.
    #[schema(required)]
    pub imported_from: Option<String>,
}

/// Program and model of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentModel)]
pub struct Model {
    /// How swarm talks to the program; null if no run is left that says so.
    #[schema(required)]
    pub adapter: Option<String>,
    /// The program, if the profile names one.
    #[schema(required)]
    pub program: Option<String>,
    /// The model that was asked for; null for the program's own choice.
    #[schema(required)]
    pub asked: Option<String>,
    /// Models that answered, as far as the program said.
    pub used: Vec<String>,
}

/// Limits of an idea; null for none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenBudget {
    /// In tokens of all kinds.
    #[schema(required)]
    pub tokens: Option<u64>,
    /// In US dollars.
    #[schema(required)]
    pub usd: Option<f64>,
}

/// What an agent's runs used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Input tokens, cached ones included.
    pub prompt: u64,
    /// Output tokens.
    pub completion: u64,
    /// Both.
    pub total: u64,
    /// Cost in US dollars, reported or estimated.
    pub usd: f64,
    /// These are lower bounds: some runs were not counted whole.
    pub partial: bool,
}

/// A conversation as a program keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationFile {
    /// The adapter whose program can go on with it.
    pub kind: String,
    /// Its id.
    #[schema(value_type = String)]
    pub session: SessionId,
    /// Name of its file, without folders.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: String,
}

/// What the state of a swarm says of an agent, and the runs whose output says the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct FromState {
    /// The state without messages, conversation and the contexts that are in files.
    pub state: AgentState,
    /// Its runs, oldest first.
    pub runs: Vec<RunId>,
    /// Its own conversation.
    pub session: Option<SessionId>,
    /// Name of its worktree.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// Whether it has ended.
    pub has_ended: bool,
}

impl FromState {
    /// Adds what an ended agent was shown of the memory, by the events of the log.
    pub fn add_shown(&mut self, state: &State, events: &[Event]) {
        let shown = memory::shown_by_log(state, &self.state.identity.id, events);
        self.state.contexts.learnings = LearningsContext::of(&shown);
    }
}

/// One agent, running or ended, as far as the state knows; `None` if there is no such agent.
pub fn from_state(state: &State, id: &AgentId) -> Option<FromState> {
    if let Some(attempt) = state.agents.get(id) {
        let identity = Identity {
            imported_from: attempt.imported.as_ref().map(|from| from.origin()),
            iterations: attempt.iteration,
            ..identity(state, id, &attempt.idea, &attempt.profile, attempt.number)
        };
        let own = |oid: &Option<_>| oid.as_ref().map(ToString::to_string);
        let kept = attempt.kept.as_ref();
        let saved = kept.and_then(|kept| kept.worktree.saved.as_ref());
        let worktree = WorktreeContext {
            id: attempt.last_worktree().to_owned(),
            branch: attempt.branch.clone(),
            base: own(&attempt.base),
            tip: own(&attempt.head),
            wip: saved.and_then(|saved| own(&saved.wip)),
        };
        let mut shown = state_of(state, identity, &usage::by_attempt(attempt), worktree);
        shown.model.adapter.clone_from(&attempt.started.adapter);
        return Some(FromState {
            state: shown,
            runs: attempt.runs.clone(),
            session: attempt.own_session().map(|session| session.id.clone()),
            worktree: attempt.last_worktree().to_owned(),
            branch: attempt.branch.clone(),
            has_ended: false,
        });
    }
    let ended = state.ended.get(id)?;
    let identity = Identity {
        imported_from: ended.imported.as_ref().map(|from| from.origin()),
        iterations: ended.iteration,
        ..identity(state, id, &ended.idea, &ended.profile, ended.number)
    };
    let worktree = WorktreeContext {
        id: ended.worktree.clone(),
        branch: ended.branch.clone(),
        ..WorktreeContext::default()
    };
    Some(FromState {
        state: state_of(state, identity, &ended.used, worktree),
        runs: ended.runs.clone(),
        session: ended.session.clone(),
        worktree: ended.worktree.clone(),
        branch: ended.branch.clone(),
        has_ended: true,
    })
}

fn identity(
    state: &State,
    id: &AgentId,
    idea: &IdeaId,
    profile: &ProfileName,
    attempt: u32,
) -> Identity {
    let text = state.ideas.get(idea).map(|idea| idea.text.to_string());
    Identity {
        id: id.clone(),
        uuid: None,
        name: profile.clone(),
        idea_id: idea.clone(),
        idea_text: text.unwrap_or_default(),
        attempt,
        iterations: 0,
        imported_from: None,
    }
}

fn state_of(
    state: &State,
    identity: Identity,
    spent: &Spent,
    worktree: WorktreeContext,
) -> AgentState {
    let budget = state.settings.as_deref().map(|settings| settings.budget);
    let budget = budget.unwrap_or_default();
    let tokens = spent.tokens;
    AgentState {
        format: FORMAT.to_owned(),
        version: VERSION.to_owned(),
        exported_at: state.swarm.last_event_at,
        source: Source {
            seq: state.seq,
            ..Source::default()
        },
        model: Model::default(),
        token_budget: TokenBudget {
            tokens: budget.tokens_per_idea,
            usd: budget.usd_per_idea.map(MicroUsd::dollars),
        },
        token_usage: TokenUsage {
            prompt: tokens.total().saturating_sub(tokens.output),
            completion: tokens.output,
            total: tokens.total(),
            usd: spent.cost.plus(spent.estimated).dollars(),
            partial: spent.runs_not_counted > 0 || spent.runs_without_cost > 0,
        },
        message_log: vec![],
        repairs: vec![],
        conversation: None,
        contexts: Contexts::from_state(state, &identity.id, worktree),
        identity,
    }
}
