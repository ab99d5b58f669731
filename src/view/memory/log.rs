//! Which events of the log are about the memory, and which of them somebody asks for.
//!
//! Invariant: an event about the memory names its author itself, so a page of the log needs no
//! event before it. A line that is passed over unparsed holds no event that is asked for.

use memchr::memmem;

use crate::domain::event::Event;
use crate::domain::ids::AgentId;
use crate::domain::time::Timestamp;
use crate::view::describe::{Point, Subjects};

/// The kinds of events about the memory.
pub const KINDS: [&str; 12] = [
    "learned",
    "factWritten",
    "factConfirmed",
    "factDisputed",
    "factPinned",
    "memoryRetracted",
    "notePut",
    "notesDropped",
    "memoryShown",
    "memoryRead",
    "memoryCompacted",
    "synthesised",
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

    /// The same for lines of the log that are not parsed yet.
    pub fn lines(&self) -> LineFilter<'_> {
        let agent = self.agent.as_ref();
        LineFilter {
            filter: self,
            agent: agent.map(|agent| memmem::Finder::new(agent.as_str())),
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

/// Which lines of the log may hold an event that is asked for.
#[derive(Debug)]
pub struct LineFilter<'f> {
    filter: &'f LogFilter,
    agent: Option<memmem::Finder<'f>>,
}

impl LineFilter<'_> {
    /// False only if [`LogFilter::wants`] is false for the line's event. `at` and `kind` are the
    /// line's own; an event of an agent has the agent's id in its line.
    pub fn may_want(&self, at: &str, kind: &str, line: &[u8]) -> bool {
        let LogFilter { since, until, .. } = self.filter;
        let is_after = |limit: Timestamp| at.parse().ok().map(|at: Timestamp| at > limit);
        let time = |point: &Option<Point>| match point {
            Some(Point::Time(time)) => Some(*time),
            Some(Point::Seq(_)) | None => None,
        };
        KINDS.contains(&kind)
            && self.filter.kind.as_deref().is_none_or(|it| it == kind)
            && self.agent.as_ref().is_none_or(|it| it.find(line).is_some())
            && time(since).is_none_or(|limit| is_after(limit) != Some(false))
            && time(until).is_none_or(|limit| is_after(limit) != Some(true))
    }
}
