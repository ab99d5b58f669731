//! What the memory is worth: measures over the event log and the state.
//!
//! Invariant: pure. [`Measures`] folds each event of the log once, oldest first; [`stats`] adds
//! what the state knows. `sayings` measures what is said, `attempts` how agents fare and what they
//! use, `synthesis` what is summarised; `summary` puts all of it into words.

mod attempts;
mod sayings;
mod summary;
mod synthesis;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Aged;
use crate::domain::event::Event;
use crate::domain::memory::FactStatus;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::schema;
use attempts::Attempts;
pub use attempts::{ArmView, LiftView, TOO_FEW, UseView};
use sayings::Sayings;
pub use sayings::{DuplicationView, LatencyView};
pub use summary::{Measure, markdown, summary};
use synthesis::Summarised;
pub use synthesis::SynthesisView;

/// What the log says, up to the event `seq`.
#[derive(Debug, Clone, Default)]
pub struct Measures {
    /// The last event; 0 before the first.
    pub seq: u64,
    at: Timestamp,
    sayings: Sayings,
    attempts: Attempts,
    synthesis: Summarised,
}

impl Measures {
    /// Folds the next event of the log.
    pub fn fold(&mut self, seq: u64, at: Timestamp, event: &Event) {
        (self.seq, self.at) = (seq, at);
        // What the attempt was shown before counts, so it goes first.
        self.sayings.fold(seq, at, event, &self.attempts);
        self.attempts.fold(event, self.sayings.is_any());
        self.synthesis.fold(at, event);
    }
}

/// Writes that one daemon answered. Refused ones are not in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemorySinceStart)]
pub struct SinceStart {
    /// Changes to facts that were tried: accepted, or refused for another version.
    pub writes: u64,
    /// Those refused because the fact had another version by then.
    pub conflicts: u64,
    /// What the synthesis proposed and was written.
    pub synthesis_accepted: u64,
    /// What the synthesis proposed and was refused.
    pub synthesis_refused: u64,
}

/// What the memory is worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryStats)]
pub struct StatsView {
    /// Sequence number of the last event that counts.
    pub seq: u64,
    /// Its time.
    #[schema(schema_with = schema::time, required)]
    pub at: Timestamp,
    /// How much is said again.
    pub duplication: DuplicationView,
    /// How long a find takes to another agent.
    pub latency: LatencyView,
    /// Whether attempts that are shown the memory do better.
    pub lift: LiftView,
    /// What agents use of it.
    #[serde(rename = "use")]
    #[schema(rename = "use")]
    pub used: UseView,
    /// What the summarising runs wrote.
    pub synthesis: SynthesisView,
    /// The board and its evidence.
    pub facts: FactsView,
    /// Writes since the daemon started; null without a daemon, and for an earlier moment.
    #[schema(required)]
    pub since_start: Option<SinceStart>,
}

/// The board and its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryFacts)]
pub struct FactsView {
    /// Facts in force.
    pub facts: u64,
    /// Pieces of evidence for their values.
    pub links: u64,
    /// `links / facts`; null without facts.
    #[schema(required)]
    pub links_per_fact: Option<f64>,
    /// Facts that are contradicted.
    pub contradicted: u64,
    /// Facts whose files changed since.
    pub aged: u64,
}

/// The measures at the state's event, to which `measures` must have been folded.
pub fn stats(
    state: &State,
    aged: &Aged,
    measures: &Measures,
    since_start: Option<SinceStart>,
) -> StatsView {
    StatsView {
        seq: measures.seq,
        at: measures.at,
        duplication: measures.sayings.duplication(),
        latency: measures.sayings.latency(),
        lift: measures.attempts.lift(),
        used: measures.attempts.used(),
        synthesis: measures.synthesis.view(),
        facts: facts(state, aged),
        since_start,
    }
}

fn facts(state: &State, aged: &Aged) -> FactsView {
    let mut counts = FactsView {
        facts: 0,
        links: 0,
        links_per_fact: None,
        contradicted: 0,
        aged: 0,
    };
    for (key, fact) in state.facts.iter() {
        match fact.status() {
            FactStatus::Retracted => continue,
            FactStatus::Contradicted => counts.contradicted += 1,
            FactStatus::Active => {}
        }
        counts.facts += 1;
        counts.links += fact.evidence.count;
        counts.aged += u64::from(!aged.paths(key).is_empty());
    }
    counts.links_per_fact = share(counts.links, counts.facts);
    counts
}

/// `part / whole`; `None` of nothing.
#[allow(clippy::cast_precision_loss)] // counts stay far below 2^52
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The value below or at which this share of the sorted values lies (nearest rank); `None` of
/// nothing.
fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}
