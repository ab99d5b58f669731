//! The views over states that commands made.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use serde_json::json;

use super::*;
use crate::domain::decide;
use crate::domain::event::Event;
use crate::domain::evolve::evolve;
use crate::domain::memory::{
    Claim, DisputeFact, Evidence, Fact, Learn, MemoryCommand, PutNote, Sources, WriteFact,
};
use crate::domain::operation::Command;
use crate::domain::request::{Author, Operation};
use crate::domain::state::{IdeaStatus, State};
use crate::domain::testkit::memory_samples;
use crate::domain::time::Timestamp;
use crate::view::describe::Point;
use crate::view::schema::event_kinds;
use crate::view::testkit;

fn carry_out(state: &mut State, command: MemoryCommand) -> Vec<Event> {
    let now = Timestamp::from_millis(1_000);
    let events = decide::command(state, &Command::Memory(command), now).unwrap();
    for event in &events {
        let seq = state.seq + 1;
        evolve(state, seq, now, event);
    }
    events
}

fn write(state: &mut State, key: &str, value: &str) -> Vec<Event> {
    let write = WriteFact {
        key: key.parse().unwrap(),
        value: value.into(),
        expected: None,
        claim: Claim::default(),
    };
    carry_out(state, MemoryCommand::WriteFact(write))
}

fn learn(state: &mut State, learn: &Learn) -> LearnedView {
    let events = carry_out(state, MemoryCommand::Learn(learn.clone()));
    let taken = Taken {
        seq: state.seq,
        events: &events,
        before: None,
    };
    learned(state, learn, &taken, Vec::new())
}

/// The agent that works on an idea: `ed-001` on `idea-001`.
fn agent(idea: &str) -> Author {
    Author::Agent {
        id: idea.replace("idea", "ed").parse().unwrap(),
        idea_id: idea.parse().ok(),
        run: "r1".parse().unwrap(),
    }
}

/// A fact that agents at these ideas support.
fn supported(value: &str, ideas: &[&str]) -> Fact {
    let mut sources = Sources::default();
    for (seq, idea) in (1..).zip(ideas) {
        sources.add(Evidence {
            seq,
            author: agent(idea),
            ..Evidence::default()
        });
    }
    serde_json::from_value(
        json!({"version": 1, "valueVersion": 1, "value": value, "by": agent(ideas[0]),
        "at": "2026-01-01T00:00:00.000Z", "evidence": sources}),
    )
    .unwrap()
}

#[test]
fn the_board_has_pinned_facts_first_then_by_confidence_then_by_key() {
    let done = testkit::idea("x", IdeaStatus::Done);
    let failed = testkit::idea("x", IdeaStatus::Failed);
    let mut state = testkit::state([done, failed]);
    let facts = [
        ("d.failed", supported("1", &["idea-002"])),
        ("c.landed", supported("2", &["idea-001"])),
        ("b.landed", supported("3", &["idea-001", "idea-001"])),
        ("a.both", supported("4", &["idea-001", "idea-002"])),
        ("e.pinned", supported("5", &["idea-002"])),
    ];
    state.facts = serde_json::from_value(json!(
        facts
            .into_iter()
            .collect::<std::collections::BTreeMap<_, _>>()
    ))
    .unwrap();
    carry_out(
        &mut state,
        MemoryCommand::Pin {
            key: "e.pinned".parse().unwrap(),
            on: true,
        },
    );
    let keys = |aged: &Aged| -> Vec<String> {
        let board = board(&state, aged, false).into_iter();
        board.map(|fact| fact.key.to_string()).collect()
    };
    let expected = ["e.pinned", "a.both", "b.landed", "c.landed", "d.failed"];
    assert_eq!(keys(&Aged::nothing()), expected);
    let changed = vec!["src/api.rs".to_owned()];
    let aged = Aged::from(BTreeMap::from([(
        "a.both".parse().unwrap(),
        changed.clone(),
    )]));
    let expected = ["e.pinned", "b.landed", "c.landed", "a.both", "d.failed"];
    assert_eq!(keys(&aged), expected);
    let fact = fact(&state, &aged, &"a.both".parse().unwrap(), 8)
        .unwrap()
        .fact;
    assert_eq!(fact.aged, changed);
    let landed: Vec<bool> = fact.evidence.iter().map(|it| it.landed).collect();
    assert_eq!(landed, [true, false]);
}

#[test]
fn a_fact_has_its_newest_history_first_and_no_more_than_asked_for() {
    let mut state = State::default();
    for value in 1..=5 {
        write(&mut state, "a.b", &value.to_string());
    }
    let key = "a.b".parse().unwrap();
    let detail = fact(&state, &Aged::nothing(), &key, 2).unwrap();
    let history: Vec<&str> = detail.history.iter().map(|it| it.value.as_str()).collect();
    assert_eq!((history, detail.history_count), (vec!["4", "3"], 4));
    let json = serde_json::to_value(&detail).unwrap();
    assert_eq!(json["by"], json!({"kind": "person"}));
    assert!(
        json.get("retracted").is_none() && json.get("why").is_none(),
        "{json}"
    );
}

#[test]
fn an_answer_has_what_its_own_command_made() {
    let mut state = State::default();
    let events = write(&mut state, "a.b", "1");
    let seq = state.seq;
    write(&mut state, "a.b", "2");
    let key = "a.b".parse().unwrap();
    let mut taken = Taken {
        seq,
        events: &events,
        before: None,
    };
    assert_eq!(written(&state, &key, &taken, Vec::new()).version, 1);
    let before = Operation {
        op: "op".parse().unwrap(),
        by: Author::Person,
        seq,
        answer: Some("1".into()),
    };
    taken.events = &[];
    taken.before = Some(&before);
    assert_eq!(written(&state, &key, &taken, Vec::new()).version, 1);
    taken.before = None;
    assert_eq!(written(&state, &key, &taken, Vec::new()).version, 2);
}

#[test]
fn the_answer_to_a_learning_says_whether_it_was_known() {
    let mut state = State::default();
    let said = |content: &str| Learn {
        content: content.into(),
        ..Learn::default()
    };
    let first = learn(&mut state, &said("[a.b] One"));
    assert_eq!((first.id.as_str(), first.known), ("learning-001", false));
    assert_eq!(first.fact.unwrap().effect, "wrote");
    let again = learn(&mut state, &said("[a.b]  one"));
    assert_eq!((again.id.as_str(), again.known), ("learning-001", true));
    let other = learn(&mut state, &said("two"));
    assert_eq!((other.id.as_str(), other.known), ("learning-002", false));
}

#[test]
fn the_version_of_a_note_is_the_seq_of_its_event() {
    let mut state = State::default();
    write(&mut state, "a.b", "1");
    let put = PutNote {
        key: "tasks/auth.md".parse().unwrap(),
        title: None,
        content: Some("text".into()),
        expected: Some(0),
        keep: false,
    };
    let events = carry_out(&mut state, MemoryCommand::PutNote(put.clone()));
    let taken = Taken {
        seq: state.seq,
        events: &events,
        before: None,
    };
    let answer = put_note(&state, &put.key, &taken);
    assert_eq!(answer.version, note(&state, &put.key).unwrap().head.version);
    assert!(answer.expires_at.is_some());
    assert_eq!(notes(&state, "tasks/").len(), 1);
    assert_eq!(notes(&state, "other").len(), 0);
}

#[test]
fn the_log_selects_by_range_kind_and_agent() {
    let mut state = State::default();
    write(&mut state, "a.b", "1");
    let dispute = DisputeFact {
        key: "a.b".parse().unwrap(),
        version: 1,
        value: None,
        claim: Claim::default(),
    };
    let disputed = carry_out(&mut state, MemoryCommand::DisputeFact(dispute));
    let event = &disputed[0];
    let at = Timestamp::from_millis(1_000);
    let wants = |filter: &LogFilter| filter.wants(7, at, event);
    let with = |since, until, kind: &str| LogFilter {
        since,
        until,
        agent: None,
        kind: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
    };
    let (early, late) = (Timestamp::from_millis(999), Timestamp::from_millis(1_001));
    assert!(wants(&LogFilter::default()));
    assert!(wants(&with(
        Some(Point::Seq(6)),
        Some(Point::Seq(7)),
        "factDisputed"
    )));
    assert!(!wants(&with(Some(Point::Seq(7)), None, "")));
    assert!(!wants(&with(None, Some(Point::Seq(6)), "")));
    assert!(wants(&with(
        Some(Point::Time(early)),
        Some(Point::Time(at)),
        ""
    )));
    assert!(!wants(&with(
        Some(Point::Time(at)),
        Some(Point::Time(late)),
        ""
    )));
    assert!(!wants(&with(None, None, "factWritten")));
    let of_agent = LogFilter {
        agent: "ed-001".parse().ok(),
        ..LogFilter::default()
    };
    assert!(!wants(&of_agent));
    for kind in MEMORY_KINDS {
        assert!(event_kinds().contains(&kind), "{kind}");
    }
}

#[test]
fn no_line_of_an_event_that_is_asked_for_is_passed_over() {
    let at = Timestamp::from_millis(1_000);
    let before = Timestamp::from_millis(999);
    let agents = ["ed-001", "ed-002"].map(|id| id.parse().ok());
    let kinds = MEMORY_KINDS.map(|kind| Some(kind.to_owned()));
    let times = [None, Some(Point::Time(before)), Some(Point::Time(at))];
    let (mut asked_for, mut passed_over) = (0, 0);
    let events = memory_samples::of_every_kind();
    for event in events.into_iter().chain(memory_samples::all()) {
        let line = serde_json::to_vec(&event).unwrap();
        for agent in agents.iter().chain([&None]) {
            for kind in kinds.iter().chain([&None]) {
                for (since, until) in times.iter().flat_map(|it| times.map(|until| (*it, until))) {
                    let filter = LogFilter {
                        since,
                        until,
                        agent: agent.clone(),
                        kind: kind.clone(),
                    };
                    let lines = filter.lines();
                    let may = lines.may_want(&at.to_string(), event.kind(), &line);
                    let wanted = filter.wants(7, at, &event);
                    assert!(may || !wanted, "{filter:?}: {event:?}");
                    // A time that cannot be read decides nothing.
                    assert!(lines.may_want("soon", event.kind(), &line) || !wanted);
                    asked_for += u32::from(wanted);
                    passed_over += u32::from(!may);
                }
            }
        }
    }
    assert!(
        asked_for > 50 && passed_over > 50,
        "{asked_for}, {passed_over}"
    );
}

#[test]
fn the_nearest_keys_are_named() {
    let mut state = State::default();
    for key in ["api.port", "api.host", "db.url"] {
        write(&mut state, key, "1");
    }
    let near = suggestions(&state, &"api.prot".parse().unwrap());
    let expected =
        ["api.port", "api.host"].map(|key| format!("did you mean this: swarm memory get {key}"));
    assert_eq!(near, expected);
    assert_eq!(suggestions(&state, &"zzz".parse().unwrap()), [""; 0]);
}
