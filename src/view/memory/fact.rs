//! Facts: the board, and one fact with its history.

use std::cmp::Reverse;

use serde::Serialize;
use utoipa::ToSchema;

use super::{Aged, AuthorShape};
use crate::domain::memory::{
    Evidence, Fact, FactKey, FactStatus, OldValue, Retraction, Rival, confidence,
};
use crate::domain::request::Author;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::view::schema;

/// Earlier values that are shown unless more are asked for.
pub const SHOWN_HISTORY: usize = 8;

/// A fact of the board.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Fact)]
pub struct FactView {
    /// Its key.
    #[schema(value_type = String, example = "api.port")]
    pub key: FactKey,
    /// Its version, from 1; every write and every new dispute raises it.
    pub version: u64,
    /// Its value, one line.
    pub value: String,
    /// `active`; `contradicted`: rival claims stand beside it; `retracted`: taken back.
    #[schema(schema_with = schema::words::<FactStatus>, required)]
    pub status: FactStatus,
    /// Whether a person pinned it: it comes first, and agents cannot write it.
    pub pinned: bool,
    /// Paths of its evidence that changed since.
    pub aged: Vec<String>,
    /// From 0 to 1: how much evidence supports it. It orders, and decides nothing.
    pub confidence: f64,
    /// The claims that contradict it, oldest first.
    pub claims: Vec<ClaimView>,
    /// The first piece of evidence and the newest ones, oldest first; at most 16.
    pub evidence: Vec<EvidenceView>,
    /// How many pieces of evidence there were.
    pub evidence_count: u64,
    /// When this value was written.
    #[schema(schema_with = schema::time, required)]
    pub at: Timestamp,
    /// Who wrote this value.
    #[schema(value_type = AuthorShape)]
    pub by: Author,
    /// Why, in the words of the writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub why: Option<String>,
    /// Set while it is retracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub retracted: Option<RetractionView>,
}

/// A claim that contradicts a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Claim)]
pub struct ClaimView {
    /// `c1`, unique within the fact.
    pub id: String,
    /// The other value; null if it only says that the value is wrong.
    pub value: Option<String>,
    /// Who claimed it first.
    #[schema(value_type = AuthorShape)]
    pub by: Author,
    /// When.
    #[schema(schema_with = schema::time, required)]
    pub at: Timestamp,
    /// How many pieces of evidence it has.
    pub evidence_count: u64,
}

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Evidence)]
pub struct EvidenceView {
    /// The sequence number of its event.
    pub seq: u64,
    /// When it was given.
    #[schema(schema_with = schema::time, required)]
    pub at: Timestamp,
    /// Who gave it.
    #[schema(value_type = AuthorShape)]
    pub by: Author,
    /// Whether the idea of that agent has landed.
    pub landed: bool,
    /// The author's own words, if they differ from the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub quote: Option<String>,
    /// Files that it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub paths: Vec<String>,
    /// Sequence numbers of the events that the author refers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub refs: Vec<u64>,
}

/// Somebody took something back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Retraction)]
pub struct RetractionView {
    /// Who.
    #[schema(value_type = AuthorShape)]
    pub by: Author,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub why: Option<String>,
    /// When.
    #[schema(schema_with = schema::time, required)]
    pub at: Timestamp,
}

/// A fact with its history.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactDetail {
    /// The fact itself.
    #[serde(flatten)]
    pub fact: FactView,
    /// Earlier values and claims that lost, newest first.
    pub history: Vec<OldValueView>,
    /// How many there were in all.
    pub history_count: u64,
}

/// An earlier value of a fact, or a claim that lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OldValue)]
pub struct OldValueView {
    /// Version that had it; for a claim, the version that settled it.
    pub version: u64,
    /// The value.
    pub value: String,
    /// Who wrote it.
    #[schema(value_type = AuthorShape)]
    pub by: Author,
    /// When it was written.
    #[schema(schema_with = schema::time, required)]
    pub at: Timestamp,
    /// Whether it was a claim that lost.
    pub claim: bool,
}

/// The board: pinned facts first, then by confidence, then by key. Retracted ones are left out
/// unless `all` is set.
pub fn board(state: &State, aged: &Aged, all: bool) -> Vec<FactView> {
    let shown = |fact: &Fact| all || fact.retracted.is_none();
    let facts = state.facts.iter().filter(|(_, fact)| shown(fact));
    let mut board: Vec<FactView> = facts.map(|(key, it)| view(state, aged, key, it)).collect();
    board.sort_by(|a, b| {
        let rank = |fact: &FactView| (fact.retracted.is_some(), Reverse(fact.pinned));
        let by_rank = rank(a).cmp(&rank(b));
        by_rank
            .then(b.confidence.total_cmp(&a.confidence))
            .then_with(|| a.key.cmp(&b.key))
    });
    board
}

/// One fact with at most `history` earlier values.
pub fn fact(state: &State, aged: &Aged, key: &FactKey, history: usize) -> Option<FactDetail> {
    let fact = state.facts.get(key)?;
    let earlier = fact.history.iter().rev().take(history);
    Some(FactDetail {
        fact: view(state, aged, key, fact),
        history: earlier.map(old_value).collect(),
        history_count: fact.history.len() as u64 + fact.history_dropped,
    })
}

/// One fact of the board.
pub(super) fn view(state: &State, aged: &Aged, key: &FactKey, fact: &Fact) -> FactView {
    let aged = aged.paths(key).to_vec();
    let is_contradicted = !fact.rivals.is_empty();
    FactView {
        key: key.clone(),
        version: fact.version,
        value: fact.value.clone(),
        status: fact.status(),
        pinned: fact.pinned,
        confidence: confidence(state, &fact.evidence, !aged.is_empty(), is_contradicted),
        aged,
        claims: fact.rivals.iter().map(claim).collect(),
        evidence: fact
            .evidence
            .kept
            .iter()
            .map(|it| evidence(state, it))
            .collect(),
        evidence_count: fact.evidence.count,
        at: fact.at,
        by: fact.by.clone(),
        why: fact.why.clone(),
        retracted: fact.retracted.as_ref().map(retraction),
    }
}

fn claim(rival: &Rival) -> ClaimView {
    let first = rival.evidence.kept.first().cloned().unwrap_or_default();
    ClaimView {
        id: rival.id.clone(),
        value: rival.value.clone(),
        by: first.author,
        at: first.at,
        evidence_count: rival.evidence.count,
    }
}

/// One piece of evidence.
pub(super) fn evidence(state: &State, evidence: &Evidence) -> EvidenceView {
    let idea = evidence.author.idea().and_then(|id| state.ideas.get(id));
    EvidenceView {
        seq: evidence.seq,
        at: evidence.at,
        by: evidence.author.clone(),
        landed: idea.is_some_and(|idea| idea.status == IdeaStatus::Done),
        quote: evidence.quote.clone(),
        paths: evidence.paths.clone(),
        refs: evidence.refs.clone(),
    }
}

fn retraction(retraction: &Retraction) -> RetractionView {
    RetractionView {
        by: retraction.by.clone(),
        why: retraction.why.clone(),
        at: retraction.at,
    }
}

fn old_value(old: &OldValue) -> OldValueView {
    OldValueView {
        version: old.version,
        value: old.value.clone(),
        by: old.by.clone(),
        at: old.at,
        claim: old.rival,
    }
}
