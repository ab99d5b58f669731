//! Which events of the log are about the memory, and which of them somebody asks for.
//!
//! Invariant: an event about the memory names its author itself, so a page of the log needs no
//! event before it, except to find where a time lies.

use crate::domain::event::Event;
use crate::domain::ids::AgentId;
use crate::domain::time::Timestamp;
use crate::view::describe::{Point, Subjects};

/// The kinds of events about the memory.
pub const KINDS: [&str; 9] = [
    "learned",
    "factWritten",
    "factConfirmed",
    "factDisputed",
    "factPinned",
    "memoryRetracted",
    "notePut",
    "notesDropped",
    "memoryShown",
];

/// What somebody asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Only events after this point.
    pub since: Option<Point>,
    /// Only events up to this point.
    pub until: Option<Point>,
    /// Only events of this agent.
    pub agent: Option<AgentId>,
    /// Only events of this kind.
    pub kind: Option<String>,
}

impl LogFilter {
    /// The event after which reading starts.
    pub fn read_after(&self) -> u64 {
        match self.since {
            Some(Point::Seq(seq)) => seq,
            Some(Point::Time(_)) | None => 0,
        }
    }

    /// Whether an event is asked for.
    pub fn wants(&self, seq: u64, at: Timestamp, event: &Event) -> bool {
        let is_after = |point: Point| match point {
            Point::Seq(limit) => seq > limit,
            Point::Time(limit) => at > limit,
        };
        KINDS.contains(&event.kind())
            && self.since.is_none_or(is_after)
            && !self.until.is_some_and(is_after)
            && self.kind.as_deref().is_none_or(|kind| kind == event.kind())
            && self.agent.as_ref().is_none_or(|agent| {
                let subject = Subjects::default().resolve(seq, event);
                subject.agent.as_ref() == Some(agent)
            })
    }
}
