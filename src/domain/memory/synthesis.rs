//! What a synthesis has to read: the learnings since the last one, oldest first, in batches that
//! fit into a prompt.
//!
//! Invariant: a batch follows from the state and its last number, so a run that starts again after
//! a crash reads the same. What is retracted or only repeats the synthesis is not news.

use serde::{Deserialize, Serialize};

use super::{Evidence, Learning};
use crate::domain::ids::RunId;
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::domain::usage::Spent;

/// Most learnings of one run, and most bytes that they take.
const MAX_LEARNINGS: usize = 200;
const MAX_BYTES: usize = 96 * 1024;

/// How far the learnings have been read, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Synthesis {
    /// Number of the last learning that a synthesis has read.
    #[serde(skip_serializing_if = "is_zero")]
    pub up_to: u64,
    /// Number of the learning after which new ones count for the next start: the last one that was
    /// read or, after a failure, the newest one of that time. A failing program would otherwise
    /// start again at once while more wait than one run reads.
    #[serde(skip_serializing_if = "is_zero")]
    pub after: u64,
    /// Runs in a row whose runner was killed.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_runs: u32,
    /// The run that wrote last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<RunId>,
    /// How often that run has written.
    #[serde(skip_serializing_if = "is_zero")]
    pub writes: u32,
    /// What all its runs used.
    #[serde(skip_serializing_if = "is_zero")]
    pub used: Spent,
}

impl Synthesis {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How often this run has written.
    pub fn writes_of(&self, run: &RunId) -> u32 {
        let is_writer = self.writer.as_ref() == Some(run);
        if is_writer { self.writes } else { 0 }
    }
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The learnings that no synthesis has read, oldest first.
pub fn unread(state: &State) -> Vec<&Learning> {
    let read = state.synthesis.up_to;
    let newest_first = state.learnings.iter().rev();
    let newest_first = newest_first.take_while(|learning| learning.number() > read);
    let mut unread: Vec<&Learning> = newest_first.filter(|it| is_news(it)).collect();
    unread.reverse();
    unread
}

/// Whether there is a learning that no synthesis has read.
pub fn has_unread(state: &State) -> bool {
    has_after(state, state.synthesis.up_to, 1)
}

/// Whether so many learnings are new that a synthesis starts by itself.
pub fn has_new(state: &State, at_least: u64) -> bool {
    has_after(state, state.synthesis.after, at_least)
}

fn has_after(state: &State, read: u64, at_least: u64) -> bool {
    let newest_first = state.learnings.iter().rev();
    let newest_first = newest_first.take_while(|learning| learning.number() > read);
    let wanted = usize::try_from(at_least).unwrap_or(usize::MAX);
    let found = newest_first.filter(|it| is_news(it)).take(wanted);
    found.count() == wanted
}

/// The learnings that the next run reads; with `up_to`, those of a run that ends there.
pub fn batch(state: &State, up_to: Option<u64>) -> Vec<&Learning> {
    let mut batch = unread(state);
    if let Some(up_to) = up_to {
        batch.retain(|learning| learning.number() <= up_to);
        return batch;
    }
    let mut bytes = 0;
    let fits = |learning: &&&Learning| {
        let is_first = bytes == 0;
        bytes += learning.content.len();
        is_first || bytes <= MAX_BYTES
    };
    let count = batch.iter().take(MAX_LEARNINGS).take_while(fits).count();
    batch.truncate(count);
    batch
}

/// Whether others than the synthesis say it to all, and nobody took it back.
fn is_news(learning: &Learning) -> bool {
    let is_of_others = |it: &Evidence| !matches!(it.author, Author::Synthesis { .. });
    let said = learning.evidence.kept.iter().any(is_of_others);
    learning.global && learning.retracted.is_none() && said
}
