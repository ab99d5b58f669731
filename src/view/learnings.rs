//! Learnings: `swarm memory learnings`.
//!
//! Invariant: lists every learning, oldest first, each with every agent that reported it.

use serde::Serialize;
use utoipa::ToSchema;

use super::memory::AuthorShape;
use super::schema;
use crate::domain::ids::{AgentId, IdeaId, ProfileName};
use crate::domain::memory::{Evidence, Learning};
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// Something that an agent learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Learning)]
pub struct LearningView {
    /// The learning's id.
    pub id: String,
    /// `global`: for all agents; `local`: for agents with this profile.
    #[schema(schema_with = schema::scopes, required)]
    pub scope: &'static str,
    /// The profile of the agent that reported it first; null if a person wrote it for all.
    #[schema(value_type = Option<String>)]
    pub profile: Option<ProfileName>,
    /// What was learned.
    pub content: String,
    /// Who reported it first.
    #[schema(value_type = AuthorShape)]
    pub by: Author,
    /// The agents that reported it, in order.
    pub sources: Vec<SourceView>,
    /// When it was first reported.
    #[schema(schema_with = schema::time, required)]
    pub learned_at: Timestamp,
    /// The fact that it is a claim about; null if it is about none.
    pub key: Option<String>,
    /// Whether it was taken back: prompts no longer show it.
    pub retracted: bool,
    /// How often it was reported.
    pub evidence_count: u64,
}

/// An agent that reported a learning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LearningSource)]
pub struct SourceView {
    /// The agent.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// The idea that it worked on; null if that is no longer known.
    #[schema(value_type = Option<String>)]
    pub idea_id: Option<IdeaId>,
}

/// All learnings, oldest first.
pub fn learnings(state: &State) -> Vec<LearningView> {
    let all = state.learnings.iter();
    all.map(|learning| view(state, learning)).collect()
}

fn view(state: &State, learning: &Learning) -> LearningView {
    let source = |evidence: &Evidence| {
        let agent = evidence.author.agent()?;
        let idea = evidence.author.idea().cloned();
        Some(SourceView {
            agent_id: agent.clone(),
            idea_id: idea.or_else(|| idea_of(state, agent)),
        })
    };
    let first = learning.evidence.kept.first();
    LearningView {
        id: learning.id.clone(),
        scope: if learning.global { "global" } else { "local" },
        profile: learning.profile.clone(),
        content: learning.content.clone(),
        by: first.map_or_else(Author::default, |it| it.author.clone()),
        sources: learning.evidence.kept.iter().filter_map(source).collect(),
        learned_at: learning.at,
        key: learning.key.as_ref().map(ToString::to_string),
        retracted: learning.retracted.is_some(),
        evidence_count: learning.evidence.count,
    }
}

fn idea_of(state: &State, agent: &AgentId) -> Option<IdeaId> {
    let live = state.agents.get(agent).map(|attempt| &attempt.idea);
    let ended = || state.ended.get(agent).map(|attempt| &attempt.idea);
    live.or_else(ended).cloned()
}
