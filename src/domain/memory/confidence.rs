//! How much evidence speaks for a value. It orders what is shown, and decides nothing.

use std::collections::BTreeMap;

use super::{Evidence, Sources};
use crate::domain::ids::IdeaId;
use crate::domain::request::Author;
use crate::domain::state::{IdeaStatus, State};

/// Weight of an idea that landed.
const LANDED: f64 = 0.5;
/// Weight of an idea that is still open.
const LIVE: f64 = 0.25;
/// Weight of an idea that ended without landing, and of one that is no longer known.
const ENDED: f64 = 0.05;
/// Factor of a value whose files changed since.
const AGED: f64 = 0.5;
/// Factor of a value that is contradicted.
const CONTRADICTED: f64 = 0.3;

/// From 0 to 1: `1 - (1 - w1)(1 - w2)...` over the distinct ideas that support a value; a person
/// counts 1. The synthesis counts nothing: what it names does.
pub fn confidence(state: &State, sources: &Sources, is_aged: bool, is_contradicted: bool) -> f64 {
    let mut weights: BTreeMap<Option<&IdeaId>, f64> = BTreeMap::new();
    for author in sources.kept.iter().flat_map(Evidence::voices) {
        let weight = weight(state, author);
        let known = weights.entry(author.idea()).or_default();
        *known = known.max(weight);
    }
    let doubt: f64 = weights.values().map(|weight| 1.0 - weight).product();
    let aged = if is_aged { AGED } else { 1.0 };
    let contradicted = if is_contradicted { CONTRADICTED } else { 1.0 };
    (1.0 - doubt) * aged * contradicted
}

/// The landed ideas among those that support a value.
pub fn landed_ideas<'a>(state: &State, sources: &'a Sources) -> Vec<&'a IdeaId> {
    let voices = sources.kept.iter().flat_map(Evidence::voices);
    let ideas = voices.filter_map(Author::idea);
    let mut landed: Vec<&IdeaId> = ideas
        .filter(|id| status_of(state, id) == Some(IdeaStatus::Done))
        .collect();
    landed.sort();
    landed.dedup();
    landed
}

fn status_of(state: &State, id: &IdeaId) -> Option<IdeaStatus> {
    state.ideas.get(id).map(|idea| idea.status)
}

fn weight(state: &State, author: &Author) -> f64 {
    if author.is_person() {
        return 1.0;
    }
    let status = author.idea().and_then(|id| status_of(state, id));
    match status {
        Some(IdeaStatus::Done) => LANDED,
        Some(IdeaStatus::Pending | IdeaStatus::Active | IdeaStatus::Merging) => LIVE,
        Some(
            IdeaStatus::Blocked | IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Cancelled,
        )
        | None => ENDED,
    }
}
