//! The board by pages: filtered by status, in the order of the board or of a search.

use std::cmp::Reverse;

use super::fact::{FactView, view};
use super::{Aged, is_in_force};
use crate::domain::memory::{Fact, FactKey, FactStatus, confidence};
use crate::domain::state::State;

/// Which facts of the board are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoardFilter {
    /// Facts of this status; `None` for all that are not retracted.
    pub status: Option<FactStatus>,
    /// What a search found, the best first; `None` for the whole board.
    pub found: Option<Vec<FactKey>>,
}

/// A page of the board.
#[derive(Debug, Clone, PartialEq)]
pub struct BoardPage {
    /// Facts that the filter finds.
    pub found: usize,
    /// The facts of this page.
    pub facts: Vec<FactView>,
    /// Facts that are not retracted, whatever their status.
    pub in_force: usize,
    /// Facts of each status, whatever the filter's status.
    pub counts: [(FactStatus, usize); 3],
}

/// Facts that are not retracted: what the board shows.
pub fn fact_count(state: &State) -> usize {
    state.facts.iter().filter(|(_, it)| is_in_force(it)).count()
}

/// At most `count` facts of the board after the first `skip`.
pub fn board_page(
    state: &State,
    aged: &Aged,
    filter: &BoardFilter,
    (skip, count): (usize, usize),
) -> BoardPage {
    let all: Vec<(&FactKey, &Fact)> = match &filter.found {
        Some(keys) => {
            let found = keys.iter();
            let found = found.filter_map(|key| Some((key, state.facts.get(key)?)));
            found.collect()
        }
        None => state.facts.iter().collect(),
    };
    let of = |status: FactStatus| all.iter().filter(|(_, it)| it.status() == status).count();
    let statuses = [
        FactStatus::Active,
        FactStatus::Contradicted,
        FactStatus::Retracted,
    ];
    let counts = statuses.map(|status| (status, of(status)));
    let in_force = all.iter().filter(|(_, it)| is_in_force(it)).count();
    let mut wanted = all;
    wanted.retain(|(_, fact)| match filter.status {
        Some(status) => fact.status() == status,
        None => is_in_force(fact),
    });
    if filter.found.is_none() {
        sort(state, aged, &mut wanted);
    }
    let shown = wanted.iter().skip(skip).take(count);
    BoardPage {
        found: wanted.len(),
        facts: shown.map(|(key, it)| view(state, aged, key, it)).collect(),
        in_force,
        counts,
    }
}

/// Pinned facts first, then by confidence, then by key.
fn sort(state: &State, aged: &Aged, facts: &mut Vec<(&FactKey, &Fact)>) {
    let rank = |key: &FactKey, fact: &Fact| {
        let (is_aged, is_contradicted) = (!aged.paths(key).is_empty(), !fact.rivals.is_empty());
        confidence(state, &fact.evidence, is_aged, is_contradicted)
    };
    let ranked = facts.drain(..);
    let mut ranked: Vec<_> = ranked.map(|(key, it)| (rank(key, it), key, it)).collect();
    ranked.sort_by(|a, b| {
        let by_pin = Reverse(a.2.pinned).cmp(&Reverse(b.2.pinned));
        by_pin.then(b.0.total_cmp(&a.0)).then_with(|| a.1.cmp(b.1))
    });
    facts.extend(ranked.into_iter().map(|(_, key, fact)| (key, fact)));
}
