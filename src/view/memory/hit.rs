//! What a search of the memory found.

use serde::Serialize;
use utoipa::ToSchema;

use super::Aged;
use crate::domain::memory::{FactKey, FactStatus, Learning, confidence};
use crate::domain::state::State;
use crate::view::schema;

/// A fact or a learning that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryHit)]
pub struct HitView {
    /// The fact's key, or the learning's id.
    #[serde(rename = "ref")]
    #[schema(rename = "ref")]
    pub reference: String,
    /// The fact's value, or the learning's sentence.
    pub text: String,
    /// The fact's version; 1 for a learning.
    pub version: u64,
    /// Whether it can be relied on.
    #[schema(schema_with = schema::words::<FactStatus>, required)]
    pub status: FactStatus,
    /// From 0 to 1: how much evidence supports it, whether or not its files changed since.
    pub confidence: f64,
    /// Whether it was dropped from the state, so that only the event log has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub compacted: bool,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemorySearch)]
pub struct SearchView {
    /// What fits best comes first.
    pub hits: Vec<HitView>,
    /// How many further ones fit.
    pub left_out: usize,
}

/// A fact as a hit.
pub fn fact_hit(state: &State, aged: &Aged, key: &FactKey) -> Option<HitView> {
    let fact = state.facts.get(key)?;
    let is_aged = !aged.paths(key).is_empty();
    Some(HitView {
        reference: key.to_string(),
        text: fact.value.clone(),
        version: fact.version,
        status: fact.status(),
        confidence: confidence(state, &fact.evidence, is_aged, !fact.rivals.is_empty()),
        compacted: false,
    })
}

/// A learning as a hit.
pub fn learning_hit(state: &State, learning: &Learning) -> HitView {
    let status = if learning.retracted.is_some() {
        FactStatus::Retracted
    } else {
        FactStatus::Active
    };
    HitView {
        reference: learning.id.clone(),
        text: learning.content.clone(),
        version: 1,
        status,
        confidence: confidence(state, &learning.evidence, false, false),
        compacted: false,
    }
}
