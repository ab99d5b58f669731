//! What the log tells beyond the state: how busy the swarm was when, what marked the way, who
//! worked on what, what each run cost, and since when settings have their values. Pure folds over
//! the events; the page keeps them.
//!
//! Invariant: folding the whole log, or its beginning and then each new event, gives the same; the
//! size is bounded, whatever the length of the log.

mod activity;
mod costs;
mod marks;
mod settings;
mod spans;
mod stories;
#[cfg(test)]
mod tests;

pub use activity::{Activity, Column};
pub use costs::{Costs, Paid};
pub use marks::{Mark, MarkKind, Marks};
pub use settings::{Since, leaves};
pub use spans::{Bar, Lane, LaneBy, Spans, Work};
pub use stories::{Stories, Told, told};

use crate::domain::event::Event;
use crate::domain::time::Timestamp;

/// All of them, after the event `seq`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// The last event; 0 before the first.
    pub seq: u64,
    /// The time of the last event, or of an earlier one if the clock went back.
    pub last_at: Timestamp,
    /// How many events there were when.
    pub activity: Activity,
    /// What marked the way.
    pub marks: Marks,
    /// Who worked on what.
    pub spans: Spans,
    /// What runs cost.
    pub costs: Costs,
    /// The last things that happened, in words.
    pub stories: Stories,
    /// Since when each setting has its value.
    pub settings: Since,
}

impl History {
    /// Folds the next event of the log.
    pub fn fold(&mut self, seq: u64, at: Timestamp, event: &Event) {
        // A clock that went back does not turn the time bar back.
        let at = self.last_at.max(at);
        self.seq = seq;
        self.last_at = at;
        self.activity.fold(seq, at);
        self.marks.fold(seq, at, event, &self.spans);
        self.costs.fold(seq, at, event, &self.spans);
        self.stories.fold(seq, at, event, &self.spans);
        self.spans.fold(seq, at, event);
        self.settings.fold(seq, at, event);
    }
}
