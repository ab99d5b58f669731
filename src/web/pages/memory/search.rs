//! Finds facts and learnings by their words, as `swarm memory search` does.

use std::sync::Arc;

use crate::daemon::memory::finder::{Finder, Query};
use crate::domain::memory::{FactKey, FactStatus};
use crate::domain::state::State;
use crate::view::memory::HitView;
use crate::web::pages::WebError;
use crate::web::pages::asked::Asked;

/// What a search found, the best first.
pub struct Found {
    /// Facts of any status.
    pub facts: Vec<FactKey>,
    /// Learnings that nobody took back.
    pub learnings: Vec<HitView>,
}

/// Searches the memory of the moment. An earlier memory has an index of its own.
pub async fn find(asked: &Asked<'_>, text: String) -> Result<Found, WebError> {
    let (site, moment) = (Arc::clone(asked.site), asked.moment.clone());
    let search = move || {
        let of_then = moment.is_past().then(Finder::default);
        let finder = of_then.as_ref().unwrap_or(&site.api.finder);
        let read = |each: &mut dyn FnMut(&State)| moment.read(&site, |state| each(state));
        let query = Query {
            text: &text,
            limit: usize::MAX,
            all: true,
        };
        let hits = finder.search(&read, &query).hits;
        moment.read(&site, |state| sorted(state, hits))
    };
    let found = tokio::task::spawn_blocking(search).await;
    found.map_err(|error| WebError::failed(error.to_string()))
}

fn sorted(state: &State, hits: Vec<HitView>) -> Found {
    // A fact may have a key that looks like the id of a learning.
    let is_learning = |hit: &HitView| {
        let learning = state.learnings.get(&hit.reference);
        learning.is_some_and(|it| it.content == hit.text)
    };
    let (learnings, facts): (Vec<_>, Vec<_>) = hits.into_iter().partition(is_learning);
    let in_force = |hit: &HitView| hit.status != FactStatus::Retracted;
    let facts = facts.iter();
    Found {
        facts: facts.filter_map(|hit| hit.reference.parse().ok()).collect(),
        learnings: learnings.into_iter().filter(in_force).collect(),
    }
}
