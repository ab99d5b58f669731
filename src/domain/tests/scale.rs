//! Ten thousand ideas. Not timed: what would be quadratic would not end in the time that a test
//! has.

use crate::domain::decide;
use crate::domain::event::{Event, IdeaAdded};
use crate::domain::evolve::evolve;
use crate::domain::operation::{Command, NewIdea};
use crate::domain::scheduling;
use crate::domain::settings::Mode;
use crate::domain::state::{Idea, IdeaStatus, State};
use crate::domain::testkit::{Scenario, idea, new_idea};
use crate::view;

const MANY: u64 = 10_000;

/// Many ideas, each behind the one before.
fn chain() -> State {
    let mut state = Scenario::with(|settings| settings.mode = Mode::SemiAuto).state;
    for number in 1..=MANY {
        let after = (number > 1).then(|| idea(number - 1)).into_iter().collect();
        let event = Event::IdeaAdded(IdeaAdded {
            id: idea(number),
            idea: NewIdea {
                after,
                ..new_idea("one of many")
            },
        });
        let (seq, at) = (state.seq + 1, state.swarm.last_event_at);
        evolve(&mut state, seq, at, &event);
    }
    state
}

/// The same, each changed.
fn changed(change: impl Fn(&mut Idea)) -> State {
    let mut state = chain();
    for number in 1..=MANY {
        state.ideas.change(&idea(number), &change).unwrap();
    }
    state
}

#[test]
fn finished_ideas_cost_nothing_per_decision() {
    let state = changed(|one| one.status = IdeaStatus::Done);
    let now = state.swarm.last_event_at;
    for _ in 0..50_000 {
        assert_eq!(decide::next_deadline(&state, now), None);
        assert_eq!(scheduling::next(&state, now, |_| true), None);
        assert_eq!(view::rest(&state), view::Rest::Idle);
        assert_eq!(view::count(&state)["done"] as u64, MANY);
    }
}

#[test]
fn a_decision_without_ready_ideas_is_cheap() {
    let state = chain();
    let now = state.swarm.last_event_at;
    for _ in 0..300 {
        assert!(decide::advance(&state, now).is_empty());
        assert_eq!(decide::next_deadline(&state, now), None);
        assert_eq!(view::rest(&state), view::Rest::Idle);
    }
}

#[test]
fn the_longest_cycle_is_found() {
    let state = chain();
    let edit = crate::domain::operation::IdeaEdit {
        after: Some(vec![idea(MANY)]),
        ..Default::default()
    };
    let close = Command::EditIdea { id: idea(1), edit };
    assert!(decide::command(&state, &close, state.swarm.last_event_at).is_err());
}

#[test]
fn choosing_among_many_looks_at_each_once() {
    let state = changed(|one| {
        one.after.clear();
        one.assigned = true;
    });
    for _ in 0..100 {
        let next = scheduling::next(&state, state.swarm.last_event_at, |_| true);
        assert_eq!(next, Some(idea(1)));
    }
}
