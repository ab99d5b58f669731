//! The last things that happened, in words.
//!
//! Invariant: at most [`MOST`]; how swarm keeps its own books is left out.

use std::collections::VecDeque;

use super::spans::Spans;
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::time::Timestamp;
use crate::view::describe::{self, Interest, Subjects, Tone};

/// How many are kept.
pub const MOST: usize = 24;

/// A thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Its event.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The event's kind.
    pub kind: &'static str,
    /// In words, on one line.
    pub words: String,
    /// Good, bad, or worth a look.
    pub tone: Tone,
    /// The idea that it is about.
    pub idea: Option<IdeaId>,
    /// The agent that it is about.
    pub agent: Option<AgentId>,
}

/// See the module.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stories(VecDeque<Told>);

impl Stories {
    pub(super) fn fold(&mut self, seq: u64, at: Timestamp, event: &Event, spans: &Spans) {
        if describe::interest(event) == Interest::Plumbing {
            return;
        }
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0
            .push_back(told(seq, at, event, |agent| spans.idea_of(agent)));
    }

    /// Oldest first.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Told> + DoubleEndedIterator {
        self.0.iter()
    }
}

/// An event in words; `idea_of` says whose idea an agent works on.
pub fn told(
    seq: u64,
    at: Timestamp,
    event: &Event,
    idea_of: impl Fn(&AgentId) -> Option<IdeaId>,
) -> Told {
    let mut subject = Subjects::default().resolve(seq, event);
    if subject.ideas.is_empty() {
        subject.ideas = subject
            .agent
            .as_ref()
            .and_then(idea_of)
            .into_iter()
            .collect();
    }
    Told {
        seq,
        at,
        kind: event.kind(),
        words: subject.named_in(describe::describe(event)),
        tone: describe::tone(event),
        idea: subject.ideas.into_iter().next(),
        agent: subject.agent,
    }
}
