//! What a large memory costs: a copy of it is taken for each snapshot.

use std::time::{Duration, Instant};

use crate::domain::event::{Event, Learned};
use crate::domain::evolve::evolve;
use crate::domain::state::State;
use crate::domain::testkit::START;

fn learned(number: u64) -> Event {
    Event::Learned(Learned {
        id: format!("learning-{number:03}"),
        agent: None,
        profile: None,
        global: true,
        content: format!("sentence {number} about the tests"),
        evidence: Box::default(),
        claim: None,
        restored: false,
    })
}

/// The best of a few tries, so that a busy machine does not count.
fn fastest(mut act: impl FnMut()) -> Duration {
    let tries = (0..10).map(|_| {
        let start = Instant::now();
        act();
        start.elapsed()
    });
    tries.min().unwrap_or_default()
}

#[test]
fn a_hundred_thousand_learnings_are_found_and_copied_quickly() {
    const COUNT: u64 = 100_000;
    let mut state = State::default();
    for number in 1..=COUNT {
        evolve(&mut state, number, START, &learned(number));
    }
    let text = "Sentence 50000  about the tests";
    let found = state.learnings.find(true, None, text).unwrap();
    assert_eq!(found.id, "learning-50000");
    let find = fastest(|| {
        std::hint::black_box(state.learnings.find(true, None, text));
    });
    let copy = fastest(|| drop(std::hint::black_box(state.learnings.clone())));
    let mut number = COUNT;
    let push_after_copy = fastest(|| {
        let copy = state.learnings.clone();
        number += 1;
        evolve(&mut state, number, START, &learned(number));
        drop(std::hint::black_box(copy));
    });
    eprintln!("find {find:?}, copy {copy:?}, copy and push {push_after_copy:?}");
    // Unoptimised, and far from what it takes, so that only another order of growth fails.
    assert!(find < Duration::from_millis(5), "{find:?}");
    assert!(copy < Duration::from_millis(500), "{copy:?}");
}
