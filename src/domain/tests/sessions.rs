//! Conversations: resumed by the next iteration and the next attempt, dropped when they cannot be
//! resumed or cannot go on.

use insta::assert_snapshot;

use super::provider::{accounts, add_for, blamed, end, over, run_of};
use crate::domain::effect::{self, Effect};
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::state::IdeaStatus;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::testkit::{Scenario, agent, idea, oid, profile};
use crate::domain::verdict::{Cause, Verdict};

/// An agent at work in a conversation.
fn talking() -> Scenario {
    let mut s = Scenario::with(accounts);
    s.add("one").well_until("iteration");
    named(&mut s, "first");
    s.quietly();
    s
}

fn named(s: &mut Scenario, name: &str) {
    let (_, run) = run_of(s, 1);
    let session = name.parse().unwrap();
    s.when(Observation::SessionSeen { run, session });
}

fn session(s: &Scenario, number: u64) -> Option<String> {
    let (_, attempt) = s.state.attempt_at(&idea(number))?;
    let session = attempt.session.as_ref();
    session.map(|session| session.id.to_string())
}

/// The worktree that is asked for, and the one that it is made from.
fn prepared(s: &Scenario) -> (String, Option<String>) {
    let effect = s
        .pending("prepareWorktree")
        .map(|id| s.state.outbox[&id].clone());
    match effect {
        Some(Effect::PrepareWorktree(effect::PrepareWorktree { worktree, from, .. })) => {
            (worktree, from.map(|from| from.worktree))
        }
        _ => panic!("no worktree is asked for"),
    }
}

#[test]
fn the_next_iteration_resumes_the_conversation() {
    let mut s = talking();
    over(&mut s, 1, end(0, Verdict::Complete));
    assert_eq!(session(&s, 1).as_deref(), Some("first"));
    // Seen once more it is the same.
    s.quietly();
    named(&mut s, "first");
    assert_snapshot!(s.then(), @"");
    named(&mut s, "second");
    assert_snapshot!(s.then(), @r"sessionBegan {agent: ed-001, profile: ed, run: r0002-ed-001-i2, session: second}");
}

#[test]
fn the_end_of_a_run_can_name_the_conversation() {
    let mut s = Scenario::with(accounts);
    s.add("one").well_until("iteration");
    let session = Some("late".parse().unwrap());
    over(
        &mut s,
        1,
        RunEnd {
            session,
            ..end(0, Verdict::Complete)
        },
    );
    assert_eq!(super::sessions::session(&s, 1).as_deref(), Some("late"));
}

#[test]
fn after_a_crash_the_conversation_resumes_in_the_same_worktree() {
    let mut s = talking();
    over(&mut s, 1, RunEnd::new(RunEndKind::Lost));
    s.wait_for_deadline();
    let same = "w01".to_owned();
    assert_eq!(prepared(&s), (same.clone(), Some(same)));
    assert_eq!(session(&s, 1).as_deref(), Some("first"));
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn after_a_stop_the_conversation_resumes_only_under_the_same_profile() {
    for (name, kept) in [("ed", true), ("finn", false)] {
        let mut s = talking();
        s.command(Command::Pause { reason: None });
        s.command(Command::StopAgent { id: agent(1) });
        s.stop_delivered();
        over(&mut s, 1, RunEnd::new(RunEndKind::Stopped));
        let (id, profile) = (idea(1), Some(profile(name)));
        s.command(Command::AssignIdea { id, profile });
        s.command(Command::Resume);
        let (worktree, from) = prepared(&s);
        assert_eq!(from.as_deref(), Some("w01"));
        assert_eq!(worktree, "w01");
        assert_eq!(session(&s, 1).is_some(), kept);
        s.all_goes_well();
        assert_eq!(s.idea(1).status, IdeaStatus::Done);
    }
}

#[test]
fn without_resuming_an_idea_keeps_its_worktree_too() {
    let mut s = talking();
    s.load(|settings| settings.resume_sessions = false);
    over(&mut s, 1, RunEnd::new(RunEndKind::Lost));
    s.wait_for_deadline();
    assert_eq!(prepared(&s).0, "w01");
}

#[test]
fn a_redirect_takes_the_conversation_along() {
    for new_worktree in [false, true] {
        let mut s = talking();
        s.command(Command::Pause { reason: None });
        s.add("two").command(Command::RedirectAgent {
            id: agent(1),
            idea: idea(2),
            new_worktree,
        });
        s.stop_delivered();
        over(&mut s, 1, RunEnd::new(RunEndKind::Stopped));
        s.all_goes_well().command(Command::Resume);
        let taken = session(&s, 2);
        assert_eq!(taken.is_some(), !new_worktree);
        let (_, two) = s.state.attempt_at(&idea(2)).unwrap();
        assert_eq!(two.worktree == "w01", !new_worktree);
        s.all_goes_well();
        assert!((1..=2).all(|number| s.idea(number).status == IdeaStatus::Done));
    }
}

#[test]
fn an_idea_cancelled_before_it_resumes_releases_its_worktree_once() {
    let mut s = talking();
    over(&mut s, 1, RunEnd::new(RunEndKind::Lost));
    s.wait_for_deadline();
    assert_eq!(prepared(&s).0, "w01");
    s.command(Command::CancelIdea { id: idea(1) });
    s.fails("prepareWorktree", "no");
    let release = |effect: &&Effect| matches!(effect, Effect::ReleaseWorktree(_));
    assert_eq!(s.state.outbox.values().filter(release).count(), 1);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Cancelled);
}

#[test]
fn a_conversation_that_fails_to_resume_twice_is_dropped_with_a_warning() {
    let mut s = talking();
    over(&mut s, 1, blamed(Cause::Session));
    assert_eq!(session(&s, 1).as_deref(), Some("first"));
    s.wait_for_deadline().quietly();
    over(&mut s, 1, blamed(Cause::Session));
    assert_snapshot!(s.then(), @r"
    run r0002-ed-001-i2 Exited { code: 1 }
    warningRaised {key: session-ed-001, message: ed-001 could not resume its conversation (try again later); it starts a new one, with everything known about its work}
    iterationExcused {agent: ed-001, excuse: session, notBefore: 2026-01-01T00:00:02.000Z, phase: backoff}
    sessionDropped {agent: ed-001, why: try again later}
    end #3
    ");
    assert_eq!(session(&s, 1), None);
    s.wait_for_deadline();
    named(&mut s, "second");
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert!(s.state.warnings.is_empty());
}

#[test]
fn a_successful_resume_resets_the_count_of_failures() {
    let mut s = talking();
    over(&mut s, 1, blamed(Cause::Session));
    s.wait_for_deadline();
    over(&mut s, 1, end(0, Verdict::Complete));
    over(&mut s, 1, blamed(Cause::Session));
    assert_eq!(session(&s, 1).as_deref(), Some("first"));
}

#[test]
fn a_run_without_a_conversation_cannot_fail_because_of_one() {
    let mut s = Scenario::with(accounts);
    add_for(&mut s, "one", "finn");
    s.well_until("iteration");
    over(&mut s, 1, blamed(Cause::Session));
    assert_eq!(s.idea(1).status, IdeaStatus::Failed);
}

#[test]
fn a_conversation_that_cannot_go_on_is_replaced_at_no_charge() {
    let mut s = talking();
    over(&mut s, 1, blamed(Cause::Exhausted));
    assert_snapshot!(s.then(), @r"
    run r0001-ed-001-i1 Exited { code: 1 }
    sessionDropped {agent: ed-001, why: try again later}
    iterationExcused {agent: ed-001, excuse: exhausted, notBefore: 2026-01-01T00:00:01.000Z, phase: backoff}
    end #2
    ");
    assert_eq!(session(&s, 1), None);
    s.wait_for_deadline();
    assert_eq!(s.attempt(1).counted_iterations(), 1);
    let why = "try again later".into();
    assert_eq!(
        s.attempt(1).prompt_cause(),
        PromptCause::NewConversation { why }
    );
    named(&mut s, "second");
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!((s.idea(1).attempts, s.idea(1).retry_count), (1, 0));
}

#[test]
fn two_conversations_in_a_row_without_a_commit_fail_the_idea() {
    let mut s = talking();
    over(&mut s, 1, blamed(Cause::Exhausted));
    s.wait_for_deadline();
    named(&mut s, "second");
    over(&mut s, 1, blamed(Cause::Exhausted));
    assert_eq!(s.idea(1).status, IdeaStatus::Failed);
    let why = s.idea(1).last_error.as_deref().unwrap();
    assert!(why.contains("could not go on 2 times in a row"), "{why}");
    assert!(why.contains("try again later"), "{why}");
    s.command(Command::RetryIdea { id: idea(1) });
    assert_eq!(session(&s, 1), None);
}

#[test]
fn conversations_with_a_commit_between_them_are_replaced_again_and_again() {
    let mut s = talking();
    for number in 0..4 {
        let head = Some(oid(0x50 + number));
        over(
            &mut s,
            1,
            RunEnd {
                head,
                ..blamed(Cause::Exhausted)
            },
        );
        s.wait_for_deadline();
    }
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}
