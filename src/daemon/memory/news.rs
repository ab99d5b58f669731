//! New learnings in groups of similar words, for the synthesis and for people.
//!
//! Invariant: the groups follow from the state alone, and each new learning is in exactly one. They
//! order what is read; nothing is merged by them.

use std::collections::BTreeMap;

use super::index::Index;
use crate::domain::memory::synthesis::{batch, unread};
use crate::domain::memory::{Fact, FactKey, Learning};
use crate::domain::state::State;
use crate::view::memory::{Aged, NewsGroupView, NewsView, fact_hit, learning_hit};

/// How similar a learning is to the first one of its group, as a share of how that one fits itself.
const ALIKE: f64 = 0.35;
/// Most learnings of one group.
const MAX_GROUP: usize = 24;
/// Facts named beside a group.
const SIMILAR_FACTS: usize = 3;

/// The groups of the next synthesis; with `up_to`, those of a run that ends there.
pub fn news(state: &State, up_to: Option<u64>) -> NewsView {
    let batch = batch(state, up_to);
    let left = unread(state).len().saturating_sub(batch.len());
    let facts = fact_index(state);
    let groups = groups(&batch).into_iter().map(|group| {
        let text: Vec<&str> = group.iter().map(|it| it.content.as_str()).collect();
        let found = facts.search(&text.join(" "), SIMILAR_FACTS);
        let found = found.into_iter();
        NewsGroupView {
            learnings: group.iter().map(|it| learning_hit(state, it)).collect(),
            facts: found
                .filter_map(|hit| fact_hit(state, &Aged::nothing(), &hit.id))
                .collect(),
        }
    });
    NewsView {
        groups: groups.collect(),
        left,
    }
}

fn fact_index(state: &State) -> Index<FactKey> {
    let mut index = Index::default();
    let standing = |(_, fact): &(&FactKey, &Fact)| fact.retracted.is_none();
    for (key, fact) in state.facts.iter().filter(standing) {
        index.insert(key.clone(), &format!("{key} {}", fact.value));
    }
    index
}

/// The oldest learning without a group takes what is similar to it, and so on.
fn groups<'a>(batch: &[&'a Learning]) -> Vec<Vec<&'a Learning>> {
    let mut index = Index::default();
    let mut left: BTreeMap<u64, &Learning> = BTreeMap::new();
    for learning in batch {
        index.insert(learning.number(), &learning.content);
        left.insert(learning.number(), learning);
    }
    let mut groups = Vec::new();
    while let Some((number, first)) = left.pop_first() {
        let hits = index.search(&first.content, usize::MAX);
        let own = hits.iter().find(|hit| hit.id == number);
        let least = own.map_or(f64::INFINITY, |hit| hit.score * ALIKE);
        let alike = hits.iter().filter(|hit| hit.score >= least);
        let alike = alike.filter_map(|hit| left.contains_key(&hit.id).then_some(hit.id));
        let alike: Vec<u64> = alike.take(MAX_GROUP - 1).collect();
        let mut group = vec![first];
        group.extend(alike.iter().filter_map(|number| left.remove(number)));
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decide;
    use crate::domain::event::{Event, Synthesised};
    use crate::domain::evolve::evolve;
    use crate::domain::memory::{Claim, Learn, MemoryCommand, Retracted, WriteFact};
    use crate::domain::operation::Command;
    use crate::domain::time::Timestamp;

    fn carry_out(state: &mut State, command: MemoryCommand) {
        let now = Timestamp::from_millis(1_000);
        for event in decide::command(state, &Command::Memory(command), now).unwrap() {
            fold(state, &event);
        }
    }

    fn fold(state: &mut State, event: &Event) {
        let seq = state.seq + 1;
        evolve(state, seq, Timestamp::from_millis(1_000), event);
    }

    fn knowing(sentences: &[&str]) -> State {
        let mut state = State::default();
        for content in sentences {
            let learn = Learn {
                content: (*content).to_owned(),
                ..Learn::default()
            };
            carry_out(&mut state, MemoryCommand::Learn(learn));
        }
        state
    }

    fn shown(news: &NewsView) -> Vec<Vec<&str>> {
        let groups = news.groups.iter();
        let names = groups.map(|group| {
            let learnings = group.learnings.iter().map(|it| it.reference.as_str());
            let facts = group.facts.iter().map(|it| it.reference.as_str());
            learnings.chain(facts).collect()
        });
        names.collect()
    }

    const HEARD: [&str; 5] = [
        "the API listens on port 8080",
        "tests need a running Postgres",
        "port 8080 is where the API listens",
        "start Postgres before the tests run",
        "the kitchen floor is wet",
    ];

    #[test]
    fn what_is_alike_is_one_group_beside_its_facts() {
        let mut state = knowing(&HEARD);
        for (key, value) in [("tests.db", "Postgres is used"), ("other", "no such word")] {
            let write = WriteFact {
                key: key.parse().unwrap(),
                value: value.into(),
                expected: None,
                claim: Claim::default(),
            };
            carry_out(&mut state, MemoryCommand::WriteFact(write));
        }
        let news = news(&state, None);
        assert_eq!(
            shown(&news),
            [
                vec!["learning-001", "learning-003"],
                vec!["learning-002", "learning-004", "tests.db"],
                vec!["learning-005"],
            ]
        );
        assert_eq!(news.left, 0);
    }

    #[test]
    fn what_was_read_or_taken_back_is_no_news() {
        let mut state = knowing(&HEARD);
        let run = "r0001-synthesis".parse().unwrap();
        fold(
            &mut state,
            &Event::Synthesised(Synthesised {
                run,
                up_to: 2,
                failed: false,
            }),
        );
        let what = Retracted::Learning("learning-003".into());
        carry_out(&mut state, MemoryCommand::Retract { what, why: None });
        assert_eq!(
            shown(&news(&state, None)),
            [vec!["learning-004"], vec!["learning-005"]]
        );
        let first = news(&state, Some(4));
        assert_eq!((shown(&first), first.left), (vec![vec!["learning-004"]], 1));
        assert!(news(&State::default(), None).groups.is_empty());
    }

    #[test]
    fn a_batch_ends_where_a_prompt_is_full() {
        let long: Vec<String> = (0..60)
            .map(|it| format!("{it} {}", "long ".repeat(800)))
            .collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let state = knowing(&long);
        let news = news(&state, None);
        let count: usize = news.groups.iter().map(|group| group.learnings.len()).sum();
        assert_eq!((count, news.left), (24, 36));
        let many: Vec<String> = (0..250).map(|it| format!("sentence number {it}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(super::news(&knowing(&many), None).left, 50);
    }
}
