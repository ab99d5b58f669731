//! Retractions: a person's stays in force against agents.

use insta::assert_snapshot;

use super::{
    PERSON, at_work, author, by, confirm, dispute, key, learn, pin, refused, retract, retract_fact,
    shown, write,
};
use crate::domain::event::{Event, Learned};
use crate::domain::memory::{Evidence, MemoryCommand, Retracted};
use crate::domain::request::Author;
use crate::domain::testkit::{Scenario, agent};

fn retract_learning(number: u64) -> MemoryCommand {
    retract(Retracted::Learning(format!("learning-{number:03}")))
}

fn is_retracted(s: &Scenario, number: u64) -> bool {
    let learning = s.state.learnings.get(&format!("learning-{number:03}"));
    learning.unwrap().retracted.is_some()
}

#[test]
fn a_retracted_fact_stays_so_against_agents_and_ends_by_a_persons_write() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, write("a", Some(0), "x"));
    by(&mut s, &PERSON, retract_fact("a"));
    by(&mut s, &two, write("a", Some(1), "X"));
    by(&mut s, &two, learn("[a] x"));
    assert_snapshot!(shown(&s, "a"), @"v1 retracted: x by ed-001 (idea-001) (2)");
    // Another value does not bring it back either, nor does the way back from it.
    by(&mut s, &two, write("a", Some(1), "y"));
    by(&mut s, &two, learn("[a] x"));
    assert_snapshot!(shown(&s, "a"), @"
    v3 retracted: x by ed-002 (idea-002) (1)
    was v1: x by ed-001 (idea-001)
    was v2: y by ed-002 (idea-002)
    ");
    by(&mut s, &PERSON, write("a", None, "x"));
    assert_snapshot!(shown(&s, "a"), @"
    v4 active: x by a person (2)
    was v1: x by ed-001 (idea-001)
    was v2: y by ed-002 (idea-002)
    was v3: x by ed-002 (idea-002)
    ");
}

#[test]
fn a_retracted_learning_found_again_gets_evidence_and_comes_back_by_a_person() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, learn("tests need a database"));
    by(&mut s, &PERSON, retract_learning(1));
    by(&mut s, &two, learn("tests need a database"));
    assert!(is_retracted(&s, 1));
    let count = |s: &Scenario| {
        s.state
            .learnings
            .get("learning-001")
            .unwrap()
            .evidence
            .count
    };
    assert_eq!(count(&s), 2);
    by(&mut s, &PERSON, learn("Tests need a database"));
    assert!(!is_retracted(&s, 1));
    assert_eq!(count(&s), 3);
}

#[test]
fn a_person_brings_a_fact_back_by_learning_it_too() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(&mut s, &one, learn("[a] x"));
    by(&mut s, &PERSON, retract_fact("a"));
    by(&mut s, &PERSON, learn("[a] x"));
    assert_snapshot!(shown(&s, "a"), @"
    v2 active: x by a person (2)
    was v1: x by ed-001 (idea-001)
    ");
}

#[test]
fn an_agent_takes_back_what_it_alone_supports_and_may_bring_it_back() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, learn("[a] x"));
    by(&mut s, &one, retract_fact("a"));
    by(&mut s, &one, retract_learning(1));
    assert!(is_retracted(&s, 1));
    assert_snapshot!(shown(&s, "a"), @"v1 retracted: x by ed-001 (idea-001) (1)");
    by(&mut s, &two, learn("[a] y"));
    by(&mut s, &two, learn("[a] x"));
    assert!(!is_retracted(&s, 1));
    assert_snapshot!(shown(&s, "a"), @"
    v3 active: x by ed-002 (idea-002) (1)
    was v1: x by ed-001 (idea-001)
    was v2: y by ed-002 (idea-002)
    ");
}

#[test]
fn an_agent_cannot_take_back_what_others_support_contradict_or_pinned() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, learn("[a] x"));
    by(&mut s, &two, confirm("a", 1));
    let why = refused(&mut s, &one, retract_fact("a"));
    assert_snapshot!(why, @"NOT_YOURS: a is not only yours: others have a say in it");
    by(&mut s, &one, learn("[b] x"));
    by(&mut s, &two, dispute("b", 1, None));
    by(&mut s, &one, learn("[c] x"));
    by(&mut s, &PERSON, pin("c", true));
    for key in ["b", "c"] {
        let why = refused(&mut s, &one, retract_fact(key));
        assert!(why.starts_with("NOT_YOURS: "), "{why}");
    }
    // What it wrote over somebody else's value is not its own to take away.
    by(&mut s, &PERSON, write("d", None, "x"));
    by(&mut s, &one, write("d", Some(1), "y"));
    let why = refused(&mut s, &one, retract_fact("d"));
    assert!(why.starts_with("NOT_YOURS: "), "{why}");
    let other = retract(Retracted::Agent(agent(2)));
    let why = refused(&mut s, &one, other);
    assert!(why.starts_with("NOT_YOURS: "), "{why}");
    for unknown in [retract_fact("z"), retract_learning(9)] {
        let why = refused(&mut s, &one, unknown);
        assert!(why.contains("_UNKNOWN: "), "{why}");
    }
}

#[test]
fn a_persons_retraction_replaces_an_agents_and_a_second_one_changes_nothing() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(&mut s, &one, learn("[a] x"));
    by(&mut s, &one, retract_fact("a"));
    let by_whom = |s: &Scenario| {
        let fact = s.state.facts.get(&key("a")).unwrap();
        fact.retracted.clone().unwrap().by
    };
    assert_eq!(by_whom(&s), one);
    by(&mut s, &PERSON, retract_fact("a"));
    assert_eq!(by_whom(&s), PERSON);
    let before = s.state.clone();
    by(&mut s, &PERSON, retract_fact("a"));
    by(&mut s, &one, retract_fact("a"));
    assert_eq!(s.state, before);
}

/// Learnings, facts and rival claims of a hostile agent, among those of others.
fn infiltrated() -> (Scenario, Author) {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, learn("[a] x"));
    by(&mut s, &one, learn("[b] x"));
    by(&mut s, &two, confirm("b", 1));
    by(&mut s, &two, learn("[c] x"));
    by(&mut s, &one, dispute("c", 1, Some("y")));
    by(&mut s, &one, learn("[d] z"));
    by(&mut s, &PERSON, pin("d", true));
    (s, one)
}

#[test]
fn everything_that_an_agent_alone_supports_is_taken_back_at_once() {
    let (mut s, _) = infiltrated();
    s.quietly();
    // Another agent said the first sentence too, about another fact.
    by(&mut s, &PERSON, retract(Retracted::Agent(agent(1))));
    assert_snapshot!(s.then(), @r"
    memoryRetracted {by: {kind: person}, claims: [{claim: c1, key: c}], facts: [a], learnings: [learning-002]}
    ");
    assert_snapshot!(shown(&s, "c"), @"
    v2 active: x by ed-002 (idea-002) (1)
    was v2 lost: y by ed-001 (idea-001)
    ");
    let status = |text| s.state.facts.get(&key(text)).unwrap().retracted.is_some();
    assert_eq!(
        ["a", "b", "c", "d"].map(status),
        [true, false, false, false]
    );
}

#[test]
fn what_two_attempts_at_one_idea_said_is_taken_back_with_either() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    let again = Author::Agent {
        id: agent(9),
        idea_id: one.idea().cloned(),
        run: "r9".parse().unwrap(),
    };
    for (letter, authors) in [
        ("a", vec![&one, &again]),
        ("b", vec![&one, &two]),
        ("c", vec![&again]),
    ] {
        for author in authors {
            s.given([Event::Learned(Learned {
                id: format!("learning-{letter}"),
                agent: author.agent().cloned(),
                profile: None,
                global: true,
                content: format!("sentence {letter}"),
                evidence: Box::new(Evidence {
                    author: author.clone(),
                    ..Evidence::default()
                }),
                claim: None,
                restored: false,
            })]);
        }
    }
    by(&mut s, &PERSON, retract(Retracted::Agent(agent(1))));
    let is_retracted = |letter| {
        let id = format!("learning-{letter}");
        s.state.learnings.get(&id).unwrap().retracted.is_some()
    };
    assert_eq!(["a", "b", "c"].map(is_retracted), [true, false, false]);
}

#[test]
fn large_retractions_take_several_events_that_fit_into_the_log() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    let key = |number: u64| format!("{:x<90}.{number:04}", "");
    let claims = (1..=900).map(|number| {
        let evidence = crate::domain::memory::Evidence {
            author: one.clone(),
            ..Default::default()
        };
        Event::FactWritten(crate::domain::event::FactWritten {
            key: key(number).parse().unwrap(),
            version: 1,
            value: "x".into(),
            evidence: Box::new(evidence),
            why: None,
        })
    });
    s.given(claims);
    let before = s.log.len();
    by(&mut s, &PERSON, retract(Retracted::Agent(agent(1))));
    assert_eq!(s.log.len() - before, 3);
    for (_, event) in &s.log[before..] {
        assert!(serde_json::to_string(event).unwrap().len() < 60 * 1024);
    }
    assert!(
        s.state
            .facts
            .iter()
            .all(|(_, fact)| fact.retracted.is_some())
    );
}
