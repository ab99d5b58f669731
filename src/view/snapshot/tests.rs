//! Outlines of states, and what differs between two.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeMap;

use serde_json::{Value, json};
use strum::VariantArray as _;

use super::*;
use crate::domain::evolve::evolve;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::testkit::memories::remember;
use crate::domain::testkit::scenario::fold;
use crate::domain::testkit::sim::Sim;
use crate::domain::time::Timestamp;
use crate::view::describe::Point;
use crate::view::testkit;

fn two_ideas() -> State {
    testkit::state([
        testkit::idea("add a flag", IdeaStatus::Pending),
        testkit::idea("write docs", IdeaStatus::Done),
    ])
}

#[test]
fn an_outline_has_every_section_and_no_empty_fields() {
    let outline = outline(&two_ideas());
    let sections: Vec<Section> = outline.keys().copied().collect();
    assert_eq!(sections, Section::VARIANTS);
    let idea = &outline[&Section::Ideas]["idea-001"];
    let expected = json!({
        "attempts": 0, "failedAttempts": 0, "priority": 0, "status": "pending",
        "text": "add a flag",
    });
    assert_eq!(Value::Object(idea.clone()), expected);
}

#[test]
fn a_state_does_not_differ_from_itself() {
    let outline = outline(&two_ideas());
    assert!(difference(&outline, &outline).is_empty());
}

#[test]
fn a_difference_says_what_came_what_went_and_each_field_that_changed() {
    let before = testkit::state([
        testkit::idea("add a flag", IdeaStatus::Pending),
        testkit::idea("write docs", IdeaStatus::Done),
    ]);
    let mut failed = testkit::idea("add a flag", IdeaStatus::Failed);
    failed.last_error = Some("no tests".into());
    let mut after = testkit::state([failed]);
    let third = testkit::idea("new", IdeaStatus::Pending);
    after.ideas.insert(testkit::id(3), third);
    let found = difference(&outline(&before), &outline(&after));
    assert_eq!(found.keys().collect::<Vec<_>>(), [&Section::Ideas]);
    let ideas = &found[&Section::Ideas];
    assert_eq!(ideas.added.keys().collect::<Vec<_>>(), ["idea-003"]);
    assert_eq!(ideas.removed.keys().collect::<Vec<_>>(), ["idea-002"]);
    let change = |from: Value, to: Value| FieldChange { from, to };
    let expected = BTreeMap::from([
        (
            "lastError".to_owned(),
            change(Value::Null, json!("no tests")),
        ),
        (
            "status".to_owned(),
            change(json!("pending"), json!("failed")),
        ),
    ]);
    assert_eq!(
        ideas.changed,
        BTreeMap::from([("idea-001".to_owned(), expected)])
    );
}

#[test]
fn the_difference_backwards_swaps_what_came_and_what_went() {
    let one = outline(&two_ideas());
    let other = outline(&testkit::state([testkit::idea(
        "other",
        IdeaStatus::Active,
    )]));
    let (there, back) = (difference(&one, &other), difference(&other, &one));
    assert_eq!(there[&Section::Ideas].removed, back[&Section::Ideas].added);
    assert_eq!(there[&Section::Ideas].added, back[&Section::Ideas].removed);
    assert_eq!(there[&Section::Ideas].changed.len(), 1);
}

/// The states of a random history, with what agents and people remember at its end.
fn history(seed: u16) -> Vec<State> {
    let numbers = (0..300_u16).map(|at| at.wrapping_mul(7_919).wrapping_add(seed * 2_711));
    let mut sim = Sim::new(numbers.collect());
    sim.live();
    let mut log = std::mem::take(&mut sim.log);
    log.extend(remember(&fold(&log)));
    let mut state = State::default();
    let states = (1..).zip(&log).map(|(seq, (ts, event))| {
        evolve(&mut state, seq, *ts, event);
        state.clone()
    });
    states.collect()
}

#[test]
fn a_comparison_is_the_difference_of_the_whole_outlines() {
    for seed in 0..4 {
        let states = history(seed);
        let last = states.last().unwrap();
        for state in states.iter().step_by(states.len() / 12) {
            let whole = difference(&outline(state), &outline(last));
            let compared = Comparison::of(state, last, None);
            assert_eq!(compared.sections, whole, "seed {seed}, event {}", state.seq);
            assert_eq!(compared.same, whole.is_empty());
            let facts = Comparison::of(state, last, Some(Section::Facts));
            assert_eq!(
                facts.sections.get(&Section::Facts),
                whole.get(&Section::Facts)
            );
            assert!(facts.sections.len() <= 1);
        }
        assert!(Comparison::of(last, last, None).same);
    }
}

#[test]
fn a_state_is_named_in_five_ways() {
    let named = |text| Named::parse(text, &jiff::tz::TimeZone::UTC, Timestamp::default());
    assert_eq!(named("now"), Some(Named::Now));
    assert_eq!(named("prev"), Some(Named::Previous));
    assert_eq!(named("checkpoint:a"), Some(Named::Checkpoint("a")));
    assert_eq!(named("17"), Some(Named::Point(Point::Seq(17))));
    assert!(matches!(named("2h"), Some(Named::Point(Point::Time(_)))));
    for text in ["", "then", "checkpoint", "-1"] {
        assert_eq!(named(text), None, "{text}");
    }
}
