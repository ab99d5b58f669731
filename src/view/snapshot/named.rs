//! What a person may write for a state.

use jiff::tz::TimeZone;

use crate::domain::time::Timestamp;
use crate::view::describe::{self, Point};

/// What [`Named::parse`] understands, for messages.
pub const STATES: &str = "a state is `now`, `prev` (the snapshot before the newest one), an event \
    number, a time, an age (2h) or checkpoint:NAME";

/// A state that somebody named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'t> {
    /// The state after the last event.
    Now,
    /// The snapshot before the newest one.
    Previous,
    /// The state that a checkpoint holds.
    Checkpoint(&'t str),
    /// The state at a point of the log.
    Point(Point),
}

impl<'t> Named<'t> {
    /// From its text; `None` if that is no state.
    pub fn parse(text: &'t str, zone: &TimeZone, now: Timestamp) -> Option<Self> {
        match text {
            "now" => Some(Self::Now),
            "prev" => Some(Self::Previous),
            text => match text.strip_prefix("checkpoint:") {
                Some(name) => Some(Self::Checkpoint(name)),
                None => describe::point(text, zone, now).map(Self::Point),
            },
        }
    }
}
