//! Which idea next: the ready ideas, best score first, ties by age.

use std::collections::HashMap;

use super::ids::IdeaId;
use super::settings::Mode;
use super::state::{Idea, IdeaStatus, State};
use super::time::Timestamp;

/// For each idea that waits on this one.
const PER_DEPENDENT: i64 = 10;
/// Tag `critical`.
const CRITICAL: i64 = 50;
/// Tag `quick-win`.
const QUICK_WIN: i64 = 30;
/// For each failed attempt.
const PER_FAILURE: i64 = -15;

/// Whether all ideas that must come before are done.
pub fn is_unlocked(state: &State, idea: &Idea) -> bool {
    let done = |id| {
        state
            .ideas
            .get(id)
            .is_some_and(|idea: &Idea| idea.status == IdeaStatus::Done)
    };
    idea.after.iter().all(done)
}

/// The same, of an idea by its id; one that is not there is not held up.
pub fn is_idea_unlocked(state: &State, id: &IdeaId) -> bool {
    let idea = state.ideas.get(id);
    idea.is_none_or(|idea| is_unlocked(state, idea))
}

/// Whether it may be started, leaving its time and the slots aside.
pub fn is_ready(state: &State, idea: &Idea) -> bool {
    let wanted = state.mode() == Mode::Autopilot || idea.assigned || idea.reserved.is_some();
    let ready = idea.status == IdeaStatus::Pending && wanted && is_unlocked(state, idea);
    ready && !is_awaiting(state, idea)
}

/// Whether an agent that was redirected to it has not ended yet.
fn is_awaiting(state: &State, idea: &Idea) -> bool {
    let from = idea.reserved.as_ref().map(|reserved| &reserved.from);
    let attempt = from.and_then(|from| state.agents.get(from));
    attempt.is_some_and(|attempt| attempt.redirect.is_some())
}

/// How many unfinished ideas wait on each.
fn dependents(state: &State) -> HashMap<&IdeaId, i64> {
    let mut count = HashMap::new();
    for (_, idea) in state.ideas.open() {
        for id in &idea.after {
            *count.entry(id).or_insert(0) += 1;
        }
    }
    count
}

/// The score that orders ideas; higher is sooner.
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

/// The idea to start now, if any that `may` start is ready and its time has come.
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
            // What an agent was redirected to comes first, then what a person assigned.
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
