//! Outages: times in which the untouched target failed a command that it had passed before, so that
//! something outside the work was at fault.
//!
//! Invariant: only [`evolve`](crate::domain::evolve) changes them. At most the last one goes on.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::ids::IdeaId;
use crate::domain::state::{State, is_zero};
use crate::domain::time::Timestamp;

/// An outage that begins within this time after the last one of the same command continues its
/// waits, in milliseconds.
const SAME_MS: i64 = 3_600_000;

/// A time in which the untouched target failed a command that it had passed before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outage {
    /// Setup or quality command that failed.
    pub command: String,
    /// When the target first failed it.
    pub since: Timestamp,
    /// When the target passed again or was to be checked by other rules; `None` while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How often the target failed it.
    pub tries: u32,
    /// Failures in earlier outages whose waits this one continues.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier: u32,
    /// Ideas whose checks or merges waited.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub waited: BTreeSet<IdeaId>,
}

impl State {
    /// How many waits of earlier outages the next one of this command continues.
    pub fn earlier_waits(&self, command: &str, now: Timestamp) -> u32 {
        let mut all = self.swarm.outages.iter();
        let last = all.rfind(|outage| outage.command == command);
        last.map_or(0, |last| match last.until {
            None => last.earlier,
            Some(until) if now.since(until) <= SAME_MS => last.earlier + last.tries,
            Some(_) => 0,
        })
    }

    /// Ideas whose checks or merges wait until the target passes.
    pub fn wait_for_target(&self) -> BTreeSet<IdeaId> {
        let attempts = self.agents.values();
        let checked = attempts.filter(|attempt| self.waits_for_target(attempt));
        let merged = self.held_by_target().map(|entry| &entry.idea);
        checked
            .map(|attempt| &attempt.idea)
            .chain(merged)
            .cloned()
            .collect()
    }
}
