//! The merge queue: order, conflicts, verification, landing, and a target that others move.

use insta::assert_snapshot;

use crate::domain::attention::resolver_question;
use crate::domain::effect::{self, ConflictLevel, Effect};
use crate::domain::event::{Event, MergeMoved};
use crate::domain::lifecycle::{AttemptPhase, MergePhase};
use crate::domain::observation::RunEndKind;
use crate::domain::operation::{Command, IdeaEdit};
use crate::domain::outcome::{
    BuildMergeOutcome, CheckoutBlocked, FailureKind, FinishResolutionOutcome, LandOutcome, LeftOut,
    ResolutionStarted,
};
use crate::domain::signal::Signal;
use crate::domain::state::checkpoint::Reason;
use crate::domain::state::{IdeaStatus, Task, Waits};
use crate::domain::testkit::outcomes::{
    built, checkout_blocked, conflicted, land_blocked, prepared, resolution_finished,
    resolution_started, sealed, still_conflicted, target_moved, verify_ready,
};
use crate::domain::testkit::scenario::{checkpoint, exit};
use crate::domain::testkit::{Scenario, agent, idea, oid, profile};
use crate::view::{self, Rest};

/// One idea is complete, and its merge is being built.
fn building() -> Scenario {
    let mut s = Scenario::running();
    s.add("one").well_until("buildMerge").quietly();
    s
}

fn conflict(level: ConflictLevel) -> BuildMergeOutcome {
    conflicted(level, &["src/a.rs"])
}

fn laid_out(files: &[&str]) -> ResolutionStarted {
    resolution_started(0x2001, files)
}

fn resolving() -> Scenario {
    let mut s = building();
    s.answer("buildMerge", conflict(ConflictLevel::Medium));
    s.answer("startResolution", laid_out(&["src/a.rs"]));
    s.quietly();
    s
}

#[test]
fn first_come_first_served_and_one_at_a_time() {
    let mut s = Scenario::running();
    s.add("one").add("two").well_until("iteration");
    s.answer("prepareWorktree", prepared());
    s.completes(&agent(2)).completes(&agent(1));
    // Whatever is complete first is merged first.
    let seal = sealed(2, false);
    s.answer("seal", seal.clone()).answer("seal", seal);
    s.check(exit(0)).check(exit(0));
    let order: Vec<_> = s
        .state
        .queue
        .iter()
        .map(|entry| (entry.idea.as_str(), entry.phase))
        .collect();
    assert_eq!(
        order,
        [
            ("idea-002", MergePhase::Building),
            ("idea-001", MergePhase::Queued)
        ]
    );
    s.quietly().well_until("land").all_goes_well();
    assert_eq!(view::rest(&s.state), Rest::Idle);
}

#[test]
fn an_idea_waits_in_the_queue_for_those_that_it_comes_after() {
    let mut s = Scenario::running();
    s.add("one")
        .add("two")
        .well_until("iteration")
        .well_until("gate");
    let edit = IdeaEdit {
        after: Some(vec![idea(2)]),
        ..IdeaEdit::default()
    };
    s.command(Command::EditIdea { id: idea(1), edit });
    s.check(exit(0)).quietly();
    assert_eq!(s.entry(1).phase, MergePhase::Queued);
    assert!(s.pending("buildMerge").is_none());
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn without_auto_merge_a_person_approves() {
    let mut s = Scenario::with(|settings| settings.auto_merge = false);
    s.add("one").all_goes_well().quietly();
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.command(Command::ApproveMerge {
        id: idea(1),
        commit: None,
    });
    assert_snapshot!(s.then(), @r"
    undoRecorded {action: {approval: {idea: idea-001, source: 1003}}}
    mergeApproved {id: idea-001, source: 1003}
    merge idea-001 -> Building
    ask #5 buildMerge idea-001 1003
    ");
}

#[test]
fn without_verify_the_merged_tree_lands_at_once() {
    let mut s = Scenario::with(|settings| settings.verify = false);
    s.add("one").well_until("buildMerge").quietly();
    s.answer("buildMerge", built(5, 1));
    assert_snapshot!(s.then(), @r"
    mergeBuilt {commit: 0005, id: idea-001, target: 0001}
    merge idea-001 -> Verifying
    end #5
    merge idea-001 -> Landing
    ask #6 land idea-001 0001 -> 0005
    ");
}

#[test]
fn a_simple_conflict_is_resolved_while_building() {
    let mut s = building();
    let resolved = vec!["src/a.rs".into()];
    s.answer(
        "buildMerge",
        BuildMergeOutcome::Built {
            commit: oid(5),
            target: oid(1),
            resolved,
        },
    );
    assert_snapshot!(s.then(), @r"
    mergeBuilt {commit: 0005, id: idea-001, resolved: [src/a.rs], target: 0001}
    merge idea-001 -> Verifying
    end #5
    ask #6 prepareVerify idea-001 0005
    ");
}

#[test]
fn a_medium_conflict_goes_to_a_resolver() {
    let mut s = Scenario::with(|settings| settings.resolver = Some(profile("finn")));
    s.add("one").well_until("buildMerge").quietly();
    s.answer("buildMerge", conflict(ConflictLevel::Medium));
    s.answer("startResolution", laid_out(&["src/a.rs"]));
    assert_snapshot!(s.then(), @r"
    targetSeen {branch: main, commit: 0009}
    mergeConflicted {files: [src/a.rs], id: idea-001, level: MEDIUM, target: 0009}
    merge idea-001 -> Resolver
    end #5
    ask #6 startResolution idea-001 0009
    conflictLaidOut {files: [src/a.rs], id: idea-001}
    taskSet {agent: ed-001, task: {resolve: {files: [src/a.rs], target: 0009}}}
    ed-001 -> Backoff
    end #6
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 2, run: r0003-ed-001-i2}
    ed-001 -> Working
    ask #7 run r0003-ed-001-i2 as finn
    ");
    s.says(&agent(1), Signal::Resolved(None))
        .iteration(&agent(1), exit(0));
    s.answer("finishResolution", resolution_finished(0x2002));
    assert_snapshot!(s.then(), @r"
    signalSeen {agent: ed-001, offset: 10, run: r0003-ed-001-i2, signal: resolved}
    run r0003-ed-001-i2 Exited { code: 0 }
    ed-001 -> ReadyToMerge
    end #7
    ask #8 finishResolution idea-001
    conflictSettled {head: 2002, id: idea-001}
    taskSet {agent: ed-001, task: work}
    merge idea-001 -> Queued
    end #8
    merge idea-001 -> Building
    ask #9 buildMerge idea-001 2002
    ");
    assert_eq!(s.attempt(1).task, Task::Work);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_resolution_that_drops_work_raises_a_warning() {
    let mut s = resolving();
    s.well_until("iteration")
        .says(&agent(1), Signal::Resolved(None))
        .iteration(&agent(1), exit(0));
    let kept = "refs/swarm/rescue/left-out-ed-001".to_owned();
    s.answer(
        "finishResolution",
        FinishResolutionOutcome::Finished {
            head: oid(0x2002),
            left_out: Some(LeftOut {
                files: vec!["src/a.rs".into()],
                undone: vec!["b.rs".into(), "c.rs".into()],
                kept: kept.clone(),
            }),
        },
    );
    assert_snapshot!(s.state.warnings["left-out-ed-001"].message, @r"the conflict resolution of idea-001 dropped the idea's changes to src/a.rs in favour of the target's, and changes to b.rs, c.rs that were already on the target; the idea's work is saved: compare it, then delete the reference if nothing is missing");
    assert_eq!(
        s.state.warnings["left-out-ed-001"].commands,
        [
            format!("git log -p {kept}"),
            format!("git update-ref -d {kept}")
        ]
    );
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn after_the_last_resolver_try_a_person_is_asked() {
    let mut s = resolving();
    s.iteration(&agent(1), exit(1));
    assert_snapshot!(s.then(), @r"
    run r0003-ed-001-i2 Exited { code: 1 }
    ed-001 -> Backoff
    resolverFailed {id: idea-001, why: the resolver failed: exit code 1}
    end #7
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 3, run: r0004-ed-001-i3}
    ed-001 -> Working
    ask #8 run r0004-ed-001-i3 as ed
    ");
    s.iteration(&agent(1), exit(0));
    s.answer("finishResolution", still_conflicted(&["src/a.rs"]));
    assert_snapshot!(s.then(), @r"
    run r0004-ed-001-i3 Exited { code: 0 }
    ed-001 -> ReadyToMerge
    end #8
    ask #9 finishResolution idea-001
    merge idea-001 -> Person: still in conflict: src/a.rs []
    resolverFailed {id: idea-001, why: still in conflict: src/a.rs}
    end #9
    ");
    let needs = view::needs_you(&s.state);
    assert_snapshot!(needs[0].message, @r"the merge of idea-001 has a conflict in src/a.rs (still in conflict: src/a.rs)");
    assert_snapshot!(needs[0].commands.join("\n"), @r#"
    git -C "$(swarm path idea-001)" status
    git -C "$(swarm path idea-001)" mergetool   # or edit the files by hand
    git -C "$(swarm path idea-001)" add --all
    git -C "$(swarm path idea-001)" commit -m 'Resolve the conflict of idea-001'
    swarm merge resolve idea-001
    "#);
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
}

#[test]
fn a_resolver_that_gives_up_is_not_started_again() {
    let mut s = resolving();
    s.says(&agent(1), Signal::Blocked(Some("both are right".into())));
    s.iteration(&agent(1), exit(0));
    assert_snapshot!(s.then(), @r"
    signalSeen {agent: ed-001, offset: 10, run: r0003-ed-001-i2, signal: {blocked: both are right}}
    run r0003-ed-001-i2 Exited { code: 0 }
    merge idea-001 -> Person: the resolver is blocked: both are right []
    ed-001 -> ReadyToMerge
    resolverFailed {id: idea-001, why: the resolver is blocked: both are right}
    end #7
    ");
}

#[test]
fn every_answer_to_a_resolver_reaches_it_with_its_question() {
    let mut s = resolving();
    for number in 1..=3 {
        let question = format!("polite or loud? {number}");
        s.says(&agent(1), Signal::NeedsHuman(Some(question.clone())));
        s.iteration(&agent(1), exit(0));
        assert_eq!(s.entry(1).resolver_tries, 0, "a question is no failed try");
        let needs = view::needs_you(&s.state);
        assert_eq!(needs[0].commands[0], "swarm agent say ed-001 \"...\"");
        let open = resolver_question(&s.state, s.entry(1));
        assert_eq!(open.map(|open| open.text), Some(&*question));
        let say = Command::SayToAgent {
            id: agent(1),
            text: format!("loud {number}"),
        };
        s.command(say).command(Command::RetryMerge { id: idea(1) });
        assert_eq!(resolver_question(&s.state, s.entry(1)), None);
        s.answer("buildMerge", conflict(ConflictLevel::Medium));
        s.answer("startResolution", laid_out(&["src/a.rs"]));
        let attempt = s.attempt(1);
        assert_eq!(attempt.phase, AttemptPhase::Working);
        assert_eq!(attempt.told, [format!("loud {number}")]);
        assert_eq!(attempt.asked.as_deref(), Some(&*question));
        // Its prompt is read again after a crash, and only then forgotten.
        s.restart();
        assert_eq!(s.attempt(1).asked.as_deref(), Some(&*question));
    }
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_resolver_learns_what_was_resolved_before_the_target_moved() {
    let mut s = resolving();
    s.says(&agent(1), Signal::NeedsHuman(None));
    s.iteration(&agent(1), exit(0));
    s.command(Command::RetryMerge { id: idea(1) });
    s.answer("buildMerge", conflict(ConflictLevel::Medium));
    let saved = Some(oid(0x77));
    let again = ResolutionStarted {
        saved: saved.clone(),
        ..laid_out(&["src/a.rs"])
    };
    s.answer("startResolution", again);
    let Task::Resolve { saved: told, .. } = &s.attempt(1).task else {
        panic!("{:?}", s.attempt(1).task)
    };
    assert_eq!(*told, saved);
}

#[test]
fn a_complex_conflict_goes_to_a_person() {
    let mut s = building();
    s.answer("buildMerge", conflict(ConflictLevel::Complex));
    let resolve = Command::ResolveMerge { id: idea(1) };
    assert_snapshot!(s.refused(&resolve), @r"
    NOT_NOW: cannot resolve the merge of idea-001: its worktree is being prepared or checked
    try again in a moment: swarm merge resolve idea-001; if no daemon runs: swarm start
    ");
    assert_snapshot!(s.refused(&Command::RetryMerge { id: idea(1) }), @r"
    NOT_NOW: cannot retry the merge of idea-001: its worktree is being prepared or checked
    try again in a moment: swarm merge retry idea-001; if no daemon runs: swarm start
    ");
    s.answer("startResolution", laid_out(&["src/a.rs"]))
        .quietly();
    s.command(resolve.clone()).command(resolve.clone());
    s.answer("finishResolution", still_conflicted(&["src/a.rs"]));
    assert_snapshot!(s.then(), @r"
    ask #7 finishResolution idea-001
    merge idea-001 -> Person: still in conflict: src/a.rs []
    end #7
    ");
    s.command(resolve).well_until("buildMerge");
    assert_snapshot!(s.then(), @r"
    ask #8 finishResolution idea-001
    conflictSettled {head: 1008, id: idea-001}
    merge idea-001 -> Queued
    end #8
    merge idea-001 -> Building
    ask #9 buildMerge idea-001 1008
    ");
}

#[test]
fn a_waiting_conflict_does_not_block_the_queue() {
    let mut s = building();
    s.answer("buildMerge", conflict(ConflictLevel::Complex))
        .all_goes_well();
    s.add("two").all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
    assert_eq!(s.entry(1).phase, MergePhase::Person);
}

#[test]
fn a_retried_conflict_can_still_return_to_its_agent() {
    let mut s = resolving();
    s.says(&agent(1), Signal::NeedsHuman(None))
        .iteration(&agent(1), exit(0));
    assert_eq!(s.entry(1).phase, MergePhase::Person);
    s.command(Command::RetryMerge { id: idea(1) });
    s.well_until("verify").quietly();
    s.check(exit(1));
    assert_snapshot!(s.then(), @r"
    run r0004-idea-001-v1 Exited { code: 1 }
    mergeReturned {feedback: {command: check, how: exit code 1, merged: true, run: r0004-idea-001-v1}, id: idea-001}
    ed-001 -> Backoff
    end #10
    ask #11 startResolution idea-001 0009
    ");
    s.well_until("iteration");
    assert_eq!(s.attempt(1).task, Task::Work);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_failing_merged_tree_returns_to_its_agent_a_limited_number_of_times() {
    let mut s = building();
    s.well_until("verify").quietly();
    s.check(exit(2));
    assert_snapshot!(s.then(), @r"
    run r0003-idea-001-v1 Exited { code: 2 }
    mergeReturned {feedback: {command: check, how: exit code 2, merged: true, run: r0003-idea-001-v1}, id: idea-001}
    ed-001 -> Backoff
    end #7
    ask #8 startResolution idea-001 0001
    ");
    s.answer("startResolution", laid_out(&[]));
    assert_snapshot!(s.then(), @r"
    worktreeReady {agent: ed-001, base: 0001, head: 2001, warm: true}
    end #8
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 2, run: r0004-ed-001-i2}
    ed-001 -> Working
    ask #9 run r0004-ed-001-i2 as ed
    ");
    s.well_until("verify").check(exit(2));
    s.well_until("verify").quietly().check(exit(2));
    assert_snapshot!(s.then(), @r"
    run r0009-idea-001-v1 Exited { code: 2 }
    attemptEnded {agent: ed-001, end: failed, keepWorktree: true, message: merged with the target, `check` fails (exit code 2); the agent had 2 tries to fix it, status: failed}
    end #21
    ");
}

#[test]
fn a_blocked_checkout_is_checked_again_without_a_new_verification() {
    let mut s = building();
    s.well_until("land").quietly();
    s.answer(
        "land",
        land_blocked("local changes are in the way", &["src/a.rs"]),
    );
    assert_snapshot!(s.then(), @r#"
    merge idea-001 -> Queued until 2026-01-01T00:00:10.000Z: local changes are in the way ["src/a.rs"]
    end #8
    "#);
    assert_snapshot!(view::needs_you(&s.state)[0].message, @r"the merge of idea-001 is waiting: local changes are in the way: src/a.rs");
    s.wait_for_deadline();
    s.answer("buildMerge", built(0x77, 1));
    assert_snapshot!(s.then(), @r"
    merge idea-001 -> Building
    ask #9 buildMerge idea-001 1003
    mergeBuilt {commit: 0077, id: idea-001, target: 0001}
    merge idea-001 -> Verifying
    end #9
    merge idea-001 -> Landing
    ask #10 land idea-001 0001 -> 0077
    ");
}

#[test]
fn a_start_checks_at_once_whether_the_checkout_is_still_blocked() {
    let mut s = building();
    s.well_until("land");
    s.answer("land", land_blocked("local changes", &[]));
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.restart();
    assert_eq!(view::rest(&s.state), Rest::Busy);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_held_lock_is_waited_for_and_needs_a_person_only_after_a_while() {
    let mut s = building();
    s.well_until("land");
    let held = |passes| {
        let blocked = checkout_blocked("index.lock is there", &[]);
        LandOutcome::CheckoutBlocked(CheckoutBlocked { passes, ..blocked })
    };
    s.answer("land", held(true));
    assert_eq!(view::rest(&s.state), Rest::Busy);
    assert_eq!(view::needs_you(&s.state).len(), 0);
    s.wait_for_deadline().well_until("land");
    s.answer("land", held(false));
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    assert_eq!(view::needs_you(&s.state).len(), 1);
    s.wait_for_deadline().well_until("land");
    let locked = FailureKind::Locked { long: false };
    s.fails_as("land", locked, "HEAD.lock is there");
    assert_eq!(view::rest(&s.state), Rest::Busy);
    s.wait_for_deadline().all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn submodules_that_did_not_follow_are_a_warning_until_they_do() {
    let mut s = building();
    s.well_until("land");
    let submodules = "the submodule lib stays".to_owned();
    s.answer("land", LandOutcome::LandedBehind { submodules });
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(
        s.state.warnings["submodules"].message,
        "the submodule lib stays"
    );
    s.add("two").all_goes_well();
    assert!(!s.state.warnings.contains_key("submodules"));
}

#[test]
fn changed_quality_commands_verify_a_passed_tree_again() {
    let mut s = building();
    s.well_until("land");
    s.answer("land", land_blocked("local changes", &[]));
    s.load(|settings| settings.quality_commands.push("lint".into()));
    s.wait_for_deadline().well_until("prepareVerify");
}

#[test]
fn a_target_that_moved_is_merged_and_verified_again() {
    let mut s = building();
    s.well_until("land").quietly();
    s.answer("land", target_moved(0x66));
    s.answer("buildMerge", built(0x67, 0x66));
    assert_snapshot!(s.then(), @r"
    merge idea-001 -> Queued
    end #8
    merge idea-001 -> Building
    ask #9 buildMerge idea-001 1003
    targetSeen {branch: main, commit: 0066}
    mergeBuilt {commit: 0067, id: idea-001, target: 0066}
    merge idea-001 -> Verifying
    end #9
    ask #10 prepareVerify idea-001 0067
    ");
}

#[test]
fn an_idea_with_nothing_to_merge_is_done() {
    let mut s = building();
    s.answer(
        "buildMerge",
        BuildMergeOutcome::NothingToMerge { target: oid(1) },
    );
    assert_snapshot!(s.then(), @r"
    attemptEnded {agent: ed-001, end: nothingToMerge, keepWorktree: false, message: the agent said COMPLETE, and its branch holds nothing that the target lacks, status: done}
    end #5
    ask #6 releaseWorktree w01
    ");
    assert_eq!(s.state.swarm.failures_in_a_row, 0);
}

#[test]
fn the_outcome_of_one_effect_leaves_the_run_of_a_resolver_alone() {
    let mut s = resolving();
    s.add("two");
    let resolver = s.pending("iteration").unwrap();
    s.answer("prepareWorktree", prepared());
    assert!(s.state.outbox.contains_key(&resolver));
}

#[test]
fn a_failed_build_waits_for_a_person_but_retries_after_a_full_disk() {
    let mut s = building();
    s.fails("buildMerge", "the branch is gone");
    assert_snapshot!(s.then(), @r"
    merge idea-001 -> Queued: the branch is gone []
    end #5: the branch is gone
    ");
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.command(Command::RetryMerge { id: idea(1) }).quietly();
    s.fails_as("buildMerge", FailureKind::NoSpace, "no room");
    assert_snapshot!(s.then(), @r"
    merge idea-001 -> Queued until 2026-01-01T00:01:00.000Z: no room []
    end #6: no room
    ");
    s.wait_for_deadline();
    assert_snapshot!(s.then(), @r"
    merge idea-001 -> Building
    ask #7 buildMerge idea-001 1003
    ");
}

#[test]
fn too_many_files_are_counted_and_not_listed() {
    let mut s = building();
    let files: Vec<String> = (0..5_000)
        .map(|number| format!("src/file-{number}.rs"))
        .collect();
    let level = ConflictLevel::Complex;
    s.answer("buildMerge", conflicted(level, &files));
    let conflict = s.entry(1).conflict.clone().unwrap();
    assert_eq!(conflict.files.len(), 101);
    assert_eq!(conflict.files[100], "... and 4900 more");
    for (_, event) in &s.log {
        assert!(serde_json::to_string(event).unwrap().len() < 60_000);
    }
}

#[test]
fn a_resolver_waits_for_the_end_of_a_pause() {
    let mut s = resolving();
    s.command(Command::Pause { reason: None });
    s.iteration(&agent(1), RunEndKind::Signalled { signal: 15 });
    assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.command(Command::Resume);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
}

#[test]
fn changed_quality_commands_restart_the_verification() {
    let mut s = Scenario::with(|settings| {
        settings.quality_commands = vec!["build".into(), "check".into()];
    });
    s.add("one").well_until("verify").check(exit(0));
    s.load(|settings| settings.quality_commands = vec!["lint".into(), "check".into()]);
    s.quietly().check(exit(0));
    assert_snapshot!(s.then(), @r"
    run r0005-idea-001-v2 Exited { code: 0 }
    end #9
    verifyStarted {id: idea-001, index: 0, run: r0006-idea-001-v1}
    ask #10 run r0006-idea-001-v1: lint
    ");
    // What fails now is not asked any more.
    s.load(|settings| settings.quality_commands = vec!["fmt".into()]);
    s.quietly().check(exit(1));
    assert_snapshot!(s.then(), @r"
    run r0006-idea-001-v1 Exited { code: 1 }
    end #10
    verifyStarted {id: idea-001, index: 0, run: r0007-idea-001-v1}
    ask #11 run r0007-idea-001-v1: fmt
    ");
    s.check(exit(0)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn the_merge_worktree_has_one_user_also_after_a_torn_log() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").add("two").well_until("prepareVerify");
    // Of the decision that its verification cannot be prepared, only the first event is in the log.
    s.given([Event::MergeMoved(MergeMoved {
        id: idea(1),
        phase: MergePhase::Queued,
        not_before: None,
        waits: Some(Waits {
            reason: "no room".into(),
            files: vec![],
            person: true,
            target: false,
        }),
    })]);
    s.restart();
    s.answer("prepareWorktree", prepared()).completes(&agent(2));
    s.answer("seal", sealed(5, false));
    s.check(exit(0));
    assert_eq!(s.entry(2).phase, MergePhase::Queued);
    s.answer("prepareVerify", verify_ready());
    assert_eq!(s.entry(2).phase, MergePhase::Building);
}

/// A checkpoint has the target and the state of one moment.
#[test]
fn nothing_lands_while_a_checkpoint_is_being_made() {
    let mut s = building();
    s.command(Command::CreateCheckpoint {
        tag: false,
        name: "one".parse().unwrap(),
    });
    s.answer("buildMerge", built(7, 1));
    s.answer("prepareVerify", verify_ready()).check(exit(0));
    assert_eq!(s.entry(1).phase, MergePhase::Landing);
    assert_eq!(s.pending("land"), None);
    s.answer(
        "makeCheckpoint",
        Box::new(checkpoint(Reason::Manual, s.now, 1)),
    );
    assert!(s.pending("land").is_some());
}

/// However busy the queue is.
#[test]
fn a_due_checkpoint_comes_before_the_next_merge() {
    let mut s = Scenario::with(|settings| settings.checkpoint_every = 1);
    s.add("one").add("two").well_until("land");
    s.well_until("makeCheckpoint");
    let landed = s.state.ideas.values();
    let landed = landed
        .filter(|idea| idea.status == IdeaStatus::Done)
        .count();
    assert_eq!((landed, s.pending("buildMerge")), (1, None));
}

/// The next build, and the next checkpoint, take the branch as it is now.
#[test]
fn a_branch_rebased_by_hand_returns_to_its_place_in_the_queue() {
    let mut s = Scenario::running();
    s.add("one").well_until("buildMerge");
    let (base, head) = (oid(8), oid(9));
    let outcome = BuildMergeOutcome::BroughtOver {
        base: base.clone(),
        head: head.clone(),
    };
    s.answer("buildMerge", outcome);
    let attempt = s.attempt(1);
    assert_eq!(
        (&attempt.base, &attempt.head),
        (&Some(base.clone()), &Some(head.clone()))
    );
    let asked = s.state.outbox.values().find_map(|effect| match effect {
        Effect::BuildMerge(effect::BuildMerge { source, base, .. }) => {
            Some((source.clone(), base.clone()))
        }
        _ => None,
    });
    assert_eq!(asked, Some((head, base)));
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}
