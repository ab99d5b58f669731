//! Versions, and how a dispute is settled.

use insta::assert_snapshot;

use super::{
    PERSON, ask, at_work, author, by, confirm, dispute, key, learn, pin, refused, shown, write,
};
use crate::domain::memory::MAX_HISTORY;

#[test]
fn an_agent_writes_only_the_version_that_it_saw() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, write("a", Some(0), "x"));
    let why = refused(&mut s, &two, write("a", Some(0), "y"));
    assert_snapshot!(why, @"FACT_CONFLICT: `a` is at version 1, not 0");
    let why = refused(&mut s, &two, write("a", Some(2), "y"));
    assert_snapshot!(why, @"FACT_CONFLICT: `a` is at version 1, not 2");
    let why = refused(&mut s, &two, write("a", None, "y"));
    assert_snapshot!(why, @"VERSION_MISSING: agents must name the version of `a` that they saw");
    let why = refused(&mut s, &two, write("b", Some(1), "y"));
    assert_snapshot!(why, @"FACT_CONFLICT: `b` is at version 0, not 1");
    by(&mut s, &two, write("a", Some(1), "y"));
    by(&mut s, &PERSON, write("a", None, "z"));
    assert_snapshot!(shown(&s, "a"), @"
    v3 active: z by a person (1)
    was v1: x by ed-001 (idea-001)
    was v2: y by ed-002 (idea-002)
    ");
}

#[test]
fn a_refused_write_carries_what_is_there() {
    use crate::domain::operation::Command;
    use crate::domain::request::Request;
    let mut s = at_work(1);
    by(&mut s, &PERSON, write("a", None, "x"));
    let request = Request {
        by: author(&s, 1),
        operation: None,
        command: Command::Memory(write("a", Some(0), "y")),
    };
    let rejection = s.request(&request).unwrap_err();
    let crate::domain::rejection::Rejection::Memory(refusal) = rejection else {
        panic!("{rejection:?}");
    };
    let current = refusal.current().unwrap();
    assert_eq!(current.version, 1);
    assert_eq!(current.value.as_deref(), Some("x"));
    assert_eq!(current.by, Some(PERSON));
}

#[test]
fn confirmations_and_disputes_name_the_current_version() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, write("a", Some(0), "x"));
    for command in [confirm("a", 2), dispute("a", 0, Some("y"))] {
        let why = refused(&mut s, &two, command);
        assert!(why.starts_with("FACT_CONFLICT: "), "{why}");
    }
    for command in [confirm("b", 1), dispute("b", 1, None), pin("b", true)] {
        let why = refused(&mut s, &PERSON, command);
        assert_eq!(why, "FACT_UNKNOWN: there is no fact `b`");
    }
    let why = refused(&mut s, &two, dispute("a", 1, Some(" X ")));
    assert_snapshot!(why, @"SAYS_THE_SAME: `a` says the same already");
}

#[test]
fn a_dispute_raises_the_version_so_that_an_older_look_cannot_settle_it() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, write("a", Some(0), "x"));
    by(&mut s, &two, dispute("a", 1, Some("y")));
    let why = refused(&mut s, &one, write("a", Some(1), "x"));
    assert_snapshot!(why, @"FACT_CONFLICT: `a` is at version 2, not 1");
    by(&mut s, &one, dispute("a", 2, Some("Y")));
    by(&mut s, &one, dispute("a", 2, None));
    assert_snapshot!(shown(&s, "a"), @"
    v3 contradicted: x by ed-001 (idea-001) (1)
    c1: y (2)
    c2: it is wrong (1)
    ");
}

#[test]
fn a_write_on_the_current_version_settles_and_the_losing_claims_become_history() {
    let mut s = at_work(3);
    let [one, two, three] = [1, 2, 3].map(|number| author(&s, number));
    by(&mut s, &one, write("a", Some(0), "x"));
    by(&mut s, &two, dispute("a", 1, Some("y")));
    by(&mut s, &three, dispute("a", 2, Some("z")));
    by(&mut s, &three, write("a", Some(3), "y"));
    assert_snapshot!(shown(&s, "a"), @"
    v4 active: y by ed-003 (idea-003) (2)
    was v1: x by ed-001 (idea-001)
    was v4 lost: z by ed-003 (idea-003)
    ");
}

#[test]
fn a_dispute_settled_for_the_old_value_keeps_its_evidence() {
    let mut s = at_work(3);
    let [one, two, three] = [1, 2, 3].map(|number| author(&s, number));
    by(&mut s, &one, write("a", Some(0), "x"));
    by(&mut s, &two, confirm("a", 1));
    by(&mut s, &three, dispute("a", 1, Some("y")));
    by(&mut s, &PERSON, write("a", Some(2), "x"));
    assert_snapshot!(shown(&s, "a"), @"
    v3 active: x by a person (3)
    was v1: x by ed-001 (idea-001)
    was v3 lost: y by ed-003 (idea-003)
    ");
}

#[test]
fn a_write_of_the_same_value_is_evidence_and_a_person_may_correct_its_spelling() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, write("a", Some(0), "db_url is required"));
    by(&mut s, &two, write("a", Some(1), "DB_URL is required"));
    assert_snapshot!(shown(&s, "a"), @"v1 active: db_url is required by ed-001 (idea-001) (2)");
    by(&mut s, &PERSON, write("a", None, "DB_URL is required"));
    assert_snapshot!(shown(&s, "a"), @"
    v2 active: DB_URL is required by a person (3)
    was v1: db_url is required by ed-001 (idea-001)
    ");
}

#[test]
fn agents_cannot_write_a_pinned_fact_until_it_is_released() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(&mut s, &one, write("a", Some(0), "x"));
    by(&mut s, &PERSON, pin("a", true));
    let why = refused(&mut s, &one, write("a", Some(1), "y"));
    assert_snapshot!(why, @"FACT_PINNED: `a` is pinned: only a person can change it");
    by(&mut s, &PERSON, write("a", None, "z"));
    assert!(s.state.facts.get(&key("a")).unwrap().pinned);
    by(&mut s, &PERSON, pin("a", false));
    by(&mut s, &one, write("a", Some(2), "y"));
    assert_snapshot!(shown(&s, "a"), @"
    v3 active: y by ed-001 (idea-001) (1)
    was v1: x by ed-001 (idea-001)
    was v2: z by a person
    ");
}

#[test]
fn a_fact_has_at_most_sixteen_rival_claims() {
    let mut s = at_work(1);
    by(&mut s, &PERSON, write("a", None, "x"));
    for number in 1..=16 {
        by(
            &mut s,
            &PERSON,
            dispute("a", number, Some(&format!("y{number}"))),
        );
    }
    let one = author(&s, 1);
    for command in [dispute("a", 17, Some("z")), learn("[a] z")] {
        let why = refused(&mut s, &one, command);
        assert_eq!(
            why,
            "QUOTA: 16 claims contradict this fact already; settle it first"
        );
    }
    s.says(
        &crate::domain::testkit::agent(1),
        crate::domain::signal::Signal::LearningGlobal("[a] z".into()),
    );
    let learning = s.state.learnings.iter().next_back().unwrap();
    assert_eq!(learning.content, "[a] z");
    assert_eq!(learning.key, None);
}

#[test]
fn history_keeps_the_newest_values_and_counts_the_others() {
    let mut s = at_work(0);
    for number in 0..50 {
        let value = format!("x{number}");
        ask(&mut s, &PERSON, write("a", Some(number), &value)).unwrap();
    }
    let fact = s.state.facts.get(&key("a")).unwrap();
    assert_eq!(fact.history.len(), MAX_HISTORY);
    assert_eq!(fact.history_dropped, 49 - MAX_HISTORY as u64);
    assert_eq!(fact.history.last().unwrap().value, "x48");
}
