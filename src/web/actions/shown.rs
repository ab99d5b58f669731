//! What a form was drawn for. The form carries it; if it is another one when the form arrives,
//! the action is refused.
//!
//! Called by the pages, which draw the forms, and by the actions, which compare.

use axum::http::StatusCode;
use maud::{Markup, html};
use sha2::{Digest as _, Sha256};

use super::call::Call;
use crate::api::ApiError;
use crate::domain::attention::{ResolverQuestion, resolver_question};
use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::state::{Said, State};
use crate::web::entry::access::hex;
use crate::web::pages::WebError;

/// The field that carries it.
pub const FIELD: &str = "shown";

/// The hidden field. Its id differs with its value: a live update replaces the element, but never
/// changes the value of one that stays.
pub fn field(place: &str, shown: &str) -> Markup {
    html! { input type="hidden" id={ (place) "-" (shown) } name=(FIELD) value=(shown); }
}

/// The open question of an agent, named by the run that ended with it.
pub fn question<'s>(state: &'s State, agent: &AgentId) -> Option<(&'s RunId, &'s str)> {
    let attempt = state.agents.get(agent)?;
    let (AttemptPhase::WaitingForHuman, Some(Said::NeedsHuman(question))) =
        (attempt.phase, &attempt.said)
    else {
        return None;
    };
    Some((attempt.runs.last()?, question))
}

/// The open question of the resolver of an idea's conflict, and the agent that an answer goes to.
pub fn conflict_question<'s>(
    state: &'s State,
    idea: &IdeaId,
) -> Option<(&'s AgentId, ResolverQuestion<'s>)> {
    let entry = state.entry(idea)?;
    Some((&entry.agent, resolver_question(state, entry)?))
}

/// An idea as it is now.
pub fn idea(state: &State, id: &IdeaId) -> String {
    let idea = state.ideas.get(id);
    idea.map_or_else(String::new, |idea| idea.updated_at.millis().to_string())
}

/// The pause that a resume would lift, if there is one.
pub fn pause(state: &State) -> String {
    if !state.swarm.paused {
        return "none".into();
    }
    digest(state.swarm.pause_reason.as_deref().unwrap_or_default())
}

/// A short name for a text.
pub fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..8])
}

/// Whether the form was drawn for this. One without the field is for whatever there is.
pub(super) fn is(call: &Call, now: &str) -> bool {
    call.filled.get(FIELD).is_none_or(|shown| shown == now)
}

/// The refusal of a form that was drawn for something else.
pub(super) fn changed(message: String, details: impl Into<String>) -> WebError {
    let error = ApiError::new(StatusCode::CONFLICT, "CHANGED", message);
    error.details(details).into()
}
