//! A log that ends anywhere, also in the middle of a decision: a daemon that starts from it goes on and loses nothing.

use crate::domain::command::Command;
use crate::domain::effect::ConflictLevel;
use crate::domain::event::Event;
use crate::domain::lifecycle::MergePhase;
use crate::domain::observation::Outcome;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::{exit, fold};
use crate::domain::testkit::{Scenario, agent, idea, oid};
use crate::domain::view::{self, Rest};

/// Starts from every beginning of this log in which the idea is known; all must land it, once.
fn every_beginning_goes_on(whole: &Scenario) {
    let known = whole
        .log
        .iter()
        .position(|(_, event)| matches!(event, Event::IdeaAdded { .. }));
    for length in known.unwrap() + 1..=whole.log.len() {
        let mut s = Scenario::empty();
        s.now = whole.now;
        s.log = whole.log[..length].to_vec();
        s.state = fold(&s.log);
        s.restart().all_goes_well();
        for _ in 0..3 {
            if s.state
                .entry(&idea(1))
                .is_some_and(|entry| entry.phase == MergePhase::Person)
            {
                s.command(Command::ResolveMerge { id: idea(1) })
                    .all_goes_well();
            }
        }
        let one = s.idea(1);
        assert_eq!(
            one.status,
            IdeaStatus::Done,
            "after {length} events: {:?}",
            whole.log[length - 1].1
        );
        assert_eq!(one.attempts, 1, "after {length} events");
        assert_eq!(view::rest(&s.state), Rest::Idle);
        let landings = s
            .log
            .iter()
            .filter(|(_, event)| matches!(event, Event::IdeaLanded { .. }));
        assert_eq!(landings.count(), 1);
    }
}

#[test]
fn of_a_plain_life() {
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    every_beginning_goes_on(&s);
}

#[test]
fn of_a_refused_gate() {
    let mut s = Scenario::running();
    s.add("one")
        .well_until("gate")
        .check(exit(1))
        .well_until("iteration");
    s.iteration(&agent(1), exit(0)).all_goes_well();
    every_beginning_goes_on(&s);
}

#[test]
fn of_a_question() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    s.says(&agent(1), Signal::NeedsHuman(None))
        .iteration(&agent(1), exit(0));
    // From here on: before that, the simulated agent would just do it, and in between nobody answers.
    let waiting = s.log.len();
    s.command(Command::RetryIdea { id: idea(1) })
        .all_goes_well();
    let mut from = Scenario::empty();
    from.log = s.log.clone();
    from.now = s.now;
    assert!(waiting < from.log.len());
    for length in waiting + 1..=from.log.len() {
        let mut s = Scenario::empty();
        s.log = from.log[..length].to_vec();
        s.now = from.now;
        s.state = fold(&s.log);
        s.restart().all_goes_well();
        assert_eq!(s.idea(1).status, IdeaStatus::Done);
    }
}

#[test]
fn of_conflicts() {
    for level in [ConflictLevel::Medium, ConflictLevel::Complex] {
        let mut s = Scenario::running();
        s.add("one").well_until("buildMerge");
        let (target, files) = (oid(9), vec!["a.rs".into()]);
        s.answer(
            "buildMerge",
            Outcome::Conflicted {
                target,
                level,
                files,
            },
        )
        .all_goes_well();
        if level == ConflictLevel::Complex {
            s.command(Command::ResolveMerge { id: idea(1) })
                .all_goes_well();
        }
        every_beginning_goes_on(&s);
    }
}

#[test]
fn of_a_resolver_that_fails() {
    let mut s = Scenario::running();
    s.add("one").well_until("buildMerge");
    let (target, level, files) = (oid(9), ConflictLevel::Medium, vec!["a.rs".into()]);
    s.answer(
        "buildMerge",
        Outcome::Conflicted {
            target,
            level,
            files,
        },
    );
    s.well_until("iteration").iteration(&agent(1), exit(1));
    s.well_until("finishResolution");
    let files = vec!["a.rs".into()];
    s.answer("finishResolution", Outcome::StillConflicted { files });
    s.command(Command::ResolveMerge { id: idea(1) })
        .all_goes_well();
    every_beginning_goes_on(&s);
}

#[test]
fn of_a_merged_tree_that_fails() {
    let mut s = Scenario::running();
    s.add("one")
        .well_until("verify")
        .check(exit(1))
        .all_goes_well();
    every_beginning_goes_on(&s);
}

#[test]
fn of_a_target_that_moves_and_of_a_clean_end() {
    let mut s = Scenario::running();
    s.add("one").well_until("land");
    s.answer("land", Outcome::TargetMoved { found: oid(0x66) });
    s.command(Command::Shutdown { keep_agents: false })
        .all_goes_well();
    s.restart().all_goes_well();
    every_beginning_goes_on(&s);
}
