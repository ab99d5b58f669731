//! What a compaction dropped from the state.

use serde::Serialize;
use utoipa::ToSchema;

use super::Taken;
use crate::domain::event::{Event, MemoryCompacted};
use crate::domain::memory::LearningRange;

/// The memory was compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryCompacted)]
pub struct CompactedView {
    /// How many learnings the state no longer has.
    pub learnings: u64,
    /// How many earlier values of facts the state no longer has, with the claims that lost.
    pub history: u64,
    /// The sequence numbers of its events; `.swarm/state/memory/summary-SEQ.md` says what went.
    pub events: Vec<u64>,
    /// The sequence number of the last event, or of the log's last event if there was nothing to
    /// drop.
    pub seq: u64,
}

/// The answer to a compaction.
pub fn compacted(taken: &Taken<'_>) -> CompactedView {
    let first = taken.seq + 1 - taken.events.len() as u64;
    let mut view = CompactedView {
        learnings: 0,
        history: 0,
        events: Vec::new(),
        seq: taken.seq,
    };
    for (seq, event) in (first..).zip(taken.events) {
        if let Event::MemoryCompacted(compacted) = event {
            view.learnings += learnings(compacted);
            view.history += history(compacted);
            view.events.push(seq);
        }
    }
    view
}

/// What it dropped, in words: `12 learnings and 3 earlier values`.
pub fn dropped(compacted: &MemoryCompacted) -> String {
    dropped_words(learnings(compacted), history(compacted))
}

/// The same by numbers.
pub fn dropped_words(learnings: u64, history: u64) -> String {
    let many = |count: u64, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        count => Some(format!("{count} {noun}s")),
    };
    let parts = [many(learnings, "learning"), many(history, "earlier value")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "nothing".to_owned();
    }
    parts.join(" and ")
}

fn learnings(compacted: &MemoryCompacted) -> u64 {
    compacted.learnings.iter().map(LearningRange::count).sum()
}

fn history(compacted: &MemoryCompacted) -> u64 {
    compacted.history.iter().map(|old| old.entries).sum()
}
