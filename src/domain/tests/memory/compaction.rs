//! Compactions: what leaves the state, what stays, and what becomes of ids.

use insta::assert_snapshot;

use super::{PERSON, at_work, author, by, dispute, key, learn, refused, retract, shown, write};
use crate::domain::decide::{self, Decided};
use crate::domain::event::{Event, FactWritten, Learned, MemoryCompacted};
use crate::domain::memory::{
    Claim, Evidence, Learn, Learning, LearningRange, MAX_EVIDENCE, MemoryCommand, Reference,
    Retracted,
};
use crate::domain::operation::Command;
use crate::domain::request::{Author, Request};
use crate::domain::testkit::Scenario;
use crate::domain::testkit::scenario::fold;

const COMPACT: MemoryCommand = MemoryCommand::Compact;

/// Agents at work, with a window of this many learnings.
fn with_window(agents: u64, window: u32) -> Scenario {
    let mut s = at_work(agents);
    s.load(|settings| settings.memory_window = window);
    s.quietly();
    s
}

fn ids(s: &Scenario) -> Vec<&str> {
    let learnings = s.state.learnings.iter();
    learnings
        .map(|it| it.id.trim_start_matches("learning-"))
        .collect()
}

fn retract_learning(number: u64) -> MemoryCommand {
    retract(Retracted::Learning(format!("learning-{number:03}")))
}

fn learned(number: u64, evidence: Evidence) -> Event {
    Event::Learned(Learned {
        id: format!("learning-{number:03}"),
        agent: None,
        profile: None,
        global: true,
        content: format!("sentence {number}"),
        evidence: Box::new(evidence),
        claim: None,
        restored: false,
    })
}

fn compactions(s: &Scenario) -> Vec<&MemoryCompacted> {
    let mut found = Vec::new();
    for (_, event) in &s.log {
        if let Event::MemoryCompacted(compacted) = event {
            found.push(compacted);
        }
    }
    found
}

#[test]
fn at_twice_the_window_the_oldest_learnings_leave_the_state() {
    let mut s = with_window(1, 2);
    let one = author(&s, 1);
    for text in ["a", "b", "c"] {
        by(&mut s, &one, learn(text));
    }
    assert_eq!(ids(&s), ["001", "002", "003"]);
    s.quietly();
    by(&mut s, &one, learn("d"));
    let happened = s.then();
    let last = happened.lines().last().unwrap();
    assert!(
        last.starts_with("memoryCompacted {learnings: [{first: 1, last: 2}], upTo: "),
        "{happened}"
    );
    assert_eq!(ids(&s), ["003", "004"]);
    let compacted = &s.state.compacted;
    assert_eq!((compacted.learnings, compacted.last), (2, 2));
    assert_eq!(compacted.seqs, [s.state.seq]);
    assert_eq!(compactions(&s)[0].up_to + 1, s.state.seq);
    assert_eq!(fold(&s.log), s.state);
}

#[test]
fn a_compaction_leaves_what_supports_a_fact_and_what_a_person_took_back() {
    let mut s = with_window(1, 100);
    let one = author(&s, 1);
    by(&mut s, &one, learn("[a] x"));
    by(&mut s, &one, learn("taken back by a person"));
    by(&mut s, &one, learn("taken back by its agent"));
    by(&mut s, &one, learn("old"));
    by(&mut s, &one, learn("new"));
    by(&mut s, &PERSON, retract_learning(2));
    by(&mut s, &one, retract_learning(3));
    s.load(|settings| settings.memory_window = 1);
    assert_eq!(ids(&s), ["001", "002", "005"]);
    // Found again, it is still not shown.
    by(&mut s, &one, learn("taken back by a person"));
    let taken_back = s.state.learnings.get("learning-002").unwrap();
    assert!(taken_back.retracted.is_some());
    assert_eq!(taken_back.evidence.count, 1);
    assert_snapshot!(shown(&s, "a"), @"v1 active: x by ed-001 (idea-001) (1)");
}

#[test]
fn a_person_asks_for_it_at_any_time_and_no_agent_may() {
    let mut s = with_window(1, 2);
    let one = author(&s, 1);
    for text in ["a", "b", "c"] {
        by(&mut s, &one, learn(text));
    }
    for agent in [
        one,
        Author::Synthesis {
            run: "s0001".parse().unwrap(),
        },
        Author::Check {
            run: "r1-ed-001-q1".parse().unwrap(),
        },
    ] {
        let why = refused(&mut s, &agent, COMPACT);
        assert!(why.starts_with("NOT_FOR_AGENTS: "), "{why}");
    }
    by(&mut s, &PERSON, COMPACT);
    assert_eq!(ids(&s), ["002", "003"]);
    assert_eq!(compactions(&s)[0].by, Some(PERSON));
    let before = s.log.len();
    by(&mut s, &PERSON, COMPACT);
    assert_eq!(s.log.len(), before, "there was nothing to drop");
}

#[test]
fn a_dropped_id_is_named_as_such_and_never_given_again() {
    let mut s = with_window(1, 1);
    let one = author(&s, 1);
    by(&mut s, &one, learn("a"));
    by(&mut s, &one, learn("b"));
    assert_eq!(ids(&s), ["002"]);
    let same_as = MemoryCommand::Learn(Learn {
        content: "a too".into(),
        same_as: Some("learning-001".into()),
        ..Learn::default()
    });
    let evidence = MemoryCommand::Learn(Learn {
        content: "a too".into(),
        claim: Claim {
            evidence: vec![Reference::Learning("learning-001".into())],
            ..Claim::default()
        },
        ..Learn::default()
    });
    for command in [same_as, evidence, retract_learning(1)] {
        let why = refused(&mut s, &one, command);
        assert_eq!(
            why,
            "LEARNING_COMPACTED: `learning-001` was compacted: only the event log has it"
        );
    }
    for unknown in [
        retract_learning(9),
        retract(Retracted::Learning("learning-1".into())),
    ] {
        let why = refused(&mut s, &one, unknown);
        assert!(why.starts_with("LEARNING_UNKNOWN: "), "{why}");
    }
    // The same sentence is a new learning.
    by(&mut s, &one, learn("a"));
    assert_eq!(ids(&s), ["003"]);
    assert_eq!(s.state.counters.learnings, 3);
    assert!(s.state.compacted.has("learning-002", &s.state.learnings));
}

#[test]
fn eight_earlier_values_of_a_fact_stay_with_their_claims() {
    let mut s = with_window(1, 100);
    let one = author(&s, 1);
    by(&mut s, &PERSON, write("a", None, "v1"));
    by(&mut s, &one, dispute("a", 1, Some("other")));
    for number in 2..=11 {
        by(&mut s, &PERSON, write("a", None, &format!("v{number}")));
    }
    by(&mut s, &PERSON, write("b", None, "x"));
    by(&mut s, &PERSON, COMPACT);
    let fact = s.state.facts.get(&key("a")).unwrap();
    let earlier: Vec<&str> = fact.history.iter().map(|old| old.value.as_str()).collect();
    assert_eq!(earlier, ["v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10"]);
    assert_eq!(fact.history_dropped, 3);
    assert_eq!((fact.version, fact.value.as_str()), (12, "v11"));
    assert_eq!(compactions(&s)[0].history.len(), 1);
    assert_eq!(fold(&s.log), s.state);
}

#[test]
fn the_state_never_has_more_evidence_than_that_and_counts_all_of_it() {
    let mut s = with_window(0, 100);
    for number in 0..40 {
        let mcp = Author::Mcp {
            client: format!("c{number}"),
        };
        by(&mut s, &mcp, learn("a"));
    }
    by(&mut s, &PERSON, COMPACT);
    let sources = &s.state.learnings.get("learning-001").unwrap().evidence;
    assert_eq!((sources.kept.len(), sources.count), (MAX_EVIDENCE, 40));
}

#[test]
fn ten_thousand_facts_stay_and_are_no_reason_to_compact() {
    let mut s = with_window(1, 16);
    s.given((0..10_000).map(|number| {
        Event::FactWritten(FactWritten {
            key: key(&format!("key-{number}")),
            version: 1,
            value: "x".into(),
            evidence: Box::new(Evidence::default()),
            why: None,
        })
    }));
    let one = author(&s, 1);
    for number in 0..40 {
        by(&mut s, &one, learn(&format!("[key-{number}] y {number}")));
    }
    assert!(compactions(&s).is_empty());
    by(&mut s, &PERSON, COMPACT);
    assert!(compactions(&s).is_empty());
    assert_eq!(s.state.facts.len(), 10_000);
    assert_eq!(s.state.learnings.len(), 40);
}

#[test]
fn a_large_compaction_takes_events_that_fit_into_the_log() {
    let mut s = with_window(0, 16);
    // Every second one supports a fact, so that no two that go follow one another.
    s.given((1..=8_000).map(|number| learned(number, Evidence::default())));
    let mut learnings: Vec<Learning> = s.state.learnings.iter().cloned().collect();
    for supports in learnings.iter_mut().skip(1).step_by(2) {
        supports.key = Some(key("a"));
    }
    s.state.learnings = learnings.into();
    let request = Request {
        by: PERSON,
        operation: Some("op-1".parse().unwrap()),
        command: Command::Memory(COMPACT),
    };
    let Ok(Decided::Events(events)) = decide::request(&s.state, &request, s.now) else {
        panic!("it is refused");
    };
    let kinds: Vec<&str> = events.iter().map(Event::kind).collect();
    // The operation counts as done with the last one.
    let mut expected = vec!["memoryCompacted"; kinds.len() - 2];
    expected.extend(["commandTaken", "memoryCompacted"]);
    assert_eq!(kinds, expected);
    let mut ranges: Vec<LearningRange> = Vec::new();
    for event in &events {
        assert!(serde_json::to_string(event).unwrap().len() < 60 * 1024);
        if let Event::MemoryCompacted(it) = event {
            ranges.extend(&it.learnings);
        }
    }
    assert_eq!(ranges.len(), 4_000 - 16);
    assert!(
        ranges
            .iter()
            .all(|range| range.count() == 1 && range.first % 2 == 1)
    );
}
