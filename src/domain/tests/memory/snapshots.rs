//! How the memory looks in a snapshot.

use serde_json::json;

use super::{PERSON, at_work, author, by, dispute, learn};
use crate::domain::memory::{Learning, Reference};
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::domain::testkit::{START, agent};

#[test]
fn a_snapshot_with_the_agents_alone_is_read() {
    let old = json!({
        "id": "learning-001", "global": true, "profile": "ed", "content": "tests need a database",
        "sources": ["ed-001", "ed-002"], "at": START,
    });
    let learning: Learning = serde_json::from_value(old.clone()).unwrap();
    let agents: Vec<_> = learning
        .evidence
        .kept
        .iter()
        .map(|it| it.author.agent())
        .collect();
    assert_eq!(agents, [Some(&agent(1)), Some(&agent(2))]);
    assert_eq!(learning.evidence.count, 2);
    let state: State = serde_json::from_value(json!({ "learnings": [old] })).unwrap();
    let found = state.learnings.find(true, None, "Tests need  a database");
    assert_eq!(found, Some(&learning));
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
}

#[test]
fn a_learning_of_an_old_snapshot_can_be_evidence_without_an_event() {
    let mut s = at_work(0);
    let old = json!([{
        "id": "learning-001", "global": true, "profile": "ed", "content": "x",
        "sources": ["ed-001"], "at": START,
    }]);
    s.state.learnings = serde_json::from_value(old).unwrap();
    s.state.counters.learnings = 1;
    let mut claim = crate::domain::memory::Claim::default();
    claim
        .evidence
        .push(Reference::Learning("learning-001".into()));
    let write = crate::domain::memory::WriteFact {
        key: super::key("a"),
        value: "x".into(),
        expected: None,
        claim,
    };
    by(
        &mut s,
        &PERSON,
        crate::domain::memory::MemoryCommand::WriteFact(write),
    );
    let fact = s.state.facts.get(&super::key("a")).unwrap();
    assert!(fact.evidence.kept[0].refs.is_empty());
}

#[test]
fn a_snapshot_of_a_disputed_board_is_read_back_the_same() {
    let mut s = at_work(2);
    let (one, two) = (author(&s, 1), author(&s, 2));
    by(&mut s, &one, learn("[a] x"));
    by(&mut s, &two, dispute("a", 1, None));
    by(&mut s, &Author::Mcp { client: "c".into() }, learn("y"));
    let text = serde_json::to_string(&s.state).unwrap();
    assert_eq!(serde_json::from_str::<State>(&text).unwrap(), s.state);
    assert_eq!(crate::domain::testkit::scenario::fold(&s.log), s.state);
}
