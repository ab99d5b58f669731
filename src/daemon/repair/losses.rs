//! What a repair loses, so that a person can decide. Called by `repair`.
//!
//! Invariant: the losses are an upper bound; unreadable events are counted, never guessed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::evidence::Evidence;
use crate::domain::event::FoundLanding;
use crate::domain::ids::IdeaId;
use crate::domain::state::{IdeaStatus, State};

/// What a repair loses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Losses {
    /// The number of lost events, as far as is known.
    pub events: u64,
    /// The seq of the first lost event.
    pub from: u64,
    /// The number of events that stay in effect but can no longer be read.
    pub history: u64,
    /// How many of the lost events cannot be read.
    pub unreadable: u64,
    /// The readable lost events: the count of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// Ideas that would change.
    pub ideas: Vec<IdeaChange>,
    /// Landings in git that the kept events do not mention; ideas that are kept become done.
    pub landed_unknown: Vec<FoundLanding>,
}

/// An idea that a repair changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaChange {
    /// The idea.
    pub id: IdeaId,
    /// Its last known status; `None` if unknown. Equal to `to` if only its text changes.
    pub from: Option<IdeaStatus>,
    /// Its status after the repair; `None` if it is lost.
    pub to: Option<IdeaStatus>,
    /// The beginning of its text.
    pub text: String,
}

impl Losses {
    /// The losses by this evidence.
    pub(super) fn of(evidence: &Evidence, history: u64) -> Self {
        let from = evidence.after.seq + 1;
        let events = (evidence.highest + 1).saturating_sub(from);
        let mut kinds = BTreeMap::new();
        for record in &evidence.rest {
            *kinds.entry(record.event.kind().to_owned()).or_insert(0) += 1;
        }
        Self {
            events,
            from,
            history,
            unreadable: events.saturating_sub(evidence.rest.len() as u64),
            kinds,
            ideas: changes(evidence),
            landed_unknown: evidence.landings.clone(),
        }
    }
}

fn changes(evidence: &Evidence) -> Vec<IdeaChange> {
    let (before, after) = (&evidence.seen, &evidence.after);
    let landed: BTreeSet<&IdeaId> = evidence.landings.iter().map(|found| &found.idea).collect();
    let ids: BTreeSet<&IdeaId> = before.ideas.keys().chain(after.ideas.keys()).collect();
    let change = |id: &IdeaId| {
        let from = status(before, id);
        let to = status(after, id).map(|stays| {
            if landed.contains(id) {
                IdeaStatus::Done
            } else {
                stays
            }
        });
        let idea = before.ideas.get(id).or_else(|| after.ideas.get(id))?;
        let text = |state: &State| state.ideas.get(id).map(|idea| idea.text.clone());
        let is_edited = to.is_some() && text(before).is_some() && text(before) != text(after);
        (from != to || is_edited).then(|| IdeaChange {
            id: id.clone(),
            from,
            to,
            text: idea.text.chars().take(60).collect(),
        })
    };
    ids.into_iter().filter_map(change).collect()
}

fn status(state: &State, id: &IdeaId) -> Option<IdeaStatus> {
    Some(state.ideas.get(id)?.status)
}
