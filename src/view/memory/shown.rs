//! What the conversation of an agent was shown of the memory.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::event::Event;
use crate::domain::ids::AgentId;
use crate::domain::state::State;

/// What an agent was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryShown)]
pub struct ShownView {
    /// The agent.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// Whether its prompts have no such section, to measure what it is worth.
    pub held: bool,
    /// The facts and learnings, by their reference.
    pub items: Vec<ShownItemView>,
}

/// A fact or learning that was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShownItem)]
pub struct ShownItemView {
    /// The fact's key, or the learning's id.
    #[serde(rename = "ref")]
    #[schema(rename = "ref")]
    pub reference: String,
    /// Version that was shown; 0 for what was shown as retracted.
    pub version: u64,
    /// What it says now; null if it no longer exists.
    pub text: Option<String>,
    /// Its version now; 0 if it is retracted or no longer exists.
    pub current_version: u64,
}

/// What a live agent's present conversation was shown; `None` if the agent is not alive.
pub fn shown(state: &State, id: &AgentId) -> Option<ShownView> {
    let attempt = state.agents.get(id)?;
    Some(view(state, id, attempt.memory.held, &attempt.memory.shown))
}

/// What an ended agent was shown, by the events of the log.
pub fn shown_by_log(state: &State, id: &AgentId, events: &[Event]) -> ShownView {
    let mut held = false;
    let mut items = BTreeMap::new();
    for event in events {
        if let Event::MemoryShown(shown) = event
            && shown.agent == *id
        {
            held = shown.held;
            if shown.fresh {
                items.clear();
            }
            let shown = shown.items.iter();
            items.extend(shown.map(|item| (item.reference.clone(), item.version)));
        }
    }
    view(state, id, held, &items)
}

fn view(state: &State, id: &AgentId, held: bool, items: &BTreeMap<String, u64>) -> ShownView {
    let items = items.iter();
    ShownView {
        agent_id: id.clone(),
        held,
        items: items
            .map(|(reference, version)| item(state, reference, *version))
            .collect(),
    }
}

fn item(state: &State, reference: &str, version: u64) -> ShownItemView {
    let learning = state.learnings.get(reference);
    let key = reference.parse().ok();
    let fact = key.and_then(|key| state.facts.get(&key));
    let (text, is_retracted, current) = match (learning, fact) {
        (Some(learning), _) => (Some(&learning.content), learning.retracted.is_some(), 1),
        (None, Some(fact)) => (Some(&fact.value), fact.retracted.is_some(), fact.version),
        (None, None) => (None, false, 0),
    };
    ShownItemView {
        reference: reference.to_owned(),
        version,
        text: text.cloned(),
        current_version: if is_retracted { 0 } else { current },
    }
}
