//! Chooses the next idea: the ready one with the best score; ties go to the oldest.
//!
//! Invariant: pure and total; the same state and time give the same idea. Called when a slot is
//! free.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

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
    ready && !idea.held && !is_awaiting(state, idea)
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
        .max_by_key(|(id, idea)| rank(id, idea, waiting(id)))
        .map(|(id, _)| id.clone())
}

/// What decides between two ideas that may start; the greatest goes first.
type Rank<'i> = (bool, bool, i64, Reverse<(Timestamp, usize, &'i IdeaId)>);

/// An idea with a redirected agent comes first, then one that a person assigned.
fn rank<'i>(id: &'i IdeaId, idea: &Idea, dependents: i64) -> Rank<'i> {
    let age = (idea.created_at, id.as_str().len(), id);
    let score = score(idea, dependents);
    (idea.reserved.is_some(), idea.assigned, score, Reverse(age))
}

/// The pending ideas in the order in which they would start one at a time, if each landed at once.
/// Those that are held, or wait for an idea that is held or not pending, follow the others.
pub fn line(state: &State) -> Vec<&IdeaId> {
    let dependents = dependents(state);
    let pending = || state.ideas.open().filter(|(_, idea)| is_pending(idea));
    let mut missing: HashMap<&IdeaId, usize> = HashMap::new();
    let mut waiters: HashMap<&IdeaId, Vec<&IdeaId>> = HashMap::new();
    for (id, idea) in pending() {
        let first = idea
            .after
            .iter()
            .filter(|first| state.ideas.get(first).is_some_and(is_pending));
        for first in first {
            *missing.entry(id).or_insert(0) += 1;
            waiters.entry(first).or_default().push(id);
        }
    }
    let place = |id| place(state, id, dependents.get(id).copied().unwrap_or(0));
    let free = pending()
        .map(|(id, _)| id)
        .filter(|id| !missing.contains_key(id));
    let mut next: BinaryHeap<_> = free.filter_map(place).collect();
    let mut line = Vec::new();
    while let Some((_, _, id)) = next.pop() {
        line.push(id);
        for waiter in waiters.remove(id).unwrap_or_default() {
            let left = missing.entry(waiter).or_insert(1);
            *left -= 1;
            if *left == 0 {
                next.extend(place(waiter));
            }
        }
    }
    line
}

fn is_pending(idea: &Idea) -> bool {
    idea.status == IdeaStatus::Pending
}

/// What decides where a pending idea stands in the [`line()`]; the greatest goes first.
type Place<'s> = (bool, Rank<'s>, &'s IdeaId);

fn place<'s>(state: &'s State, id: &'s IdeaId, dependents: i64) -> Option<Place<'s>> {
    let idea = state.ideas.get(id)?;
    let comes_first = |first: &IdeaId| {
        let first = state.ideas.get(first);
        first.is_some_and(|it| (is_pending(it) && !it.held) || it.status == IdeaStatus::Done)
    };
    let is_free = !idea.held && idea.after.iter().all(comes_first);
    Some((is_free, rank(id, idea, dependents), id))
}
