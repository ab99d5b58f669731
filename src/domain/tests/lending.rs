//! Finished work lends its worktree when another idea needs one, and gets one back when it needs a
//! place again.

use insta::assert_snapshot;
use serde_json::json;

use super::undo::undo;
use crate::domain::effect::{ConflictLevel, Effect, KeptWorktree, Saved};
use crate::domain::lifecycle::{AttemptPhase, MergePhase};
use crate::domain::operation::Command;
use crate::domain::outcome::{LendOutcome, WorktreePrepared};
use crate::domain::settings::Settings;
use crate::domain::state::checkpoint::unfinished;
use crate::domain::state::{IdeaStatus, Lending};
use crate::domain::testkit::outcomes::{conflicted, prepared, tree_setup};
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea};

/// Two slots, and all work waits for review.
fn bounded(most: u32, change: impl FnOnce(&mut Settings)) -> Scenario {
    Scenario::with(|settings| {
        settings.auto_merge = false;
        settings.max_worktrees = most;
        change(settings);
    })
}

/// `idea-001` waits for review and has lent its worktree to `idea-002`, which waits too.
fn lent(change: impl FnOnce(&mut Settings)) -> Scenario {
    let mut s = bounded(1, change);
    s.add("one").all_goes_well();
    s.add("two").all_goes_well().quietly();
    assert_eq!(lender(&s, 1), Some("w01"));
    s
}

/// Name of the worktree that an attempt has lent.
fn lender(s: &Scenario, number: u64) -> Option<&str> {
    s.attempt(number).lent()
}

fn approve(s: &mut Scenario, number: u64) -> &mut Scenario {
    s.command(Command::ApproveMerge {
        id: idea(number),
        commit: None,
    })
}

fn reject(s: &mut Scenario, number: u64) -> &mut Scenario {
    s.command(Command::RejectMerge {
        id: idea(number),
        why: "more".into(),
    })
}

/// What the pending preparation starts from.
fn from(s: &Scenario) -> KeptWorktree {
    let prepared = s.state.outbox.values().find_map(|effect| match effect {
        Effect::PrepareWorktree(it) => it.from.clone(),
        _ => None,
    });
    prepared.expect("nothing is prepared from earlier work")
}

#[test]
fn the_work_that_has_waited_longest_lends_its_worktree_and_lands_from_its_branch() {
    let mut s = bounded(2, |_| ());
    s.add("one").all_goes_well();
    s.add("two").all_goes_well();
    s.add("three").all_goes_well();
    assert_eq!((lender(&s, 1), lender(&s, 2)), (Some("w01"), None));
    assert_eq!(s.attempt(3).worktree, "w01");
    s.quietly();
    approve(&mut s, 1).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert!(s.then().contains("releaseWorktree ed-001-idea-001"));
    assert_eq!(s.state.ended[&agent(1)].worktree, "w01");
}

#[test]
fn twelve_ideas_for_review_never_have_more_worktrees_than_are_allowed() {
    let mut s = bounded(4, |_| ());
    for number in 1..=12 {
        s.add(&format!("idea {number}"));
        while s.one_goes_well() {
            assert!(s.state.worktrees_in_use() <= 4);
        }
    }
    let lent = (1..=12).filter(|number| lender(&s, *number).is_some());
    assert_eq!(lent.count(), 8);
    for number in 1..=12 {
        approve(&mut s, number).all_goes_well();
        assert_eq!(s.idea(number).status, IdeaStatus::Done);
    }
}

#[test]
fn a_ready_idea_waits_until_the_worktree_is_lent_also_after_a_kill() {
    let mut s = bounded(1, |_| ());
    s.add("one").all_goes_well().add("two");
    for _ in 0..2 {
        assert!(s.pending("lendWorktree").is_some());
        assert_eq!(s.idea(2).status, IdeaStatus::Pending);
        s.restart();
    }
    s.goes_well("lendWorktree");
    assert_eq!(s.attempt(2).worktree, "w01");
}

#[test]
fn an_approval_waits_for_a_worktree_that_is_being_lent() {
    let mut s = bounded(1, |_| ());
    s.add("one").all_goes_well().add("two");
    approve(&mut s, 1);
    assert!(s.pending("buildMerge").is_none());
    s.goes_well("lendWorktree");
    assert!(s.pending("buildMerge").is_some());
}

#[test]
fn a_worktree_that_holds_more_than_its_branch_stays_and_does_not_count() {
    for fails in [false, true] {
        let mut s = bounded(2, |_| ());
        s.add("one").all_goes_well().add("two").all_goes_well();
        s.add("three").quietly();
        if fails {
            s.fails("lendWorktree", "the index is damaged");
        } else {
            let what = "uncommitted files (mine.txt)".into();
            s.answer("lendWorktree", LendOutcome::HoldsMore { what });
        }
        assert!(s.attempt(1).lending == Lending::HoldsMore);
        let names = [1, 2, 3].map(|number| s.attempt(number).worktree.clone());
        assert_eq!(names, ["w01", "w02", "w03"]);
        s.all_goes_well().add("four").all_goes_well();
        assert_eq!((lender(&s, 1), lender(&s, 2)), (None, Some("w02")));
    }
}

#[test]
fn whoever_keeps_the_worktrees_of_landed_work_lends_none() {
    let mut s = bounded(1, |settings| settings.cleanup_on_success = false);
    s.add("one").all_goes_well().add("two");
    assert_eq!(s.attempt(2).worktree, "w02");
}

#[test]
fn returned_work_gets_a_worktree_again_before_its_agent_goes_on() {
    let mut s = lent(|_| ());
    let (tip, wip) = (s.entry(1).source.clone(), None);
    reject(&mut s, 1);
    assert_snapshot!(s.then(), @"
    mergeRejected {agent: ed-001, id: idea-001, renewed: true, source: 1003, why: more}
    ed-001 -> Backoff
    ed-001 -> Preparing
    ask #10 lendWorktree w01
    ");
    assert_eq!(s.attempt(1).phase, AttemptPhase::Preparing);
    s.goes_well("lendWorktree");
    assert_eq!(lender(&s, 2), Some("w01"));
    assert_eq!(from(&s).saved, Some(Saved { tip, wip }));
    s.restart().well_until("iteration");
    assert_eq!(
        (lender(&s, 1), s.attempt(1).worktree.as_str()),
        (None, "w01")
    );
    assert!(s.attempt(1).review.is_some(), "the prompt has the comment");
    s.all_goes_well();
    approve(&mut s, 1).all_goes_well();
    approve(&mut s, 2).all_goes_well();
    assert!(s.state.agents.is_empty());
}

#[test]
fn a_worktree_that_was_made_again_is_set_up_before_the_next_iteration() {
    let mut s = lent(|settings| settings.setup = vec!["npm ci".into()]);
    reject(&mut s, 1).well_until("prepareWorktree");
    let head = s.attempt(1).head.clone().unwrap();
    let outcome = WorktreePrepared {
        head,
        base: s.attempt(1).base.clone().unwrap(),
        warm: false,
        setup: tree_setup(),
    };
    s.answer("prepareWorktree", outcome);
    assert!(s.pending("setup").is_some() && s.pending("iteration").is_none());
    s.goes_well("setup");
    assert!(s.pending("iteration").is_some());
}

#[test]
fn a_conversation_ends_with_the_path_that_it_belongs_to() {
    for elsewhere in [false, true] {
        let mut s = lent(|_| ());
        let session =
            serde_json::from_value(json!({"id": "one", "profile": "ed", "counted": {}})).unwrap();
        s.state.agents.get_mut(&agent(1)).unwrap().session = Some(session);
        if elsewhere {
            // Its place is another's now, for good.
            s.state.agents.get_mut(&agent(2)).unwrap().lending = Lending::HoldsMore;
        }
        reject(&mut s, 1).well_until("iteration");
        let attempt = s.attempt(1);
        let place = if elsewhere { "w02" } else { "w01" };
        assert_eq!(attempt.worktree, place);
        assert_eq!(attempt.session.is_none(), elsewhere);
    }
}

#[test]
fn a_conflict_is_laid_out_in_a_worktree_that_was_made_again() {
    let mut s = lent(|_| ());
    approve(&mut s, 1);
    s.answer("buildMerge", conflicted(ConflictLevel::Complex, &["a.rs"]));
    assert_eq!(s.entry(1).phase, MergePhase::Person);
    s.well_until("prepareWorktree");
    assert!(s.pending("startResolution").is_none());
    s.goes_well("prepareWorktree");
    assert_eq!(s.attempt(1).worktree, "w01");
    s.goes_well("startResolution");
    assert!(s.entry(1).laid_out);
    s.add("three").all_goes_well();
    assert_eq!(lender(&s, 1), None, "a person works there");
    s.command(Command::ResolveMerge { id: idea(1) })
        .all_goes_well();
}

#[test]
fn a_conflict_without_a_place_waits_for_a_person() {
    let mut s = lent(|_| ());
    approve(&mut s, 1);
    s.answer("buildMerge", conflicted(ConflictLevel::Medium, &["a.rs"]));
    s.well_until("prepareWorktree");
    s.fails("prepareWorktree", "a folder is in the way");
    let entry = s.entry(1);
    assert_eq!(entry.phase, MergePhase::Person);
    assert_eq!(
        entry.waits.as_ref().unwrap().reason,
        "a folder is in the way"
    );
    assert_eq!(lender(&s, 1), Some("w01"));
    s.command(Command::RetryMerge { id: idea(1) });
    assert!(s.pending("buildMerge").is_some());
}

#[test]
fn work_that_fails_on_the_merged_tree_gets_a_worktree_and_the_target() {
    let mut s = lent(|settings| settings.setup = vec!["npm ci".into()]);
    approve(&mut s, 1).well_until("verify");
    s.check(exit(1)).well_until("prepareWorktree");
    assert!(s.attempt(1).catch_up.is_some());
    s.answer("prepareWorktree", prepared());
    assert!(
        s.attempt(1).catch_up.is_some(),
        "the target is not there yet"
    );
    s.goes_well("startResolution");
    assert!(
        s.pending("setup").is_some(),
        "it is set up before the next iteration"
    );
    s.well_until("iteration").all_goes_well();
    assert!(s.entry(1).is_in_review());
}

#[test]
fn work_without_a_worktree_is_started_over_from_its_commit() {
    let mut s = lent(|_| ());
    let (tip, wip) = (s.entry(1).source.clone(), None);
    s.command(Command::RetryIdea { id: idea(1) });
    assert!(s.then().contains("releaseWorktree ed-001-idea-001"));
    s.well_until("prepareWorktree");
    assert_eq!(from(&s).saved, Some(Saved { tip, wip }));
    let next = s.state.attempt_at(&idea(1)).unwrap().1;
    assert_eq!((next.number, next.worktree.as_str()), (2, "w01"));
}

#[test]
fn an_undone_cancellation_brings_the_work_without_a_worktree_back() {
    let mut s = lent(|_| ());
    let (tip, wip) = (s.entry(1).source.clone(), None);
    s.command(Command::CancelIdea { id: idea(1) });
    assert_eq!(s.idea(1).status, IdeaStatus::Cancelled);
    let command = undo(&s);
    s.all_goes_well().command(command);
    let kept = s.state.ideas.get(&idea(1)).unwrap().kept.clone();
    let kept = kept.or_else(|| s.state.attempt_at(&idea(1))?.1.kept.clone());
    assert_eq!(kept.unwrap().worktree.saved, Some(Saved { tip, wip }));
}

#[test]
fn a_checkpoint_has_the_work_that_waits_without_a_worktree() {
    let s = lent(|_| ());
    let works = unfinished(&s.state);
    let saved = works
        .iter()
        .map(|work| work.saved.clone())
        .collect::<Vec<_>>();
    let (tip, wip) = (s.entry(1).source.clone(), None);
    assert_eq!(saved, [Some(Saved { tip, wip }), None]);
}

#[test]
fn a_shutdown_keeps_what_is_lent_in_the_queue() {
    let mut s = lent(|_| ());
    reject(&mut s, 1);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Preparing);
    s.command(Command::Shutdown { keep_agents: false })
        .all_goes_well();
    s.restart().all_goes_well();
    assert!(s.entry(1).is_in_review() && s.entry(2).is_in_review());
}
