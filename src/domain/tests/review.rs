//! Finished work that waits for a person: approved, returned, edited, started over, cancelled.

use insta::assert_snapshot;

use super::table::Way;
use crate::domain::effect::ConflictLevel;
use crate::domain::event::Event;
use crate::domain::ids::Oid;
use crate::domain::lifecycle::{AttemptPhase, MergePhase};
use crate::domain::operation::{Command, IdeaEdit, NewIdea};
use crate::domain::outcome::{LandOutcome, SealOutcome};
use crate::domain::settings::Mode;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::outcomes::{built, conflicted, target_rewritten};
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea, new_idea, oid};
use crate::view::{self, Rest};

/// `idea-001` is finished and waits for a person.
fn in_review() -> Scenario {
    let mut s = Scenario::with(|settings| settings.auto_merge = false);
    s.add("one").all_goes_well().quietly();
    assert!(s.entry(1).is_in_review());
    s
}

fn approve(commit: Option<Oid>) -> Command {
    Command::ApproveMerge {
        id: idea(1),
        commit,
    }
}

fn reject(why: &str) -> Command {
    let why = why.to_owned();
    Command::RejectMerge { id: idea(1), why }
}

fn new_text(text: &str) -> Command {
    let edit = IdeaEdit {
        text: Some(text.to_owned()),
        ..IdeaEdit::default()
    };
    Command::EditIdea { id: idea(1), edit }
}

/// The agent finishes again, with this commit.
fn finishes_at(s: &mut Scenario, head: Oid) {
    s.well_until("iteration").completes(&agent(1));
    s.answer(
        "seal",
        SealOutcome::Sealed {
            head,
            committed: false,
            setup: None,
            links: vec![],
        },
    );
    s.all_goes_well();
}

#[test]
fn a_person_is_told_what_waits_and_what_to_type() {
    let s = in_review();
    let need = &view::needs_you(&s.state)[0];
    assert_eq!(
        (need.kind, need.commit.as_ref()),
        ("review", Some(&s.entry(1).source))
    );
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    assert_snapshot!(format!("{}\n{}", need.message, need.commands.join("\n")), @r#"
    idea-001 is finished and waits for your review: 1003000000 on agent/ed-001/idea-001
    swarm merge diff idea-001
    swarm merge approve idea-001 --commit 1003000000
    swarm merge reject idea-001 "..."
    "#);
}

#[test]
fn an_approval_is_for_the_commit_that_was_shown() {
    let mut s = in_review();
    let shown = s.entry(1).source.clone();
    s.command(reject("add a test"));
    finishes_at(&mut s, oid(0x77));
    s.quietly();
    assert_snapshot!(s.refused(&approve(Some(shown))), @r"
    WORK_CHANGED: the work of idea-001 has changed since you saw it: you approve commit 1003000000, but 0077000000 waits for review
    look at it: swarm merge diff idea-001
    ");
    assert!(s.then().is_empty());
    s.command(approve(Some(oid(0x77)))).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn approved_work_lands_on_a_target_that_moved_without_another_question() {
    let mut s = in_review();
    s.command(approve(None)).well_until("land");
    let commit = oid(0x55);
    s.answer("land", LandOutcome::TargetMoved { found: commit });
    assert_eq!(s.entry(1).phase, MergePhase::Building);
    assert!(!s.entry(1).is_in_review());
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_resolved_conflict_waits_for_review_again() {
    let mut s = in_review();
    s.command(approve(None)).well_until("buildMerge");
    s.answer("buildMerge", conflicted(ConflictLevel::Medium, &["a.rs"]));
    s.all_goes_well();
    let entry = s.entry(1);
    assert!(
        entry.is_in_review() && entry.approved.is_none(),
        "{entry:?}"
    );
    assert!(entry.conflict.is_none());
    s.command(approve(None)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn an_approval_without_review_before_was_for_whatever_landed() {
    let mut s = Scenario::running();
    s.add("one").well_until("buildMerge");
    s.answer("buildMerge", conflicted(ConflictLevel::Medium, &["a.rs"]));
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn returned_work_goes_to_the_same_agent_with_the_comment() {
    let mut s = in_review();
    let commit = s.entry(1).source.clone();
    s.command(reject("add a test"));
    assert_snapshot!(s.then(), @r"
    mergeRejected {agent: ed-001, id: idea-001, renewed: true, source: 1003, why: add a test}
    ed-001 -> Backoff
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 2, run: r0003-ed-001-i2}
    ed-001 -> Working
    ask #5 run r0003-ed-001-i2 as ed
    ");
    let attempt = s.attempt(1);
    assert_eq!((attempt.number, attempt.iteration), (1, 2));
    let comment = attempt.review.as_deref().unwrap();
    assert_eq!(
        (comment.text.as_str(), &comment.commit),
        ("add a test", &commit)
    );
    s.all_goes_well();
    assert!(s.entry(1).is_in_review());
    assert_eq!(s.attempt(1).review, None);
    let history: Vec<_> = s
        .idea(1)
        .audit
        .iter()
        .map(|line| line.what.as_str())
        .collect();
    assert!(history.contains(&"rejected"), "{history:?}");
}

#[test]
fn a_comment_survives_what_ends_the_attempt() {
    let ends: [(&str, Way); 3] = [
        ("a crash", |s| {
            s.iteration(&agent(1), crate::domain::observation::RunEndKind::Lost);
            s.wait_for_deadline();
        }),
        ("a stop", |s| {
            s.command(Command::StopAgent { id: agent(1) })
                .stop_delivered();
            s.iteration(&agent(1), crate::domain::observation::RunEndKind::Stopped);
        }),
        ("a failure", |s| {
            s.iteration(&agent(1), exit(1));
            s.command(Command::RetryIdea { id: idea(1) });
        }),
    ];
    for (name, end) in ends {
        let mut s = in_review();
        s.command(reject("add a test")).well_until("iteration");
        end(&mut s);
        s.well_until("iteration");
        let attempt = s.attempt(2);
        let comment = attempt
            .review
            .as_deref()
            .map(|comment| comment.text.as_str());
        assert_eq!(comment, Some("add a test"), "{name}");
    }
}

#[test]
fn a_return_gives_the_attempt_all_its_iterations_and_time_again() {
    let mut s = in_review();
    s.load(|settings| {
        settings.max_iterations = 2;
        settings.attempt_timeout_ms = 1;
    });
    for comment in ["add a test", "and another", "and a third"] {
        s.command(reject(comment));
        let attempt = s.attempt(1);
        assert_eq!((attempt.counted_iterations(), attempt.spent_ms), (1, 0));
        s.all_goes_well();
        assert!(s.entry(1).is_in_review(), "{comment}");
    }
    s.load(|settings| settings.max_iterations = 1);
    s.command(new_text("two")).all_goes_well();
    assert!(s.entry(1).is_in_review());
    assert_eq!((s.attempt(1).number, s.attempt(1).iteration), (1, 5));
}

#[test]
fn a_return_after_a_resolver_s_iterations_is_possible() {
    let mut s = in_review();
    s.load(|settings| settings.max_iterations = 2);
    s.command(approve(None)).well_until("buildMerge");
    s.answer("buildMerge", conflicted(ConflictLevel::Medium, &["a.rs"]));
    s.all_goes_well();
    assert_eq!(s.attempt(1).iteration, 2, "the resolver's was the last");
    s.command(reject("add a test")).all_goes_well();
    assert!(s.entry(1).is_in_review());
}

#[test]
fn a_comment_outlives_a_budget_that_is_used_up() {
    let mut s = in_review();
    s.load(|settings| settings.budget.tokens_per_idea = Some(0));
    s.command(reject("add a test"));
    assert_eq!(s.idea(1).status, IdeaStatus::Blocked);
    s.load(|settings| settings.budget.tokens_per_idea = None);
    s.command(Command::RetryIdea { id: idea(1) })
        .well_until("iteration");
    let comment = s.attempt(2).review.as_deref();
    assert_eq!(comment.unwrap().text, "add a test");
}

#[test]
fn approved_work_is_returned_until_its_landing_begins() {
    for until in ["buildMerge", "prepareVerify", "verify"] {
        let mut s = in_review();
        s.command(approve(None)).well_until(until);
        s.command(reject("add a test"));
        assert_eq!(s.idea(1).status, IdeaStatus::Active, "{until}");
        assert!(s.state.queue.is_empty() && s.state.last_undoable().is_none());
        s.all_goes_well();
        assert!(s.entry(1).is_in_review(), "{until}");
        assert_eq!(s.attempt(1).iteration, 2, "{until}");
    }
    let mut s = in_review();
    s.command(Command::Shutdown { keep_agents: false });
    s.command(approve(None)).command(reject("add a test"));
    assert!(s.state.queue.is_empty(), "also without a daemon");
}

#[test]
fn what_does_not_wait_for_review_says_what_it_waits_for() {
    let mut s = in_review();
    s.command(approve(None)).well_until("buildMerge");
    s.answer("buildMerge", conflicted(ConflictLevel::Complex, &["a.rs"]));
    s.all_goes_well();
    assert_eq!(s.entry(1).phase, MergePhase::Person);
    assert_snapshot!(s.refused(&approve(None)), @r#"
    NOT_NOW: cannot approve the work of idea-001: it waits for you to resolve its conflict
    resolve and commit it in "$(swarm path idea-001)", then: swarm merge resolve idea-001
    "#);
    assert_snapshot!(s.refused(&reject("no")), @r#"
    NOT_NOW: cannot reject the work of idea-001: it waits for you to resolve its conflict
    resolve and commit it in "$(swarm path idea-001)", then: swarm merge resolve idea-001
    "#);
    let mut s = in_review();
    s.command(approve(None)).well_until("buildMerge");
    s.answer("buildMerge", conflicted(ConflictLevel::Medium, &["a.rs"]));
    assert_snapshot!(s.refused(&approve(None)), @r"
    NOT_NOW: cannot approve the work of idea-001: an agent is resolving its conflict
    see when that is done: swarm merge list
    ");
    let mut s = in_review();
    s.command(Command::CancelIdea { id: idea(1) });
    assert_snapshot!(s.refused(&approve(None)), @r"
    NOT_NOW: cannot approve the merge of idea-001: the idea is cancelled, so it is not in the merge queue
    take the cancellation back, with the work: swarm undo; or start again from nothing: swarm idea retry idea-001
    ");
}

#[test]
fn approved_work_lands_on_a_rewritten_target_without_another_review() {
    let mut s = in_review();
    s.command(approve(None)).well_until("buildMerge");
    s.answer("buildMerge", target_rewritten(0x99, &[]));
    assert!(s.entry(1).approved.is_some());
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_return_needs_a_comment_that_fits() {
    let mut s = in_review();
    assert_snapshot!(s.refused(&reject(" \n")), @r#"
    TEXT_EMPTY: the comment for the agent is empty
    say what must change: swarm merge reject idea-001 "add a test"
    "#);
    let long = s.refused(&reject(&"x".repeat(17 * 1024)));
    assert!(long.starts_with("TEXT_TOO_LONG"), "{long}");
}

#[test]
fn a_new_text_returns_the_work_and_a_new_priority_does_not() {
    let mut s = in_review();
    let edit = IdeaEdit {
        priority: Some(7),
        ..IdeaEdit::default()
    };
    s.command(Command::EditIdea { id: idea(1), edit });
    assert!(s.entry(1).is_in_review());
    s.quietly().command(new_text("two"));
    assert_snapshot!(s.then(), @r"
    ideaEdited {edit: {content: two}, id: idea-001}
    mergeRejected {agent: ed-001, edited: true, id: idea-001, renewed: true, source: 1003, why: the text of the idea has changed; change your work so that it does what the idea says now}
    ed-001 -> Backoff
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 2, run: r0003-ed-001-i2}
    ed-001 -> Working
    ask #5 run r0003-ed-001-i2 as ed
    ");
    // The prompt takes the idea's own text.
    assert_eq!(s.attempt(1).text, None);
    assert!(
        view::edited(&s.state, &idea(1))
            .unwrap()
            .contains("new text")
    );
    s.all_goes_well();
    assert!(s.entry(1).is_in_review());
}

#[test]
fn an_edit_in_a_torn_log_returns_the_work_when_it_is_asked_for_again() {
    let mut s = in_review();
    let events = crate::domain::decide::command(&s.state, &new_text("two"), s.now).unwrap();
    let first = events.into_iter().take(1);
    s.given(first).restart();
    assert!(s.entry(1).is_in_review());
    s.quietly().command(new_text("two"));
    let returned = |(_, event): &&(_, Event)| matches!(event, Event::MergeRejected(_));
    assert_eq!(s.log.iter().filter(returned).count(), 1);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
}

#[test]
fn the_other_commands_say_what_a_review_needs() {
    let mut s = in_review();
    let say = Command::SayToAgent {
        id: agent(1),
        text: "look".into(),
    };
    assert_snapshot!(s.refused(&say), @r#"
    NOT_NOW: cannot send a message to ed-001: its work is finished and waits for your review
    return the work with your message: swarm merge reject idea-001 "..."
    "#);
    assert_snapshot!(s.refused(&Command::RetryMerge { id: idea(1) }), @r"
    NOT_NOW: cannot retry the merge of idea-001: its work waits for your review
    look at it: swarm merge diff idea-001
    ");
    s.command(approve(None)).well_until("land");
    assert_snapshot!(s.refused(&reject("no")), @r"
    NOT_NOW: cannot reject the work of idea-001: its landing has begun
    see whether it has landed: swarm log; if no daemon runs: swarm start
    ");
}

#[test]
fn stopping_and_cancelling_end_the_attempt_as_elsewhere() {
    let mut s = in_review();
    s.command(Command::SetMode {
        mode: Mode::SemiAuto,
    });
    s.command(Command::StopAgent { id: agent(1) });
    assert_eq!(s.idea(1).status, IdeaStatus::Pending);
    assert!(s.idea(1).kept.is_some() && s.state.queue.is_empty());
    let mut s = in_review();
    s.command(Command::CancelIdea { id: idea(1) });
    assert_eq!(s.idea(1).status, IdeaStatus::Cancelled);
    assert!(s.pending("releaseWorktree").is_some() && s.state.queue.is_empty());
}

#[test]
fn one_idea_can_ask_for_review() {
    let mut s = Scenario::running();
    s.command(Command::AddIdea(NewIdea {
        review: true,
        ..new_idea("one")
    }));
    s.add("two").all_goes_well();
    assert!(s.entry(1).is_in_review());
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
    assert!(view::idea(&idea(1), s.idea(1)).review);
    s.command(approve(None)).well_until("buildMerge");
    s.answer("buildMerge", built(5, 1)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_pause_holds_returned_work_and_lands_approved_work() {
    let mut s = in_review();
    s.command(Command::Pause { reason: None });
    s.command(reject("add a test"));
    assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
    s.command(Command::Resume).all_goes_well();
    s.command(Command::Pause { reason: None });
    s.command(approve(None)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}
