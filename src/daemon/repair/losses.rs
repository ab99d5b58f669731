//! What a way out loses, for people to decide by.
//!
//! Invariant: an upper bound, told as such: what cannot be read is counted, not guessed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::evidence::Evidence;
use crate::domain::event::FoundLanding;
use crate::domain::ids::IdeaId;
use crate::domain::state::{IdeaStatus, State};

/// What is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Losses {
    /// So many events, as far as anything tells.
    pub events: u64,
    /// The first one's number.
    pub from: u64,
    /// So many events of which the effect stays can no longer be looked at.
    pub history: u64,
    /// So many of those that are gone cannot be read.
    pub unreadable: u64,
    /// The kinds of those that can be read, with how many of each.
    pub kinds: BTreeMap<String, u64>,
    /// Ideas that would stand otherwise than they stood.
    pub ideas: Vec<IdeaChange>,
    /// Landings that git has and the events that stay do not know. Ideas that stay are marked done.
    pub landed_unknown: Vec<FoundLanding>,
}

/// An idea that would stand otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaChange {
    /// The idea.
    pub id: IdeaId,
    /// How it stood, as far as that can be told; none: that is not known. The same as it would
    /// stand: its text is another.
    pub from: Option<IdeaStatus>,
    /// How it would stand; none: it is gone.
    pub to: Option<IdeaStatus>,
    /// The beginning of its text.
    pub text: String,
}

impl Losses {
    /// Of what stays by this evidence.
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
