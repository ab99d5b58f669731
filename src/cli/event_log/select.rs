//! Selects events by range, idea, agent and kind.
//!
//! Invariant: events pass through in the log's order, each once; what an event is about follows
//! from the events before it.

use serde_json::Value;

use crate::cli::event_json;
use crate::cli::json;
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, IdeaId};
use crate::view::describe::{Point, Subject, Subjects};

/// What somebody asks for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only events after this point.
    pub since: Option<Point>,
    /// Only events up to this point.
    pub until: Option<Point>,
    /// Only events about this idea.
    pub idea: Option<IdeaId>,
    /// Only events about this agent.
    pub agent: Option<AgentId>,
    /// Only events of this kind.
    pub kind: Option<String>,
}

impl Filter {
    /// The event after which reading starts. Ideas and agents are known only from the start of the
    /// log: an agent's later events do not name its idea.
    pub fn read_after(&self) -> u64 {
        match self.since {
            Some(Point::Seq(seq)) if self.idea.is_none() && self.agent.is_none() => seq,
            Some(_) | None => 0,
        }
    }
}

/// A selected event.
#[derive(Debug, PartialEq)]
pub struct Selected {
    /// The event; `None` if this version does not know its kind.
    pub event: Option<Event>,
    /// What it is about.
    pub subject: Subject,
}

/// A pass over the log.
#[derive(Debug)]
pub struct Selection {
    filter: Filter,
    subjects: Subjects,
    begun: bool,
    over: bool,
}

impl Selection {
    /// A pass that has read nothing yet.
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            subjects: Subjects::default(),
            begun: false,
            over: false,
        }
    }

    /// What is asked for.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether the range has ended.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The next event of the log, if it is selected.
    pub fn next(&mut self, document: &Value) -> Option<Selected> {
        let event = event_json::event(document);
        let seq = json::number(document, "seq");
        let subject = event
            .as_ref()
            .map_or_else(Subject::default, |event| self.subjects.resolve(seq, event));
        self.over |= self
            .filter
            .until
            .is_some_and(|until| is_after(document, until));
        self.begun |= self
            .filter
            .since
            .is_none_or(|since| is_after(document, since));
        let wanted = self.begun && !self.over && self.is_wanted(document, &subject);
        wanted.then_some(Selected { event, subject })
    }

    fn is_wanted(&self, document: &Value, subject: &Subject) -> bool {
        let Filter {
            idea, agent, kind, ..
        } = &self.filter;
        let kind_fits = kind
            .as_deref()
            .is_none_or(|kind| json::text(document, "kind") == kind);
        kind_fits
            && idea
                .as_ref()
                .is_none_or(|idea| subject.ideas.contains(idea))
            && agent
                .as_ref()
                .is_none_or(|agent| subject.agent.as_ref() == Some(agent))
    }
}

fn is_after(document: &Value, point: Point) -> bool {
    match point {
        Point::Seq(seq) => json::number(document, "seq") > seq,
        Point::Time(time) => json::time(document, "ts").is_some_and(|ts| ts > time),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn documents() -> Vec<Value> {
        let claimed = |agent: &str, idea: &str| {
            json!({"id": idea, "agent": agent, "attempt": 1, "profile": "ed", "branch": "b",
                "worktree": "w"})
        };
        let started = |agent: &str| json!({"agent": agent, "iteration": 1, "run": "r1"});
        let one = |seq: u64, second: u64, kind: &str, data: Value| {
            let ts = format!("2026-01-01T00:00:{second:02}.000Z");
            json!({"seq": seq, "ts": ts, "kind": kind, "data": data})
        };
        vec![
            one(1, 1, "ideaClaimed", claimed("ed-001", "idea-001")),
            one(2, 2, "ideaClaimed", claimed("ed-002", "idea-002")),
            one(3, 5, "iterationStarted", started("ed-001")),
            // The clock went back.
            one(4, 3, "iterationStarted", started("ed-002")),
            one(5, 6, "fromTheFuture", json!({"agent": "ed-001"})),
        ]
    }

    fn selected(filter: Filter) -> Vec<u64> {
        let mut selection = Selection::new(filter);
        let documents = documents();
        let fits = documents.iter().filter(|one| selection.next(one).is_some());
        fits.map(|one| json::number(one, "seq")).collect()
    }

    #[test]
    fn ranges_are_by_number_or_time() {
        let at = |second: u64| {
            let text = format!("2026-01-01T00:00:{second:02}.000Z");
            Some(Point::Time(text.parse().unwrap()))
        };
        let range = |since, until| {
            selected(Filter {
                since,
                until,
                ..Filter::default()
            })
        };
        assert_eq!(range(None, None), [1, 2, 3, 4, 5]);
        assert_eq!(range(Some(Point::Seq(3)), None), [4, 5]);
        assert_eq!(range(None, Some(Point::Seq(3))), [1, 2, 3]);
        assert_eq!(range(at(2), None), [3, 4, 5]);
        assert_eq!(range(None, at(4)), [1, 2]);
        assert_eq!(range(at(1), at(5)), [2, 3, 4]);
    }

    #[test]
    fn an_agents_events_belong_to_its_idea() {
        let idea = |id: &str| {
            selected(Filter {
                idea: Some(id.parse().unwrap()),
                since: Some(Point::Seq(1)),
                ..Filter::default()
            })
        };
        assert_eq!(idea("idea-001"), [3]);
        assert_eq!(idea("idea-002"), [2, 4]);
        let by_agent = Filter {
            agent: Some("ed-001".parse().unwrap()),
            ..Filter::default()
        };
        assert_eq!(selected(by_agent), [1, 3]);
        let by_kind = Filter {
            kind: Some("fromTheFuture".into()),
            ..Filter::default()
        };
        assert_eq!(selected(by_kind), [5]);
    }
}
