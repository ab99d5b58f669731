//! What agents found out, as people and programs see it.
//!
//! Invariant: every learning is there, in the order in which they were found, each with every agent
//! that found it.

use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::domain::ids::{AgentId, IdeaId, ProfileName};
use crate::domain::state::{Learning, State};
use crate::domain::time::Timestamp;

/// What an agent found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Learning)]
pub struct LearningView {
    /// Its id.
    pub id: String,
    /// `global`: for all agents; `local`: for those of the profile.
    #[schema(schema_with = schema::scopes, required)]
    pub scope: &'static str,
    /// The profile under which it was found first.
    #[schema(value_type = String)]
    pub profile: ProfileName,
    /// What was found out.
    pub content: String,
    /// Who found it, the first one first.
    pub sources: Vec<SourceView>,
    /// When it was found first.
    #[schema(schema_with = schema::time, required)]
    pub learned_at: Timestamp,
}

/// Who found something out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LearningSource)]
pub struct SourceView {
    /// The agent.
    #[schema(value_type = String)]
    pub agent: AgentId,
    /// On what it worked; none: nothing is known of that agent any more.
    #[schema(value_type = Option<String>)]
    pub idea_id: Option<IdeaId>,
}

/// All learnings, oldest first.
pub fn learnings(state: &State) -> Vec<LearningView> {
    let all = state.learnings.iter();
    all.map(|learning| view(state, learning)).collect()
}

fn view(state: &State, learning: &Learning) -> LearningView {
    let source = |agent: &AgentId| SourceView {
        agent: agent.clone(),
        idea_id: idea_of(state, agent),
    };
    LearningView {
        id: learning.id.clone(),
        scope: if learning.global { "global" } else { "local" },
        profile: learning.profile.clone(),
        content: learning.content.clone(),
        sources: learning.sources.iter().map(source).collect(),
        learned_at: learning.at,
    }
}

fn idea_of(state: &State, agent: &AgentId) -> Option<IdeaId> {
    let live = state.agents.get(agent).map(|attempt| &attempt.idea);
    let ended = || state.ended.get(agent).map(|attempt| &attempt.idea);
    live.or_else(ended).cloned()
}
