//! What a person did last is taken back: once, with its work, or not at all.

use insta::assert_snapshot;

use crate::domain::effect::Saved;
use crate::domain::observation::RunEndKind;
use crate::domain::operation::Command;
use crate::domain::outcome::WorktreeReleased;
use crate::domain::settings::Mode;
use crate::domain::state::{Ending, IdeaStatus};
use crate::domain::testkit::outcomes::work_saved;
use crate::domain::testkit::{Scenario, agent, idea, oid};
use crate::view;

/// One agent works on the first idea.
fn working() -> Scenario {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").add("two").well_until("iteration").quietly();
    s
}

pub(super) fn undo(s: &Scenario) -> Command {
    Command::Undo {
        seq: s.state.last_undoable().map_or(0, |last| last.seq),
        from: None,
    }
}

fn cancelled(s: &mut Scenario) {
    s.command(Command::CancelIdea { id: idea(1) });
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    assert_eq!(s.idea(1).status, IdeaStatus::Cancelled);
}

#[test]
fn an_idea_gets_the_work_back_that_was_saved_when_its_worktree_was_released() {
    let mut s = working();
    cancelled(&mut s);
    let command = undo(&s);
    assert_snapshot!(s.refused(&command), @r"
    NOT_NOW: cannot undo: the work of idea-001 is being put aside at this moment
    try again in a moment (a daemon must be running): swarm undo
    ");
    let (tip, wip) = (oid(7), Some(oid(8)));
    let rescued = Some(Saved { tip, wip });
    s.answer(
        "releaseWorktree",
        WorktreeReleased {
            rescued: rescued.clone(),
            ..WorktreeReleased::default()
        },
    );
    s.command(command.clone());
    let kept = s.idea(1).kept.clone().unwrap().worktree;
    assert_eq!((kept.saved, kept.worktree.as_str()), (rescued, ""));
    assert_eq!(s.idea(1).status, IdeaStatus::Pending);
    s.quietly();
    s.command(command);
    assert_snapshot!(s.then(), @"");
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn before_the_agent_has_ended_the_cancellation_becomes_an_interruption() {
    let mut s = working();
    s.command(Command::CancelIdea { id: idea(1) });
    let command = undo(&s);
    s.command(command);
    assert_eq!(s.attempt(1).ending, Some(Ending::Interrupted));
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    let worktree = s.attempt(2).kept.clone().unwrap().worktree.worktree;
    assert_eq!(worktree, "w01");
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_failed_idea_has_failed_again_and_keeps_its_worktree_if_no_daemon_has_released_it() {
    let mut s = working();
    s.iteration(&agent(1), RunEndKind::Exited { code: 1 });
    s.command(Command::Shutdown { keep_agents: true });
    s.command(Command::CancelIdea { id: idea(1) });
    let command = undo(&s);
    s.command(command);
    let first = s.idea(1);
    assert_eq!(first.status, IdeaStatus::Failed);
    let worktree = &first.kept.as_ref().unwrap().worktree.worktree;
    assert_eq!(worktree, "w01");
    assert!(s.state.owed.worktrees.is_empty());
    s.restart();
    s.command(Command::RetryIdea { id: idea(1) })
        .all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

fn redirected() -> Scenario {
    let mut s = working();
    s.command(Command::RedirectAgent {
        id: agent(1),
        idea: idea(2),
        new_worktree: false,
    });
    s
}

fn on_its_way(s: &mut Scenario) {
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
}

#[test]
fn a_redirect_under_way_is_taken_back() {
    let mut s = redirected();
    let command = undo(&s);
    s.command(command);
    assert!(s.idea(2).reserved.is_none() && s.attempt(1).redirect.is_none());
    on_its_way(&mut s);
    let next = s.attempt(2);
    assert_eq!(next.idea, idea(1));
    let worktree = &next.kept.as_ref().unwrap().worktree.worktree;
    assert_eq!(worktree, "w01");
    s.all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
}

#[test]
fn a_worktree_that_nobody_has_taken_over_goes_back() {
    let mut s = redirected();
    on_its_way(&mut s);
    s.command(Command::Pause { reason: None });
    s.answer("saveWork", work_saved(7, None));
    assert!(
        s.idea(2).kept.is_some(),
        "it waits for the end of the pause"
    );
    let command = undo(&s);
    s.command(command);
    assert!(s.idea(2).kept.is_none() && s.idea(2).reserved.is_none());
    let own = s.idea(1).kept.clone().unwrap().worktree;
    assert_eq!((own.worktree.as_str(), own.saved), ("w01", None));
    s.command(Command::SetMode {
        mode: Mode::SemiAuto,
    });
    s.command(Command::Resume).well_until("prepareWorktree");
    assert_eq!(
        s.attempt(2).idea,
        idea(1),
        "it goes on, and nobody assigned it"
    );
}

#[test]
fn an_agent_that_works_on_the_other_idea_is_redirected_back() {
    let mut s = redirected();
    on_its_way(&mut s);
    s.answer("saveWork", work_saved(7, None))
        .well_until("iteration");
    let command = undo(&s);
    s.quietly().command(command);
    assert_snapshot!(s.then(), @r"
    agentRedirected {agent: ed-002, newWorktree: true, to: idea-001, undoes: 17}
    ed-002 -> Stopping
    ask #7 stopRun r0002-ed-002-i1
    ");
    assert!(s.state.last_undoable().is_none());
    s.all_goes_well();
    for number in 1..=2 {
        assert_eq!(s.idea(number).status, IdeaStatus::Done);
    }
}

#[test]
fn only_the_last_action_is_taken_back() {
    let mut s = Scenario::with(|settings| settings.mode = Mode::SemiAuto);
    s.add("one").add("two");
    s.command(Command::CancelIdea { id: idea(1) });
    let first = undo(&s);
    s.command(Command::CancelIdea { id: idea(2) });
    assert_snapshot!(s.refused(&first), @r"
    NOT_NOW: cannot undo: it is not the last thing that was done
    see what that is: swarm undo --dry-run
    ");
    let second = undo(&s);
    s.command(second).command(first);
    for number in 1..=2 {
        assert_eq!(s.idea(number).status, IdeaStatus::Pending);
    }
    let nothing = Command::Undo { seq: 0, from: None };
    assert_snapshot!(s.refused(&nothing), @r"
    NOT_NOW: cannot undo: there is nothing left to take back
    swarm log
    ");
}

/// Work was approved after another idea had been cancelled.
fn approved(until: &str) -> Scenario {
    let mut s = Scenario::with(|settings| {
        settings.auto_merge = false;
        settings.max_parallel = 1;
    });
    s.add("one").add("two");
    s.command(Command::CancelIdea { id: idea(2) });
    s.all_goes_well();
    s.command(Command::ApproveMerge {
        id: idea(1),
        commit: None,
    });
    s.well_until(until);
    s
}

#[test]
fn an_approval_is_taken_back_until_its_landing_begins() {
    for until in ["buildMerge", "prepareVerify", "verify"] {
        let mut s = approved(until);
        let preview = view::undo(&s.state, false);
        assert_eq!(preview.kind, Some("approval"), "{until}");
        assert_eq!(preview.problem, None);
        let command = undo(&s);
        s.command(command.clone());
        assert!(s.entry(1).is_in_review(), "{until}");
        // If the answer was lost, the repeated command changes nothing.
        s.quietly().command(command);
        assert_eq!(s.then(), "", "{until}");
        s.all_goes_well();
        assert!(s.entry(1).is_in_review(), "{until}: it does not land");
        let older = s.state.last_undoable().unwrap();
        assert_eq!(older.action.to_string(), "cancellation of idea-002");
        s.command(Command::ApproveMerge {
            id: idea(1),
            commit: None,
        });
        s.all_goes_well();
        assert_eq!(s.idea(1).status, IdeaStatus::Done);
    }
    let mut s = approved("land");
    let command = undo(&s);
    assert_snapshot!(s.refused(&command), @r"
    NOT_NOW: cannot undo: idea-001 is landing at this moment
    see whether it has landed: swarm log; if no daemon runs: swarm start
    ");
}

#[test]
fn an_approval_that_landed_is_reverted_by_hand_and_hides_what_was_done_before() {
    let mut s = approved("land");
    s.all_goes_well();
    let preview = view::undo(&s.state, false);
    assert_eq!(preview.kind, Some("approval"));
    assert_snapshot!(preview.problem.unwrap(), @r"cannot undo: idea-001 has landed as 1005000000");
    assert_snapshot!(preview.commands.join("\n"), @r"
    revert it: git revert -m 1 1005000000
    take back what was done before it, the cancellation of idea-002: swarm undo --skip-landed
    ");
    let command = undo(&s);
    assert_snapshot!(s.refused(&command), @r"
    NOT_NOW: cannot undo: idea-001 has landed as 1005000000
    revert it: git revert -m 1 1005000000
    ");
    let older = view::undo(&s.state, true);
    assert_eq!((older.kind, older.problem), (Some("cancel"), None));
    s.command(Command::Undo {
        seq: older.seq.unwrap(),
        from: None,
    });
    assert_ne!(s.idea(2).status, IdeaStatus::Cancelled);
}

#[test]
fn the_undo_of_a_cancellation_names_the_ideas_that_waited_in_vain() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 0);
    s.add("one").add_after("two", &[idea(1)]);
    s.add_after("three", &[idea(1)]).add("four");
    s.command(Command::CancelIdea { id: idea(1) });
    assert_snapshot!(view::undo(&s.state, false).changes.join("\n"), @r"
    idea-001 becomes pending again
    idea-001 has no earlier work to continue from
    idea-002, idea-003 can start once idea-001 is done
    ");
}

#[test]
fn a_cancelled_idea_with_finished_work_says_that_an_agent_runs_again() {
    let mut s = Scenario::with(|settings| settings.auto_merge = false);
    s.add("one").all_goes_well();
    s.command(Command::CancelIdea { id: idea(1) });
    let (tip, wip) = (oid(7), None);
    s.answer(
        "releaseWorktree",
        WorktreeReleased {
            rescued: Some(Saved { tip, wip }),
            ..WorktreeReleased::default()
        },
    );
    assert_snapshot!(view::undo(&s.state, false).changes.join("\n"), @r"
    idea-001 becomes pending again
    idea-001 continues from its work, but for files that git ignores
    idea-001 had finished work in the merge queue: an agent runs again, and its commit becomes another one
    ");
}
