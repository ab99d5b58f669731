//! What the next synthesis reads: new learnings in groups, and the facts that are similar.

use serde::Serialize;
use utoipa::ToSchema;

use super::{HitView, Taken};
use crate::domain::event::Event;

/// What the next synthesis reads.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryNews)]
pub struct NewsView {
    /// The groups, in the order of their oldest learnings.
    pub groups: Vec<NewsGroupView>,
    /// How many new learnings a later synthesis reads.
    pub left: usize,
}

/// Learnings with similar words.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryNewsGroup)]
pub struct NewsGroupView {
    /// The learnings: the oldest first, then the most similar ones.
    pub learnings: Vec<HitView>,
    /// Facts with such words, the most similar first.
    pub facts: Vec<HitView>,
}

/// A synthesis began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SynthesisBegun)]
pub struct SynthesisBegunView {
    /// Its run.
    pub run: String,
    /// The sequence number of its event.
    pub seq: u64,
}

/// The answer to a request for a synthesis.
pub fn synthesis_begun(taken: &Taken<'_>) -> SynthesisBegunView {
    let begun = taken.events.iter().find_map(|event| {
        if let Event::EffectRequested(requested) = event {
            requested.effect.run_id().map(ToString::to_string)
        } else {
            None
        }
    });
    let before = || taken.before.and_then(|operation| operation.answer.clone());
    SynthesisBegunView {
        run: begun.or_else(before).unwrap_or_default(),
        seq: taken.seq,
    }
}
