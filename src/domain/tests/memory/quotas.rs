//! How much one run may write, and until when.

use insta::assert_snapshot;

use super::{PERSON, at_work, author, by, confirm, dispute, learn, refused, retract_fact, write};
use crate::domain::event::{Event, FactWritten};
use crate::domain::memory::{ConfirmFact, DisputeFact, Evidence, MemoryCommand, PutNote};
use crate::domain::request::Author;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent};

#[test]
fn a_run_writes_at_most_a_hundred_times_and_the_next_one_again() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    let one = author(&s, 1);
    for number in 1..=50 {
        by(&mut s, &one, learn(&format!("sentence {number}")));
        by(&mut s, &one, write(&format!("key-{number}"), Some(0), "x"));
    }
    for command in [
        learn("one more"),
        write("more", Some(0), "x"),
        retract_fact("key-1"),
    ] {
        let why = refused(&mut s, &one, command);
        assert_eq!(
            why,
            "QUOTA: this run has written 100 times; no run may write more"
        );
    }
    s.says(
        &agent(1),
        crate::domain::signal::Signal::LearningGlobal("one more".into()),
    );
    assert_eq!(s.state.learnings.len(), 50);
    s.iteration(&agent(1), exit(0)).well_until("iteration");
    let why = refused(&mut s, &one, learn("one more"));
    assert_snapshot!(why, @"RUN_OVER: this run has ended, so it can write no more");
    let next = author(&s, 1);
    assert_ne!(one, next);
    by(&mut s, &next, learn("one more"));
}

#[test]
fn a_run_that_nobody_knows_cannot_write() {
    let mut s = at_work(1);
    s.iteration(&agent(1), exit(0));
    let of_another_run = Author::Agent {
        id: agent(1),
        idea_id: None,
        run: "r0009-ed-001-i9".parse().unwrap(),
    };
    let unknown = Author::Agent {
        id: agent(9),
        idea_id: None,
        run: "r0009-ed-009-i1".parse().unwrap(),
    };
    for nobody in [of_another_run, unknown] {
        let why = refused(&mut s, &nobody, learn("x"));
        assert!(why.starts_with("RUN_OVER: "), "{why}");
    }
}

#[test]
fn there_are_at_most_ten_thousand_facts() {
    let mut s = at_work(1);
    s.given((0..10_000).map(|number| {
        Event::FactWritten(FactWritten {
            key: super::key(&format!("key-{number}")),
            version: 1,
            value: "x".into(),
            evidence: Box::new(Evidence::default()),
            why: None,
        })
    }));
    let one = author(&s, 1);
    for command in [learn("[more] x"), write("more", Some(0), "x")] {
        let why = refused(&mut s, &one, command);
        assert_eq!(why, "QUOTA: there are 10000 facts; no more fit");
    }
    by(&mut s, &PERSON, write("key-1", None, "y"));
    // What was taken back makes room.
    by(&mut s, &PERSON, retract_fact("key-1"));
    by(&mut s, &one, write("more", Some(0), "x"));
}

#[test]
fn a_text_with_a_secret_is_refused_and_nothing_of_it_is_logged() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let texts = format!("push with {token}");
    // Keys have lower-case letters only.
    let key_token = format!("glpat-{}", "a1b2".repeat(5));
    by(&mut s, &PERSON, write("a", None, "x"));
    for command in [
        learn(&texts),
        learn(&format!("[deploy.token] {texts}")),
        write("deploy.token", Some(0), &texts),
        write(&key_token, Some(0), "x"),
        learn(&format!("[{key_token}] x")),
        reasoned(confirm("a", 1), &texts),
        reasoned(dispute("a", 1, Some("y")), &texts),
        MemoryCommand::PutNote(PutNote {
            key: key_token.parse().unwrap(),
            title: None,
            content: Some("x".into()),
            expected: None,
            keep: false,
        }),
    ] {
        let why = refused(&mut s, &one, command);
        assert!(why.starts_with("SECRET_SUSPECTED: "), "{why}");
        assert!(!why.contains(&token), "{why}");
    }
    assert_eq!((s.state.facts.len(), s.state.learnings.len()), (1, 0));
}

/// The same, with a reason.
fn reasoned(mut command: MemoryCommand, why: &str) -> MemoryCommand {
    if let MemoryCommand::ConfirmFact(ConfirmFact { claim, .. })
    | MemoryCommand::DisputeFact(DisputeFact { claim, .. }) = &mut command
    {
        claim.why = Some(why.to_owned());
    }
    command
}
