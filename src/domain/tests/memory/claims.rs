//! What a claim about a fact becomes.

use insta::assert_snapshot;

use super::{PERSON, at_work, author, by, confirm, key, learn, learn_locally, pin, refused, shown};
use crate::domain::memory::{Claim, Learn, MemoryCommand};
use crate::domain::observation::RunEndKind;
use crate::domain::signal::Signal;
use crate::domain::testkit::{Scenario, agent, profile};

#[test]
fn a_claim_about_a_new_key_becomes_a_fact() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(&mut s, &one, learn("[api.port]  The API   listens on 8080"));
    assert_snapshot!(shown(&s, "api.port"), @r"v1 active: The API listens on 8080 by ed-001 (idea-001) (1)");
    let learning = s.state.learnings.get("learning-001").unwrap();
    assert_eq!(learning.content, "The API listens on 8080");
    assert_eq!(learning.key, Some(key("api.port")));
    assert_eq!(learning.evidence.kept[0].seq, s.state.seq);
}

#[test]
fn a_claim_with_the_same_normal_form_is_evidence_once_for_each_agent() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, learn("[api.port] The API listens on 8080"));
    by(&mut s, &two, learn("[api.port] the api  LISTENS on 8080"));
    by(&mut s, &two, learn("[api.port] the api LISTENS on 8080"));
    by(&mut s, &one, confirm("api.port", 1));
    assert_snapshot!(shown(&s, "api.port"), @r"v1 active: The API listens on 8080 by ed-001 (idea-001) (2)");
    assert_eq!(s.state.learnings.len(), 1);
    let learning = s.state.learnings.get("learning-001").unwrap();
    assert_eq!(learning.evidence.count, 2);
    let quote = learning.evidence.kept[1].quote.as_deref();
    assert_eq!(quote, Some("the api LISTENS on 8080"));
}

#[test]
fn a_claim_of_the_idea_that_alone_supports_the_value_replaces_it() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    let first = author(&s, 1);
    by(&mut s, &first, learn("[api.port] 8080"));
    by(&mut s, &first, learn("[api.port] 8081"));
    s.iteration(&agent(1), RunEndKind::Lost);
    s.wait_for_deadline().well_until("iteration");
    let second = author(&s, 2);
    by(&mut s, &second, learn("[api.port] 8082"));
    assert_snapshot!(shown(&s, "api.port"), @"
    v3 active: 8082 by ed-002 (idea-001) (1)
    was v1: 8080 by ed-001 (idea-001)
    was v2: 8081 by ed-001 (idea-001)
    ");
}

#[test]
fn a_person_replaces_what_only_people_said_and_disputes_what_agents_said() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(&mut s, &PERSON, learn("[a] x"));
    by(&mut s, &PERSON, learn("[a] y"));
    by(&mut s, &one, learn("[b] x"));
    by(&mut s, &PERSON, learn("[b] y"));
    assert_snapshot!(shown(&s, "a"), @"
    v2 active: y by a person (1)
    was v1: x by a person
    ");
    assert_snapshot!(shown(&s, "b"), @"
    v2 contradicted: x by ed-001 (idea-001) (1)
    c1: y (1)
    ");
}

#[test]
fn a_claim_of_another_idea_contradicts_the_value() {
    let mut s = at_work(3);
    let authors = [1, 2, 3].map(|number| author(&s, number));
    by(&mut s, &authors[0], learn("[api.port] 8080"));
    by(&mut s, &authors[1], learn("[api.port] 9090"));
    by(&mut s, &authors[2], learn("[api.port] 9090"));
    by(&mut s, &authors[2], learn("[api.port] 9090"));
    by(&mut s, &authors[0], learn("[api.port] 7070"));
    assert_snapshot!(shown(&s, "api.port"), @"
    v3 contradicted: 8080 by ed-001 (idea-001) (1)
    c1: 9090 (2)
    c2: 7070 (1)
    ");
}

#[test]
fn an_agents_claim_about_a_pinned_fact_contradicts_it_even_if_it_was_its_own() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(&mut s, &one, learn("[a] x"));
    by(&mut s, &PERSON, pin("a", true));
    by(&mut s, &one, learn("[a] y"));
    assert_snapshot!(shown(&s, "a"), @"
    v2 contradicted pinned: x by ed-001 (idea-001) (1)
    c1: y (1)
    ");
}

#[test]
fn a_keyed_signal_is_a_claim_and_a_local_one_never_is() {
    let mut s = at_work(2);
    let global = |text: &str| Signal::LearningGlobal(text.into());
    s.says(&agent(1), global("[api.port] 8080"))
        .says(&agent(2), global("[api.port] 9090"))
        .says(&agent(2), Signal::LearningLocal("[db.url] unset".into()))
        .says(&agent(2), global("[Not a key] text"));
    assert_snapshot!(shown(&s, "api.port"), @"
    v2 contradicted: 8080 by ed-001 (idea-001) (1)
    c1: 9090 (1)
    ");
    assert_eq!(s.state.facts.len(), 1);
    let contents: Vec<&str> = s
        .state
        .learnings
        .iter()
        .map(|it| it.content.as_str())
        .collect();
    assert_eq!(
        contents,
        ["8080", "9090", "[db.url] unset", "[Not a key] text"]
    );
}

#[test]
fn a_signal_that_is_too_long_for_a_fact_is_still_a_learning() {
    let mut s = at_work(1);
    let long = format!("[api.port] {}", "x".repeat(2_001));
    s.says(&agent(1), Signal::LearningGlobal(long.clone()));
    assert!(s.state.facts.is_empty());
    assert_eq!(s.state.learnings.get("learning-001").unwrap().content, long);
    let one = author(&s, 1);
    let why = refused(&mut s, &one, learn(&long));
    assert_snapshot!(why, @"TOO_LARGE: the value takes 2001 bytes; at most 2000 are allowed");
}

#[test]
fn a_local_learning_with_a_key_is_refused() {
    let mut s = at_work(1);
    let command = MemoryCommand::Learn(Learn {
        content: "8080".into(),
        key: Some(key("api.port")),
        profile: Some(profile("ed")),
        ..Learn::default()
    });
    let one = author(&s, 1);
    let why = refused(&mut s, &one, command);
    assert_snapshot!(why, @r"KEY_INVALID: a fact is for all agents, so a learning with a key cannot be local");
}

#[test]
fn an_agent_learns_locally_for_its_own_profile_alone() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(
        &mut s,
        &one,
        learn_locally("use the wrapper", &profile("finn")),
    );
    by(
        &mut s,
        &PERSON,
        learn_locally("use the wrapper", &profile("finn")),
    );
    by(&mut s, &PERSON, learn("use the wrapper"));
    let seen = |it: &crate::domain::memory::Learning| (it.global, it.profile.clone());
    let seen: Vec<_> = s.state.learnings.iter().map(seen).collect();
    let expected = [
        (false, Some(profile("ed"))),
        (false, Some(profile("finn"))),
        (true, None),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn the_same_in_other_words_is_evidence_for_the_learning_that_is_named() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, learn("tests need a database"));
    let again = |same_as: &str| {
        MemoryCommand::Learn(Learn {
            content: "run postgres before the tests".into(),
            same_as: Some(same_as.into()),
            ..Learn::default()
        })
    };
    by(&mut s, &two, again("learning-001"));
    let learning = s.state.learnings.get("learning-001").unwrap();
    assert_eq!(s.state.learnings.len(), 1);
    assert_eq!(learning.evidence.count, 2);
    let quote = learning.evidence.kept[1].quote.as_deref();
    assert_eq!(quote, Some("run postgres before the tests"));
    let why = refused(&mut s, &two, again("learning-009"));
    assert_snapshot!(why, @"LEARNING_UNKNOWN: there is no learning `learning-009`");
}

#[test]
fn nobody_makes_a_fact_of_what_others_learned() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(&mut s, &PERSON, learn("tests run with make test"));
    for (same_as, content) in [
        (Some("learning-001"), "see the docs"),
        (None, "tests run with make test"),
    ] {
        by(
            &mut s,
            &one,
            MemoryCommand::Learn(Learn {
                content: content.into(),
                key: Some(key("how.to-test")),
                same_as: same_as.map(str::to_owned),
                ..Learn::default()
            }),
        );
        let learning = s.state.learnings.get("learning-001").unwrap();
        assert_eq!(
            learning.key, None,
            "prompts would show the fact in its place"
        );
        assert!(s.state.facts.get(&key("how.to-test")).is_some());
    }
}

#[test]
fn evidence_names_events_and_learnings_that_exist() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(&mut s, &one, learn("tests need a database"));
    let learned = s.state.seq;
    let with = |references: &[&str]| {
        MemoryCommand::Learn(Learn {
            content: "[db] postgres".into(),
            claim: Claim {
                evidence: references.iter().map(|it| (*it).into()).collect(),
                paths: vec!["b.rs".into(), "a.rs".into(), "b.rs".into()],
                why: None,
            },
            ..Learn::default()
        })
    };
    let next = (learned + 1).to_string();
    let why = refused(&mut s, &one, with(&["learning-009"]));
    assert_snapshot!(why, @r"EVIDENCE_UNKNOWN: there is no learning `learning-009` to refer to as evidence");
    for bad in ["0", next.as_str()] {
        let why = refused(&mut s, &one, with(&[bad]));
        assert_eq!(
            why,
            format!("EVIDENCE_UNKNOWN: there is no event {bad} to refer to as evidence")
        );
    }
    by(&mut s, &one, with(&["learning-001", "1"]));
    let fact = s.state.facts.get(&key("db")).unwrap();
    let evidence = &fact.evidence.kept[0];
    assert_eq!(evidence.refs, [learned, 1]);
    assert_eq!(evidence.paths, ["a.rs", "b.rs"]);
    assert_eq!(evidence.at, s.now);
}
