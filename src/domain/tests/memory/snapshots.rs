//! How the memory looks in a snapshot.

use super::{at_work, author, by, dispute, learn};
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::domain::testkit::agent;

#[test]
fn a_learning_is_found_in_what_was_read_back() {
    let mut s = at_work(2);
    for number in [1, 2] {
        let author = author(&s, number);
        by(&mut s, &author, learn("tests need a database"));
    }
    let text = serde_json::to_string(&s.state).unwrap();
    let state: State = serde_json::from_str(&text).unwrap();
    let found = state.learnings.find(true, None, "Tests need  a database");
    let agents = found.unwrap().evidence.kept.iter();
    let agents: Vec<_> = agents.map(|it| it.author.agent()).collect();
    assert_eq!(agents, [Some(&agent(1)), Some(&agent(2))]);
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
