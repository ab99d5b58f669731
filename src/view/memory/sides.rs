//! The sides of a fact: its value and the claims that contradict it, as a person compares them.

use super::Aged;
use super::fact::{EvidenceView, evidence};
use crate::domain::memory::{FactKey, Sources, confidence};
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// A side of a fact.
#[derive(Debug, Clone, PartialEq)]
pub struct SideView {
    /// Id of the rival claim; `None` for the value itself.
    pub claim: Option<String>,
    /// What it says; `None` if it only says that the value is wrong.
    pub value: Option<String>,
    /// From 0 to 1: how much evidence speaks for this side alone.
    pub weight: f64,
    /// When it was said first.
    pub at: Timestamp,
    /// Its first evidence and the newest, oldest first.
    pub evidence: Vec<EvidenceView>,
    /// How many pieces of evidence there were.
    pub evidence_count: u64,
}

/// The sides of a fact, the heavier first, of equals the newer. Empty if there is no such fact.
pub fn sides(state: &State, aged: &Aged, key: &FactKey) -> Vec<SideView> {
    let Some(fact) = state.facts.get(key) else {
        return Vec::new();
    };
    let is_aged = !aged.paths(key).is_empty();
    let side = |claim: Option<&String>, value: Option<&String>, sources: &Sources, is_aged| {
        let first = sources.kept.first();
        SideView {
            claim: claim.cloned(),
            value: value.cloned(),
            weight: confidence(state, sources, is_aged, false),
            at: first.map_or(fact.at, |first| first.at),
            evidence: sources.kept.iter().map(|it| evidence(state, it)).collect(),
            evidence_count: sources.count,
        }
    };
    let rivals = fact.rivals.iter();
    let rivals = rivals.map(|it| side(Some(&it.id), it.value.as_ref(), &it.evidence, false));
    let own = side(None, Some(&fact.value), &fact.evidence, is_aged);
    let mut sides: Vec<SideView> = std::iter::once(own).chain(rivals).collect();
    sides.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(b.at.cmp(&a.at)));
    sides
}
