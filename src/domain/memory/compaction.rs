//! What a compaction drops from the state. The event log keeps it.

use serde::{Deserialize, Serialize};

use super::{FactKey, Learnings};

/// Earlier values of a fact that a compaction leaves in the state.
pub const KEPT_VALUES: usize = 8;

/// Compactions that the state names, so that a missing summary is written again.
const NAMED: usize = 16;

/// The id of the learning with this number.
pub(in crate::domain) fn learning_id(number: u64) -> String {
    format!("learning-{number:03}")
}

/// The number in the id of a learning; `None` for any other text.
pub fn learning_number(id: &str) -> Option<u64> {
    let number = id.strip_prefix("learning-")?.parse().ok()?;
    (learning_id(number) == id).then_some(number)
}

/// Learnings whose numbers follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LearningRange {
    /// Number of the first one: 7 for `learning-007`.
    pub first: u64,
    /// Number of the last one.
    pub last: u64,
}

impl LearningRange {
    /// Joins numbers, given in ascending order, to as few ranges as possible.
    pub fn join(numbers: impl IntoIterator<Item = u64>) -> Vec<Self> {
        let mut ranges: Vec<Self> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some(range) if range.last.checked_add(1) == Some(number) => range.last = number,
                Some(_) | None => ranges.push(Self {
                    first: number,
                    last: number,
                }),
            }
        }
        ranges
    }

    /// How many they are.
    pub fn count(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    /// Whether the learning with this id is among them.
    pub fn has(&self, id: &str) -> bool {
        let number = learning_number(id);
        number.is_some_and(|number| (self.first..=self.last).contains(&number))
    }

    /// The ids of the first and the last one.
    pub fn ids(&self) -> (String, String) {
        (learning_id(self.first), learning_id(self.last))
    }
}

/// The oldest entries in the history of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldHistory {
    /// The fact.
    pub key: FactKey,
    /// How many entries.
    pub entries: u64,
}

/// What all compactions have dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Compacted {
    /// How many learnings.
    pub learnings: u64,
    /// Highest number of a learning among them.
    pub last: u64,
    /// Sequence numbers of the newest compactions, oldest first; at most 16.
    pub seqs: Vec<u64>,
}

impl Compacted {
    /// Whether this is the id of a learning that was dropped, given those that are left.
    pub fn has(&self, id: &str, left: &Learnings) -> bool {
        let number = learning_number(id);
        number.is_some_and(|number| (1..=self.last).contains(&number)) && left.get(id).is_none()
    }

    pub(in crate::domain) fn add(&mut self, seq: u64, learnings: u64, ranges: &[LearningRange]) {
        self.learnings += learnings;
        let last = ranges.iter().map(|range| range.last).max();
        self.last = self.last.max(last.unwrap_or_default());
        if self.seqs.len() >= NAMED {
            self.seqs.remove(0);
        }
        self.seqs.push(seq);
    }
}
