//! Chooses the next idea: the ready one with the best score; ties go to the oldest.
//!
//! Invariant: pure and total; the same state and time give the same idea. Called when a slot is
//! free.

use std::collections::HashMap;

use super::ids::IdeaId;
use super::settings::Mode;
use super::state::{Idea, IdeaStatus, State};
use super::time::Timestamp;

/// Score for each unfinished idea that depends on this one.
const PER_DEPENDENT: i64 = 10;
/// Score of the tag `critical`.
const CRITICAL: i64 = 50;
/// Score of the tag `quick-win`.
const QUICK_WIN: i64 = 30;
/// Score for each failed attempt.
const PER_FAILURE: i64 = -15;

/// Whether all its dependencies are done.
pub fn is_unlocked(state: &State, idea: &Idea) -> bool {
    let done = |id| {
        state
            .ideas
            .get(id)
            .is_some_and(|idea: &Idea| idea.status == IdeaStatus::Done)
    };
    idea.after.iter().all(done)
}

/// [`is_unlocked`] by id; true for an unknown idea.
pub fn is_idea_unlocked(state: &State, id: &IdeaId) -> bool {
    let idea = state.ideas.get(id);
    idea.is_none_or(|idea| is_unlocked(state, idea))
}

/// Whether it may start, apart from its time and the slots.
pub fn is_ready(state: &State, idea: &Idea) -> bool {
    let wanted = state.mode() == Mode::Autopilot || idea.assigned || idea.reserved.is_some();
    let ready = idea.status == IdeaStatus::Pending && wanted && is_unlocked(state, idea);
    ready && !is_awaiting(state, idea)
}

/// Whether an agent redirected to it has not ended yet.
fn is_awaiting(state: &State, idea: &Idea) -> bool {
    let from = idea.reserved.as_ref().map(|reserved| &reserved.from);
    let attempt = from.and_then(|from| state.agents.get(from));
    attempt.is_some_and(|attempt| attempt.redirect.is_some())
}

/// Number of unfinished ideas that depend on each idea.
fn dependents(state: &State) -> HashMap<&IdeaId, i64> {
    let mut count = HashMap::new();
    for (_, idea) in state.ideas.open() {
        for id in &idea.after {
            *count.entry(id).or_insert(0) += 1;
        }
    }
    count
}

/// Score that orders ideas; the highest goes first.
pub fn score(idea: &Idea, dependents: i64) -> i64 {
    let tag = |name: &str, points| {
        if idea.tags.iter().any(|tag| tag == name) {
            points
        } else {
            0
        }
    };
    (dependents * PER_DEPENDENT)
        .saturating_add(tag("critical", CRITICAL))
        .saturating_add(tag("quick-win", QUICK_WIN))
        .saturating_add(idea.priority)
        .saturating_add(PER_FAILURE * i64::from(idea.failed_attempts))
}

/// The idea to start now, among the ready ones that `may` start.
pub fn next(state: &State, now: Timestamp, may: impl Fn(&Idea) -> bool) -> Option<IdeaId> {
    let due = |idea: &Idea| idea.not_before.is_none_or(|time| time <= now) && may(idea);
    let mut ready = state
        .ideas
        .open()
        .filter(|(_, idea)| is_ready(state, idea) && due(idea))
        .peekable();
    ready.peek()?;
    let dependents = dependents(state);
    let waiting = |id: &IdeaId| dependents.get(id).copied().unwrap_or(0);
    ready
        .max_by(|(a_id, a), (b_id, b)| {
            // An idea with a redirected agent comes first, then one that a person assigned.
            let rank = |id, idea: &Idea| {
                let score = score(idea, waiting(id));
                (idea.reserved.is_some(), idea.assigned, score)
            };
            let by_score = rank(a_id, a).cmp(&rank(b_id, b));
            let by_age = (b.created_at, b_id.as_str().len(), *b_id).cmp(&(
                a.created_at,
                a_id.as_str().len(),
                *a_id,
            ));
            by_score.then(by_age)
        })
        .map(|(id, _)| id.clone())
}
