//! Checkpoints and rollbacks as far as the state knows them: what the page's lists show.
//!
//! Invariant: reads neither files nor git. What a rollback would change exactly is in its preview.

use crate::domain::ids::{CheckpointName, Oid};
use crate::domain::state::State;
use crate::domain::state::checkpoint::Reason;
use crate::domain::state::undo::Action;
use crate::domain::time::Timestamp;

use super::report::landed_at;

/// A checkpoint in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointView {
    /// Its name.
    pub name: CheckpointName,
    /// Its number for people.
    pub number: Option<u64>,
    /// Why it was made.
    pub reason: Reason,
    /// When it was requested.
    pub created_at: Timestamp,
    /// The target's commit.
    pub commit: Oid,
    /// Sequence number of the last event in its state.
    pub seq: u64,
    /// Ideas that have landed since and are still done.
    pub landed_since: usize,
}

/// A rollback that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackView {
    /// The number of the action, as `swarm undo` knows it.
    pub seq: u64,
    /// When it was done.
    pub at: Timestamp,
    /// The checkpoint that it went back to.
    pub to: CheckpointName,
    /// The checkpoint that it made first.
    pub safety: CheckpointName,
    /// Whether that checkpoint still exists.
    pub has_safety: bool,
    /// Whether `swarm undo` would take it back next.
    pub is_last: bool,
}

/// All checkpoints, newest first.
pub fn checkpoints(state: &State) -> Vec<CheckpointView> {
    let landings = landings(state);
    let each = state.checkpoints.iter().map(|(name, one)| CheckpointView {
        name: name.clone(),
        number: one.number,
        reason: one.reason,
        created_at: one.created_at,
        commit: one.commit.clone(),
        seq: one.seq,
        landed_since: landings.len() - landings.partition_point(|at| *at <= one.created_at),
    });
    let mut all: Vec<_> = each.collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.seq));
    all
}

/// The times at which the ideas landed that are done now, oldest first.
fn landings(state: &State) -> Vec<Timestamp> {
    let ideas = state.ideas.iter();
    let mut all: Vec<_> = ideas.filter_map(|(_, idea)| landed_at(idea)).collect();
    all.sort_unstable();
    all
}

/// The rollbacks that were not taken back, newest first.
pub fn rollbacks(state: &State) -> Vec<RollbackView> {
    let last = state.last_undoable().map(|last| last.seq);
    let each = state.undo.actions.iter().rev().filter_map(|one| {
        let Action::Rollback { to, safety } = &one.action else {
            return None;
        };
        Some(RollbackView {
            seq: one.seq,
            at: one.at,
            to: to.clone(),
            safety: safety.clone(),
            has_safety: state.checkpoints.contains_key(safety),
            is_last: last == Some(one.seq),
        })
    });
    each.collect()
}

/// A name for a new checkpoint that none has: `stem`, if need be with a number.
pub fn suggested_name(state: &State, stem: &str) -> String {
    let taken = |name: &str| state.checkpoints.keys().any(|known| known.as_str() == name);
    let numbered = (2..).map(|number| format!("{stem}-{number}"));
    let mut names = std::iter::once(stem.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}
