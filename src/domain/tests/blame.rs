//! Failed checks are charged to an idea only if the command has passed elsewhere since.

use crate::domain::effect::{Effect, Purpose, TargetTree};
use crate::domain::ids::RunId;
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::outcome::{BaselineReady, SealOutcome, TreeSetup};
use crate::domain::settings::{BaselineMode, Settings};
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, oid, outcomes};
use crate::view::{self, Rest};

fn required(settings: &mut Settings) {
    settings.baseline = BaselineMode::Require;
    settings.max_parallel = 3;
}

fn target() -> BaselineReady {
    BaselineReady {
        commit: oid(1),
        warm: false,
        setup: TreeSetup::default(),
        probe: None,
    }
}

/// `count` ideas are at work on a target that has passed.
fn at_work(count: usize) -> Scenario {
    let mut s = Scenario::with(required);
    for number in 1..=count {
        s.add(&format!("idea {number}"));
    }
    s.answer("prepareBaseline", target()).check(exit(0));
    for _ in 0..count {
        s.answer("prepareWorktree", outcomes::prepared());
    }
    s
}

/// The agent says COMPLETE, and its work is checked.
fn completes(s: &mut Scenario, number: u64) {
    s.completes(&agent(number)).goes_well("seal");
    assert!(check_of(s, number).is_some(), "its check has not begun");
}

/// The check of the agent's work that runs.
fn check_of(s: &Scenario, number: u64) -> Option<RunId> {
    s.attempt(number).run.clone().filter(|run| {
        let effect = s.state.run_effect(run);
        matches!(effect, Some((_, Purpose::Gate { .. })))
    })
}

/// The check of the agent's work ends.
fn checked(s: &mut Scenario, number: u64, code: i32) {
    let run = check_of(s, number).expect("its check does not run");
    s.run_ends(&run, exit(code));
}

/// The check of the agent's work fails after this many milliseconds, with this fingerprint.
fn fails_after(s: &mut Scenario, number: u64, millis: i64, fingerprint: &str) {
    let run = check_of(s, number).expect("its check does not run");
    let (effect, _) = s.state.run_effect(&run).unwrap();
    let end = RunEnd {
        duration_ms: millis,
        fingerprint: Some(fingerprint.to_owned()),
        ..RunEnd::new(exit(1))
    };
    s.run_over(effect, end);
}

/// The untouched target is checked out, and its check ends.
fn target_is(s: &mut Scenario, code: i32) {
    s.answer("prepareBaseline", target());
    let run = s.state.swarm.baseline.checking.clone().unwrap().run;
    s.run_ends(&run.unwrap(), exit(code));
}

/// Work that has passed its own checks is merged, and the check of the merged tree fails.
fn red_merge() -> Scenario {
    let mut s = at_work(1);
    completes(&mut s, 1);
    checked(&mut s, 1, 0);
    merged_is_red(&mut s);
    s
}

fn merged_is_red(s: &mut Scenario) {
    s.answer("buildMerge", outcomes::built(5, 1))
        .goes_well("prepareVerify");
    s.check(exit(1));
}

fn is_sent_back(s: &Scenario, number: u64) -> bool {
    s.attempt(number).feedback.is_some() && s.attempt(number).iteration == 2
}

fn is_uncharged(s: &Scenario, number: u64) -> bool {
    let attempt = s.attempt(number);
    attempt.phase == AttemptPhase::Gating
        && attempt.iteration == 1
        && attempt.feedback.is_none()
        && attempt.check.same_failures == 0
}

fn asks_for_target(s: &Scenario) -> bool {
    s.state.outbox.values().any(Effect::is_baseline)
}

#[test]
fn a_failed_check_is_charged_once_the_target_has_passed_and_it_failed_again() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    assert!(is_uncharged(&s, 1) && check_of(&s, 1).is_none());
    target_is(&mut s, 0);
    assert!(is_uncharged(&s, 1));
    checked(&mut s, 1, 1);
    assert!(is_sent_back(&s, 1));
}

#[test]
fn a_check_that_passes_when_it_is_repeated_charges_nobody() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    target_is(&mut s, 0);
    checked(&mut s, 1, 0);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    let charged = s.log.iter().any(|(_, event)| event.kind() == "gateFailed");
    assert!(!charged);
}

#[test]
fn while_the_target_fails_as_well_nobody_is_charged_and_all_goes_on_by_itself() {
    let mut s = at_work(3);
    for number in 1..=3 {
        completes(&mut s, number);
        checked(&mut s, number, 1);
    }
    for _ in 0..6 {
        target_is(&mut s, 1);
        assert!((1..=3).all(|number| is_uncharged(&s, number)));
        assert!(s.state.outbox.is_empty(), "nothing runs in vain");
        assert_eq!(
            view::rest(&s.state),
            Rest::Busy,
            "it may come back by itself"
        );
        let need = &view::needs_you(&s.state)[0];
        assert_eq!(need.kind, "environment");
        assert!(
            need.message
                .contains("the checks of idea-001, idea-002, idea-003 wait")
        );
        s.wait_for_deadline();
    }
    target_is(&mut s, 0);
    for number in 1..=3 {
        checked(&mut s, number, 0);
    }
    s.all_goes_well();
    assert_eq!(s.state.ideas.count(IdeaStatus::Done), 3);
    assert_eq!(s.state.swarm.failures_in_a_row, 0);
}

#[test]
fn a_control_whose_worktree_may_be_at_fault_is_tried_in_another_one() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    let tree_asked = |s: &Scenario| {
        let asked = s.state.outbox.values().find(|effect| effect.is_baseline());
        match asked {
            Some(Effect::PrepareBaseline(it)) => it.tree,
            other => panic!("{other:?}"),
        }
    };
    for _ in 0..2 {
        assert_eq!(tree_asked(&s), TargetTree::Control);
        target_is(&mut s, 1);
        s.wait_for_deadline();
    }
    // A cache in that worktree is broken, say.
    assert_eq!(tree_asked(&s), TargetTree::Verify);
    target_is(&mut s, 0);
    checked(&mut s, 1, 1);
    assert_eq!(tree_asked(&s), TargetTree::Verify, "and stays there");
    target_is(&mut s, 0);
    checked(&mut s, 1, 1);
    assert!(is_sent_back(&s, 1), "the failure is the work's own");
}

#[test]
fn a_check_that_began_before_the_target_passed_again_charges_nobody() {
    let mut s = at_work(2);
    completes(&mut s, 2);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    target_is(&mut s, 1);
    s.wait_for_deadline();
    target_is(&mut s, 0);
    // It ran all the while.
    checked(&mut s, 2, 1);
    assert!(is_uncharged(&s, 2));
    assert!(check_of(&s, 2).is_some(), "it runs again at once");
}

#[test]
fn a_check_that_ends_while_the_target_is_known_to_fail_waits_for_it() {
    let mut s = at_work(2);
    completes(&mut s, 1);
    completes(&mut s, 2);
    checked(&mut s, 1, 1);
    target_is(&mut s, 1);
    checked(&mut s, 2, 1);
    assert!(is_uncharged(&s, 2) && check_of(&s, 2).is_none());
}

#[test]
fn that_the_command_passed_on_the_work_of_another_idea_is_proof_enough() {
    let mut s = at_work(2);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    completes(&mut s, 2);
    checked(&mut s, 2, 0);
    let second = check_of(&s, 1).expect("no check of the target is needed first");
    s.run_ends(&second, exit(1));
    assert!(is_sent_back(&s, 1));
}

#[test]
fn that_the_command_passed_before_proves_nothing() {
    let mut s = at_work(2);
    completes(&mut s, 2);
    completes(&mut s, 1);
    checked(&mut s, 2, 0);
    checked(&mut s, 1, 1);
    assert!(check_of(&s, 1).is_none() && s.attempt(1).doubt().is_some());
}

#[test]
fn what_passed_in_a_run_that_began_before_the_failure_ended_proves_nothing() {
    let mut s = at_work(2);
    completes(&mut s, 1);
    completes(&mut s, 2);
    checked(&mut s, 2, 0);
    checked(&mut s, 1, 1);
    assert!(check_of(&s, 1).is_none() && asks_for_target(&s));
}

#[test]
fn a_repetition_that_fails_in_another_way_is_charged_only_after_the_target_passed_again() {
    for down in [true, false] {
        let mut s = at_work(1);
        completes(&mut s, 1);
        fails_after(&mut s, 1, 1_000, "a test");
        target_is(&mut s, 0);
        // The database goes away, say.
        fails_after(&mut s, 1, 1_000, "no connection");
        assert!(is_uncharged(&s, 1) && check_of(&s, 1).is_none(), "{down}");
        target_is(&mut s, i32::from(down));
        assert_eq!(is_sent_back(&s, 1), !down);
        if down {
            s.wait_for_deadline();
            target_is(&mut s, 0);
            assert!(is_uncharged(&s, 1) && check_of(&s, 1).is_some());
        }
    }
}

/// The check of the merged tree fails with this fingerprint.
fn merge_fails(s: &mut Scenario, fingerprint: &str) {
    s.answer("buildMerge", outcomes::built(5, 1))
        .goes_well("prepareVerify");
    let effect = s.pending("verify").unwrap();
    let end = RunEnd {
        fingerprint: Some(fingerprint.to_owned()),
        ..RunEnd::new(exit(1))
    };
    s.run_over(effect, end);
}

#[test]
fn a_merged_tree_that_fails_in_another_way_the_second_time_is_judged_by_the_third() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    checked(&mut s, 1, 0);
    for fingerprint in ["a test", "no connection"] {
        merge_fails(&mut s, fingerprint);
        assert_eq!(s.attempt(1).returns, 0, "{fingerprint}");
        target_is(&mut s, 0);
    }
    merge_fails(&mut s, "a test");
    assert_eq!(s.attempt(1).returns, 1);
}

/// The check of the only idea fails, and the target as well; returns how long it waits.
fn outage(s: &mut Scenario) -> i64 {
    checked(s, 1, 1);
    target_is(s, 1);
    let until = s.state.red_baseline().unwrap().not_before;
    until.since(s.now)
}

#[test]
fn an_outage_that_only_paused_continues_its_waits_for_an_hour() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    let mut waits = Vec::new();
    for _ in 0..7 {
        waits.push(outage(&mut s) / 1_000);
        s.wait_for_deadline();
        target_is(&mut s, 0);
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600]);
    s.wait(3_600_001);
    assert_eq!(outage(&mut s), 30_000);
}

#[test]
fn the_report_tells_of_outages_with_what_waited() {
    let mut s = at_work(2);
    completes(&mut s, 1);
    completes(&mut s, 2);
    checked(&mut s, 1, 1);
    target_is(&mut s, 1);
    let told = |s: &Scenario| {
        let all = view::report(&s.state, None).outages;
        let told = all.iter().map(|one| one.message.clone());
        told.collect::<Vec<String>>()
    };
    let open = "`check` still fails on the untouched target, once; waiting: idea-001";
    assert_eq!(told(&s), [open]);
    checked(&mut s, 2, 1);
    s.wait_for_deadline();
    target_is(&mut s, 1);
    s.wait_for_deadline();
    target_is(&mut s, 0);
    s.restart();
    let over = "`check` failed on the untouched target for 1 min, 2 times; waited: idea-001, \
        idea-002";
    assert_eq!(told(&s), [over]);
    let later = Some(s.now.plus_millis(1));
    assert!(view::report(&s.state, later).outages.is_empty());
    let bumps = view::bumps(&s.state, None);
    assert!(bumps.iter().any(|bump| bump.text == over));
}

#[test]
fn a_long_check_is_not_repeated_before_it_is_charged() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    fails_after(&mut s, 1, 121_000, "a");
    target_is(&mut s, 0);
    assert!(is_sent_back(&s, 1));
}

#[test]
fn without_a_check_of_the_merged_tree_no_check_is_repeated_on_files_that_it_may_have_mended() {
    let mut s = at_work(1);
    s.load(|settings| settings.verify = false);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    target_is(&mut s, 0);
    assert!(is_sent_back(&s, 1));
}

#[test]
fn the_same_failure_as_before_is_not_repeated_before_it_is_charged() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    fails_after(&mut s, 1, 1_000, "a");
    target_is(&mut s, 0);
    fails_after(&mut s, 1, 1_000, "a");
    assert!(is_sent_back(&s, 1));
    completes(&mut s, 1);
    fails_after(&mut s, 1, 1_000, "a");
    target_is(&mut s, 0);
    assert_eq!(s.attempt(1).iteration, 3);
}

#[test]
fn a_merged_tree_that_fails_goes_back_only_after_the_target_passed_and_it_failed_again() {
    let mut s = red_merge();
    assert_eq!(s.entry(1).phase, MergePhase::Queued);
    assert!(s.pending("buildMerge").is_none(), "it waits");
    target_is(&mut s, 0);
    merged_is_red(&mut s);
    assert!(s.state.queue.is_empty(), "it went back to its agent");
    assert_eq!(s.attempt(1).returns, 1);
}

#[test]
fn a_merged_tree_that_fails_while_the_target_does_stays_in_the_queue() {
    let mut s = red_merge();
    target_is(&mut s, 1);
    assert_eq!(s.attempt(1).returns, 0);
    s.wait_for_deadline();
    target_is(&mut s, 0);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_merge_in_doubt_about_a_command_that_is_no_longer_configured_lands() {
    let mut s = red_merge();
    s.load(|settings| settings.quality_commands = vec!["lint".into()]);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn work_that_is_in_doubt_stops_no_landing() {
    let mut s = at_work(2);
    completes(&mut s, 1);
    completes(&mut s, 2);
    checked(&mut s, 1, 1);
    target_is(&mut s, 0);
    checked(&mut s, 2, 0);
    for effect in ["buildMerge", "prepareVerify", "verify", "land"] {
        s.goes_well(effect);
    }
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
}

/// The first idea's check has failed, and the second one's work, which passed before, can merge.
fn red_beside_a_landing(checks: Option<u32>) -> Scenario {
    let mut s = at_work(2);
    completes(&mut s, 2);
    completes(&mut s, 1);
    s.load(|settings| settings.max_checks = checks);
    checked(&mut s, 2, 0);
    checked(&mut s, 1, 1);
    s
}

#[test]
fn a_control_runs_beside_the_merge_worktree_and_no_landing_waits_for_it() {
    let mut s = red_beside_a_landing(Some(2));
    let asked = s.state.outbox.values().find(|effect| effect.is_baseline());
    assert!(
        matches!(asked, Some(Effect::PrepareBaseline(it)) if it.tree == TargetTree::Control),
        "{asked:?}"
    );
    s.answer("prepareBaseline", target());
    for effect in ["buildMerge", "prepareVerify"] {
        s.goes_well(effect);
    }
    assert!(s.pending("baseline").is_some() && s.pending("verify").is_some());
    // Its command has passed in a run that began later, so nothing more is needed of the control.
    s.goes_well("verify").goes_well("land");
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
    assert!(s.pending("stopRun").is_some() && check_of(&s, 1).is_some());
}

#[test]
fn a_landing_whose_check_began_before_the_failure_ends_no_control() {
    let mut s = at_work(2);
    completes(&mut s, 2);
    checked(&mut s, 2, 0);
    s.goes_well("buildMerge").goes_well("prepareVerify");
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    s.answer("prepareBaseline", target());
    s.goes_well("verify").goes_well("land");
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
    assert!(s.pending("stopRun").is_none() && is_uncharged(&s, 1));
    let run = s.state.swarm.baseline.checking.clone().unwrap().run;
    s.run_ends(&run.unwrap(), exit(0));
    checked(&mut s, 1, 1);
    assert!(is_sent_back(&s, 1));
}

#[test]
fn where_one_check_runs_at_a_time_those_of_landings_go_before_a_control() {
    let mut s = red_beside_a_landing(Some(1));
    assert!(!asks_for_target(&s), "the landing's check comes first");
    s.goes_well("buildMerge").goes_well("prepareVerify");
    s.check(exit(1));
    assert!(asks_for_target(&s));
}

#[test]
fn a_control_runs_no_command_after_the_one_in_doubt_and_ideas_begin_again() {
    let mut s = Scenario::with(|settings| {
        required(settings);
        settings.quality_commands = vec!["lint".into(), "test".into()];
    });
    s.add("one").answer("prepareBaseline", target());
    s.check(exit(0)).check(exit(0));
    s.answer("prepareWorktree", outcomes::prepared());
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    target_is(&mut s, 0);
    assert!(!asks_for_target(&s) && check_of(&s, 1).is_some());
    assert!(s.state.is_target_green());
    s.add("two");
    assert!(s.pending("prepareWorktree").is_some());
}

#[test]
fn a_control_that_nobody_waits_for_any_more_is_stopped_without_a_verdict() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    s.answer("prepareBaseline", target());
    let run = s.state.swarm.baseline.checking.clone().unwrap().run;
    s.command(Command::SayToAgent {
        id: agent(1),
        text: "never mind".into(),
    });
    assert!(s.pending("stopRun").is_some());
    s.run_ends(&run.unwrap(), RunEndKind::Stopped);
    assert!(s.state.is_target_green() && s.state.red_baseline().is_none());
}

#[test]
fn a_doubt_outlives_a_kill_and_a_pause() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    s.restart().command(Command::Pause { reason: None });
    if asks_for_target(&s) {
        s.answer("prepareBaseline", target());
    }
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert!(is_uncharged(&s, 1));
    s.command(Command::Resume);
    target_is(&mut s, 0);
    checked(&mut s, 1, 1);
    assert!(is_sent_back(&s, 1));
}

#[test]
fn a_message_to_the_agent_ends_the_wait() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    target_is(&mut s, 1);
    s.command(Command::SayToAgent {
        id: agent(1),
        text: "never mind".into(),
    });
    assert_eq!(s.attempt(1).iteration, 2);
    assert_eq!(s.attempt(1).check.uncharged, None);
}

#[test]
fn without_a_required_baseline_a_failed_check_is_charged_at_once() {
    for mode in [BaselineMode::Warn, BaselineMode::Off] {
        let mut s = Scenario::with(|settings| settings.baseline = mode);
        s.add("one").well_until("gate");
        checked(&mut s, 1, 1);
        assert_eq!(s.attempt(1).iteration, 2, "{mode:?}");
    }
}

#[test]
fn another_command_in_the_configuration_ends_the_doubt_about_the_old_one() {
    let mut s = at_work(1);
    completes(&mut s, 1);
    checked(&mut s, 1, 1);
    s.load(|settings| settings.quality_commands = vec!["lint".into()]);
    assert!(check_of(&s, 1).is_some(), "the new command is run");
}

/// The worktree holds the untouched target, in which `install` was run before.
fn set_up_target() -> BaselineReady {
    BaselineReady {
        warm: true,
        setup: TreeSetup {
            key: Some("key".into()),
            not_copied: vec![],
        },
        ..target()
    }
}

/// One idea is at work in a worktree with a setup, and its agent changes a dependency.
fn setup_is_red() -> Scenario {
    let mut s = Scenario::with(|settings| {
        required(settings);
        settings.setup = vec!["install".into()];
    });
    s.add("one").answer("prepareBaseline", set_up_target());
    s.check(exit(0)).check(exit(0));
    s.answer("prepareWorktree", outcomes::prepared());
    s.check(exit(0)).completes(&agent(1));
    let changed = SealOutcome::Sealed {
        head: oid(5),
        committed: true,
        setup: Some("other".into()),
        links: vec![],
    };
    s.answer("seal", changed).check(exit(1));
    assert!(is_uncharged(&s, 1));
    s
}

#[test]
fn a_failed_setup_is_charged_once_it_has_passed_on_the_target_and_failed_again() {
    let mut s = setup_is_red();
    s.answer("prepareBaseline", set_up_target());
    assert!(
        s.pending("setup").is_some(),
        "it runs again, though it ran there before"
    );
    s.check(exit(0));
    assert!(is_uncharged(&s, 1));
    let again = s.attempt(1).run.clone().expect("its setup does not run");
    s.run_ends(&again, exit(1));
    assert!(is_sent_back(&s, 1));
}

#[test]
fn a_setup_that_fails_on_the_target_as_well_is_nobodys_fault() {
    let mut s = setup_is_red();
    s.answer("prepareBaseline", set_up_target()).check(exit(1));
    assert_eq!(view::needs_you(&s.state)[0].kind, "environment");
    s.wait_for_deadline();
    s.answer("prepareBaseline", set_up_target());
    s.check(exit(0)).check(exit(0));
    assert!(is_uncharged(&s, 1));
    s.check(exit(0)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}
