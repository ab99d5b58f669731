//! Worktrees that git cannot fill: nobody is charged, and swarm tries again by itself.

use crate::domain::attention::rest::Rest;
use crate::domain::event::Event;
use crate::domain::operation::Command;
use crate::domain::outcome::{FailureKind, WorktreeReleased};
use crate::domain::settings::BaselineMode;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::Scenario;
use crate::view;

const WHY: &str = "the filter `crypt` failed";

/// The next idea gets no worktree.
fn meets(s: &mut Scenario) {
    s.fails_as("prepareWorktree", FailureKind::Content, WHY);
    while s.pending("releaseWorktree").is_some() {
        s.answer("releaseWorktree", WorktreeReleased::default());
    }
}

fn needs(s: &Scenario) -> Vec<String> {
    let needs = view::needs_you(&s.state).into_iter();
    needs.map(|need| need.message).collect()
}

#[test]
fn no_idea_is_charged_and_the_waits_grow() {
    let mut s = Scenario::running();
    s.add("one").quietly();
    for wait in [2_000, 10_000, 60_000, 300_000, 300_000] {
        meets(&mut s);
        assert!(s.state.agents.is_empty(), "nothing begins meanwhile");
        assert_eq!(s.idea(1).status, IdeaStatus::Pending);
        assert_eq!((s.idea(1).failed_attempts, s.idea(1).retry_count), (0, 0));
        s.wait(wait - 1);
        assert!(s.pending("prepareWorktree").is_none(), "{wait} ms");
        s.wait(1);
        assert!(s.pending("prepareWorktree").is_some(), "{wait} ms");
    }
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert!(s.state.swarm.worktrees_held.is_none());
    assert_eq!(needs(&s), [""; 0]);
}

#[test]
fn one_idea_at_a_time_tries_whether_worktrees_can_be_made_again() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 3);
    s.add("one").add("two").add("three").quietly();
    // All three are being prepared; the same problem counts once.
    for _ in 0..3 {
        meets(&mut s);
    }
    let held = s.state.swarm.worktrees_held.as_ref().unwrap();
    assert_eq!(held.times, 1);
    s.wait_for_deadline();
    assert_eq!(s.state.agents.len(), 1);
    s.goes_well("prepareWorktree");
    assert_eq!(s.state.agents.len(), 3, "the others follow at once");
}

#[test]
fn agents_that_have_their_worktree_continue() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 2);
    s.add("one").well_until("iteration").add("two").quietly();
    meets(&mut s);
    assert!(s.state.holds_worktrees(s.now));
    s.well_until("releaseWorktree");
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(s.idea(2).status, IdeaStatus::Pending);
}

#[test]
fn people_hear_of_it_at_the_second_try_and_a_start_until_idle_ends_at_the_third() {
    let mut s = Scenario::running();
    s.add("one").quietly();
    meets(&mut s);
    assert_eq!(needs(&s), [""; 0], "a network may be away for a moment");
    s.wait_for_deadline();
    meets(&mut s);
    assert_eq!(
        needs(&s),
        [
            "no worktree can be made: the filter `crypt` failed. No idea is charged, agents that \
            have a worktree continue, and swarm tries again by itself"
        ]
    );
    assert_eq!(view::needs_you(&s.state)[0].kind, "environment");
    assert_eq!(view::rest(&s.state), Rest::Busy);
    s.wait_for_deadline();
    meets(&mut s);
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
}

#[test]
fn a_resume_a_restart_and_a_change_of_the_configuration_try_again_at_once() {
    let again: [fn(&mut Scenario); 3] = [
        |s| {
            s.command(Command::Resume);
        },
        |s| {
            s.restart();
        },
        |s| {
            s.load(|settings| settings.max_iterations += 1);
        },
    ];
    for again in again {
        let mut s = Scenario::running();
        s.add("one").quietly();
        for _ in 0..4 {
            meets(&mut s);
            s.wait_for_deadline();
        }
        meets(&mut s);
        again(&mut s);
        s.all_goes_well();
        assert_eq!(s.idea(1).status, IdeaStatus::Done);
    }
}

#[test]
fn work_whose_leftovers_cannot_be_committed_is_sealed_later_without_another_iteration() {
    let mut s = Scenario::running();
    s.add("one").well_until("seal").quietly();
    for _ in 0..3 {
        s.fails_as("seal", FailureKind::Content, WHY);
        assert!(s.pending("seal").is_none());
        assert_eq!(s.idea(1).status, IdeaStatus::Active);
        if s.state.swarm.worktrees_held.as_ref().unwrap().times < 3 {
            assert_eq!(view::rest(&s.state), Rest::Busy);
            s.wait_for_deadline();
        }
    }
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.wait_for_deadline().all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    let iterations = |it: &&(_, Event)| matches!(it.1, Event::IterationStarted(_));
    assert_eq!(s.log.iter().filter(iterations).count(), 1);
}

#[test]
fn a_target_that_cannot_be_checked_out_holds_like_a_worktree() {
    let mut s = Scenario::with(|settings| settings.baseline = BaselineMode::Require);
    s.add("one");
    for _ in 0..2 {
        s.fails_as("prepareBaseline", FailureKind::Content, WHY);
        assert!(s.state.red_baseline().is_none());
        assert!(s.pending("prepareBaseline").is_none());
        s.wait_for_deadline();
    }
    assert_eq!(needs(&s).len(), 1);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_merged_tree_that_cannot_be_checked_out_keeps_its_work_in_the_queue() {
    let mut s = Scenario::running();
    s.add("one").well_until("prepareVerify");
    s.fails_as("prepareVerify", FailureKind::Content, WHY);
    assert_eq!(s.idea(1).status, IdeaStatus::Merging);
    s.wait_for_deadline().all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}
