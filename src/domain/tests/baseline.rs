//! The check of the untouched target before work begins.

use insta::assert_snapshot;

use crate::domain::effect::Effect;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::{CheckEnvironment, Host, Observation, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::outcome::{
    BaselineReady, FailureKind, LandOutcome, TreeSetup, WorktreePrepared,
};
use crate::domain::retention::{Need, Needs, Verdict};
use crate::domain::settings::{BaselineMode, Mode, Settings};
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea, oid, outcomes};
use crate::view::{self, Rest};

fn required(settings: &mut Settings) {
    settings.baseline = BaselineMode::Require;
}

/// An idea is about to begin, and the target at commit 1 is being checked.
fn checking() -> Scenario {
    let mut s = Scenario::with(required);
    s.add("one").answer("prepareBaseline", at(1)).quietly();
    s
}

fn red() -> Scenario {
    let mut s = checking();
    s.check(exit(1)).quietly();
    s
}

fn at(commit: u64) -> BaselineReady {
    BaselineReady {
        commit: oid(commit),
        warm: false,
        setup: TreeSetup::default(),
        probe: None,
    }
}

fn worktree(s: &mut Scenario, base: u64) {
    let prepared = WorktreePrepared {
        head: oid(base),
        base: oid(base),
        ..outcomes::prepared()
    };
    s.answer("prepareWorktree", prepared);
}

fn is_claimed(s: &Scenario) -> bool {
    s.idea(1).status == IdeaStatus::Active
}

#[test]
fn the_target_is_checked_once_before_the_first_idea_begins() {
    let mut s = Scenario::with(required);
    assert!(
        s.pending("prepareBaseline").is_none(),
        "nothing is to begin"
    );
    s.add("one").answer("prepareBaseline", at(1)).check(exit(0));
    assert_snapshot!(s.then(), @r"
    ideaAdded {id: idea-001, idea: {after: [], content: one, priority: 0, tags: []}}
    ask #1 prepareBaseline main
    baselineReady {commit: 0001}
    end #1
    baselineStarted {command: check, index: 0, run: r0001-baseline-1}
    ask #2 run r0001-baseline-1: check
    run r0001-baseline-1 Exited { code: 0 }
    baselinePassed {commit: 0001, index: 0, last: true}
    end #2
    ideaClaimed {agent: ed-001, attempt: 1, branch: agent/ed-001/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #3 prepareWorktree ed-001
    ");
    s.add("two");
    assert!(s.pending("prepareBaseline").is_none());
    s.well_until("iteration");
}

#[test]
fn a_red_target_holds_every_idea_and_says_why() {
    let s = red();
    assert!(!is_claimed(&s) && s.state.outbox.is_empty());
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    let need = &view::needs_you(&s.state)[0];
    assert_eq!(need.kind, "target");
    let expected = "no idea begins: `check` fails on main at 0001000000, before any work (exit \
        code 1). swarm checks again by itself, after growing waits and when the branch or the \
        configuration changes";
    assert_eq!(need.message, expected);
    assert_snapshot!(need.commands.join("\n"), @r"
    tail -n 50 .git/swarm/runs/r0001-baseline-1/stdout.log .git/swarm/runs/r0001-baseline-1/stderr.log
    swarm resume   # after the fix: checks again at once
    ");
}

#[test]
fn the_output_of_a_failed_check_stays_until_another_one_passes() {
    let mut s = red();
    let verdict = |s: &Scenario| Needs::of(&s.state).run(&"r0001-baseline-1".parse().unwrap());
    assert_eq!(verdict(&s), Verdict::Needed(Need::Unfinished));
    s.command(Command::Resume);
    s.answer("prepareBaseline", at(1)).check(exit(0));
    assert_eq!(verdict(&s), Verdict::Over(None));
}

#[test]
fn what_a_person_did_while_no_daemon_ran_is_seen_before_anything_begins() {
    let mut s = checking();
    s.check(exit(0)).all_goes_well().restart().add("two");
    assert!(s.pending("prepareWorktree").is_none());
    s.answer("prepareBaseline", at(2)).check(exit(1));
    assert_eq!(s.idea(2).status, IdeaStatus::Pending);
}

#[test]
fn a_red_target_is_checked_again_after_growing_waits() {
    let mut s = red();
    let mut waits = Vec::new();
    for _ in 0..7 {
        let before = s.now;
        s.wait_for_deadline();
        waits.push(s.now.since(before) / 1_000);
        s.answer("prepareBaseline", at(1)).check(exit(1));
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600]);
    s.wait_for_deadline();
    s.answer("prepareBaseline", at(1)).check(exit(0));
    assert!(is_claimed(&s) && view::needs_you(&s.state).is_empty());
}

#[test]
fn whatever_may_have_fixed_it_checks_at_once() {
    let mut s = red();
    s.command(Command::Resume);
    s.answer("prepareBaseline", at(1)).check(exit(1)).restart();
    s.answer("prepareBaseline", at(1)).check(exit(1));
    s.load(|settings| settings.quality_timeout_ms += 1);
    s.answer("prepareBaseline", at(1)).check(exit(1));
    s.when(Observation::TargetAt { commit: oid(1) });
    assert!(s.pending("prepareBaseline").is_none(), "it did not move");
    s.when(Observation::TargetAt { commit: oid(2) });
    s.answer("prepareBaseline", at(2)).check(exit(0));
    assert!(is_claimed(&s));
}

#[test]
fn every_command_must_pass_and_other_commands_are_checked_anew() {
    let mut s = Scenario::with(|settings| {
        required(settings);
        settings.quality_commands = vec!["check".into(), "lint".into()];
    });
    s.add("one").answer("prepareBaseline", at(1)).check(exit(0));
    assert!(!is_claimed(&s));
    // Its end says nothing about the new commands.
    s.load(|settings| settings.quality_commands = vec!["lint".into()]);
    s.check(exit(1));
    s.answer("prepareBaseline", at(1));
    assert!(!is_claimed(&s));
    s.check(exit(0));
    assert!(is_claimed(&s));
}

#[test]
fn what_swarm_landed_needs_no_second_check() {
    let mut s = checking();
    s.add("two").add("three").check(exit(0)).all_goes_well();
    assert_eq!(s.idea(3).status, IdeaStatus::Done);
    let runs = s
        .log
        .iter()
        .filter(|(_, event)| event.kind() == "baselineStarted");
    assert_eq!(runs.count(), 1);
}

#[test]
fn what_landed_unchecked_is_checked_before_the_next_idea() {
    let mut s = Scenario::with(|settings| {
        required(settings);
        settings.verify = false;
    });
    s.add("one").all_goes_well().add("two");
    assert!(s.pending("prepareBaseline").is_some());
}

#[test]
fn an_attempt_on_a_commit_that_was_not_checked_begins_anew() {
    let mut s = checking();
    s.check(exit(0)).quietly();
    worktree(&mut s, 2);
    assert_snapshot!(s.then(), @r"
    worktreeReady {agent: ed-001, base: 0002, head: 0002}
    targetSeen {branch: main, commit: 0002}
    ed-001 -> Starting
    end #3
    attemptEnded {agent: ed-001, end: released, keepWorktree: false, message: the commit that it would start from has not passed the checks of the target, status: pending}
    ask #4 releaseWorktree w01
    ask #5 prepareBaseline main
    ");
    s.answer("prepareBaseline", at(2)).check(exit(1));
    assert!(!is_claimed(&s));
    s.wait_for_deadline();
    s.answer("prepareBaseline", at(3)).check(exit(0));
    worktree(&mut s, 3);
    assert!(s.pending("iteration").is_some());
}

#[test]
fn an_attempt_waits_for_a_landing_that_is_not_yet_recorded() {
    let mut s = checking();
    s.check(exit(0)).well_until("land").add("two");
    let Some(Effect::Land(land)) = s.state.outbox.values().find(|it| it.is_landing()) else {
        panic!("nothing lands");
    };
    let (head, base) = (land.commit.clone(), land.commit.clone());
    let prepared = WorktreePrepared {
        head,
        base,
        ..outcomes::prepared()
    };
    s.answer("prepareWorktree", prepared);
    assert_eq!(s.attempt(2).phase, AttemptPhase::Starting);
    s.answer("land", LandOutcome::Landed);
    assert!(s.pending("iteration").is_some());
}

#[test]
fn work_that_has_begun_and_merges_go_on_while_the_target_is_red() {
    let mut s = checking();
    s.check(exit(0)).well_until("iteration");
    s.load(|settings| settings.quality_commands = vec!["lint".into()]);
    s.add("two").answer("prepareBaseline", at(1)).check(exit(1));
    s.iteration(&agent(1), exit(0));
    s.completes(&agent(1)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    // It landed with the new commands passing: nothing holds the other one.
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
}

#[test]
fn warn_holds_nothing() {
    let mut s = Scenario::with(|settings| settings.baseline = BaselineMode::Warn);
    s.add("one").answer("prepareBaseline", at(1)).check(exit(1));
    assert!(is_claimed(&s));
    assert!(view::needs_you(&s.state).is_empty());
    let status = view::status(&s.state, view::Outside::default());
    let expected = "`check` fails on main at 0001000000, before any work (exit code 1)";
    assert_eq!(status.warnings[0].message, expected);
    let output = "tail -n 50 .git/swarm/runs/r0001-baseline-1/stdout.log \
        .git/swarm/runs/r0001-baseline-1/stderr.log";
    assert_eq!(status.warnings[0].commands, [output]);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn off_checks_nothing_and_neither_does_a_project_without_commands() {
    for change in [
        (|settings| settings.baseline = BaselineMode::Off) as fn(&mut Settings),
        |settings| {
            required(settings);
            settings.quality_commands.clear();
        },
    ] {
        let mut s = Scenario::with(change);
        s.add("one");
        assert!(s.pending("prepareWorktree").is_some());
        assert!(s.pending("prepareBaseline").is_none());
        let status = view::status(&s.state, view::Outside::default());
        let commands = &s.state.settings.as_ref().unwrap().quality_commands;
        assert_eq!(status.warnings.len(), usize::from(commands.is_empty()));
    }
}

#[test]
fn in_semi_auto_mode_it_is_checked_once_an_idea_is_assigned() {
    let mut s = Scenario::with(|settings| {
        required(settings);
        settings.mode = Mode::SemiAuto;
    });
    s.add("one");
    assert!(s.pending("prepareBaseline").is_none());
    let (id, profile) = (idea(1), None);
    s.command(Command::AssignIdea { id, profile });
    s.answer("prepareBaseline", at(1)).check(exit(1));
    assert!(!is_claimed(&s));
}

#[test]
fn a_run_that_was_stopped_or_lost_is_no_result_and_one_that_timed_out_is_red() {
    let mut s = checking();
    s.command(Command::Pause { reason: None });
    assert!(s.pending("baseline").is_some(), "a pause stops no run");
    s.check(exit(0));
    assert!(!is_claimed(&s));
    s.command(Command::Resume);
    assert!(is_claimed(&s), "its result counts");
    let mut s = checking();
    for _ in 0..2 {
        s.check(RunEndKind::Lost).answer("prepareBaseline", at(1));
    }
    assert!(s.state.red_baseline().is_none());
    s.check(RunEndKind::Lost);
    let how = &s.state.red_baseline().unwrap().how;
    assert_eq!(how, "its runner was killed 3 times in a row");
    let mut s = checking();
    s.check(RunEndKind::TimedOut);
    assert!(s.state.red_baseline().is_some());
}

#[test]
fn a_shutdown_in_the_middle_is_no_result() {
    let mut s = checking();
    s.command(Command::Shutdown { keep_agents: false });
    s.wait_for_deadline().stop_delivered();
    s.check(RunEndKind::Stopped).restart();
    s.answer("prepareBaseline", at(1)).check(exit(0));
    assert!(is_claimed(&s));
}

#[test]
fn a_kill_in_the_middle_goes_on_with_the_run_that_lives() {
    let mut s = checking();
    s.restart().check(exit(0));
    assert!(is_claimed(&s));
}

#[test]
fn the_merge_queue_and_the_check_do_not_use_the_merge_worktree_together() {
    let mut s = checking();
    s.check(exit(0)).well_until("verify");
    s.load(|settings| settings.quality_commands = vec!["lint".into()]);
    s.add("two");
    assert!(s.pending("prepareBaseline").is_none(), "the queue has it");
    s.all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
}

#[test]
fn a_target_that_cannot_be_checked_out_is_red_and_a_full_disk_waits() {
    let mut s = Scenario::with(required);
    s.add("one")
        .fails("prepareBaseline", "the target branch `main` is gone");
    let message = &view::needs_you(&s.state)[0].message;
    let begin = "no idea begins: main cannot be checked: the target branch `main` is gone. swarm";
    assert!(message.starts_with(begin), "{message}");
    let mut s = Scenario::with(required);
    s.add("one");
    s.fails_as("prepareBaseline", FailureKind::NoSpace, "the disk is full");
    assert!(s.state.red_baseline().is_none());
    s.wait_for_deadline().answer("prepareBaseline", at(1));
}

/// Approved work is merged with the target at commit 2, which somebody made and nobody checked, and
/// the merged tree fails.
fn held_merge(change: impl FnOnce(&mut Settings)) -> Scenario {
    let mut s = Scenario::with(|settings| {
        required(settings);
        settings.auto_merge = false;
        change(settings);
    });
    s.add("one").all_goes_well();
    fails_on_commit_2(&mut s);
    s
}

fn fails_on_commit_2(s: &mut Scenario) {
    let (id, commit) = (idea(1), None);
    s.command(Command::ApproveMerge { id, commit });
    s.answer("buildMerge", outcomes::built(9, 2));
    s.answer("prepareVerify", outcomes::verify_ready());
    s.check(exit(1));
}

#[test]
fn a_merge_that_fails_on_a_target_that_nobody_checked_waits_for_its_check() {
    let mut s = held_merge(|_| {});
    assert_eq!(view::rest(&s.state), Rest::Busy);
    let reason = &s.entry(1).waits.as_ref().unwrap().reason;
    let expected = "`check` fails on the merged tree (exit code 1), and main has to pass its own \
        checks first; the merge continues once it has";
    assert_eq!(reason, expected);
    s.answer("prepareBaseline", at(2)).check(exit(1));
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    let message = &view::needs_you(&s.state)[0].message;
    let expected = "no idea begins or continues, and idea-001 cannot land: `check` fails on main \
        at 0002000000";
    assert!(message.starts_with(expected), "{message}");
    for _ in 0..3 {
        s.wait_for_deadline();
        s.answer("prepareBaseline", at(2)).check(exit(1));
    }
    s.restart();
    assert!(s.pending("buildMerge").is_none() && s.entry(1).approved.is_some());
    s.answer("prepareBaseline", at(3)).check(exit(0));
    s.answer("buildMerge", outcomes::built(10, 3))
        .all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(
        s.state.ended[&agent(1)].iteration,
        1,
        "nothing was paid for"
    );
}

#[test]
fn a_merge_that_fails_on_a_target_that_passes_returns_to_its_agent() {
    let mut s = held_merge(|_| {});
    s.answer("prepareBaseline", at(2)).check(exit(0));
    assert_eq!(s.attempt(1).returns, 0);
    s.answer("buildMerge", outcomes::built(9, 2));
    s.answer("prepareVerify", outcomes::verify_ready());
    s.check(exit(1));
    assert!(s.pending("prepareBaseline").is_none());
    assert_eq!(s.attempt(1).returns, 1);
    let feedback = s.attempt(1).feedback.as_ref().unwrap();
    assert!(feedback.merged && feedback.command == "check");
    s.well_until("iteration");
}

#[test]
fn no_iteration_begins_while_a_merge_waits_for_the_target() {
    let mut s = Scenario::with(|settings| {
        required(settings);
        settings.auto_merge = false;
    });
    s.add("one")
        .all_goes_well()
        .add("two")
        .well_until("iteration");
    fails_on_commit_2(&mut s);
    s.iteration(&agent(2), exit(0));
    assert_eq!(s.attempt(2).phase, AttemptPhase::Backoff);
    s.answer("prepareBaseline", at(2)).check(exit(1));
    s.wait_for_deadline();
    assert_eq!(s.attempt(2).phase, AttemptPhase::Backoff);
    assert_eq!(s.attempt(2).iteration, 1);
    s.answer("prepareBaseline", at(2)).check(exit(1));
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.wait_for_deadline();
    s.answer("prepareBaseline", at(3)).check(exit(0));
    assert_eq!(s.attempt(2).iteration, 2);
    // Without a merge that waits for it, work that has begun goes on.
    let mut s = held_merge(|_| {});
    s.command(Command::CancelIdea { id: idea(1) });
    assert!(!s.state.holds_iterations());
}

#[test]
fn finished_work_that_fixes_a_red_target_lands_and_frees_the_rest() {
    let mut s = held_merge(|settings| settings.max_parallel = 2);
    s.answer("prepareBaseline", at(2)).check(exit(1)).restart();
    s.load(|settings| settings.baseline = BaselineMode::Warn);
    s.answer("prepareBaseline", at(2)).check(exit(1));
    // Ideas begin, and one of them is the fix.
    s.add("two");
    worktree(&mut s, 2);
    assert!(s.pending("iteration").is_some());
    let message = &view::needs_you(&s.state)[0].message;
    assert!(
        message.starts_with("idea-001 cannot land: `check`"),
        "{message}"
    );
    let status = view::status(&s.state, view::Outside::default());
    assert!(status.warnings.is_empty(), "it is said once");
    s.all_goes_well();
    let (id, commit) = (idea(2), None);
    s.command(Command::ApproveMerge { id, commit });
    s.all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_merge_is_not_held_once_the_target_is_not_checked_any_more() {
    let mut s = held_merge(|_| {});
    s.answer("prepareBaseline", at(2)).check(exit(1));
    s.load(|settings| settings.baseline = BaselineMode::Off);
    s.answer("buildMerge", outcomes::built(9, 2));
    s.answer("prepareVerify", outcomes::verify_ready());
    s.check(exit(1));
    assert_eq!(s.attempt(1).returns, 1);
}

#[test]
fn a_check_that_nobody_waits_for_is_stopped() {
    let mut s = checking();
    s.command(Command::CancelIdea { id: idea(1) });
    assert!(s.pending("stopRun").is_some());
    s.stop_delivered().check(RunEndKind::Stopped);
    assert_eq!(view::rest(&s.state), Rest::Idle);
    assert!(s.state.swarm.baseline.checking.is_none() && s.state.red_baseline().is_none());
    s.add("two").answer("prepareBaseline", at(1)).check(exit(0));
    assert_eq!(s.idea(2).status, IdeaStatus::Active);
}

#[test]
fn a_check_with_other_commands_is_stopped_and_begins_anew() {
    let mut s = checking();
    s.load(|settings| settings.quality_commands = vec!["lint".into()]);
    assert!(s.pending("stopRun").is_some());
    assert!(s.pending("prepareBaseline").is_none());
    s.stop_delivered().check(RunEndKind::Stopped);
    s.answer("prepareBaseline", at(1)).check(exit(0));
    assert!(is_claimed(&s));
}

#[test]
fn a_check_goes_on_while_an_idea_may_still_begin() {
    let mut s = checking();
    s.add("two").command(Command::CancelIdea { id: idea(1) });
    s.load(|settings| settings.max_parallel += 1);
    assert!(s.pending("stopRun").is_none());
    s.check(exit(0));
    assert_eq!(s.idea(2).status, IdeaStatus::Active);
}

#[test]
fn status_shows_the_check_that_runs() {
    let s = checking();
    let outside = || view::Outside {
        pid: Some(1),
        ..view::Outside::default()
    };
    let check = view::status(&s.state, outside()).baseline.unwrap();
    assert_eq!(check.commit, oid(1));
    assert_eq!(check.command.as_deref(), Some("check"));
    assert_eq!(check.since, s.now);
    let without_daemon = view::status(&s.state, view::Outside::default());
    assert!(without_daemon.baseline.is_none());
    assert!(view::status(&red().state, outside()).baseline.is_none());
}

/// A daemon starts in this environment.
fn starts_in(s: &mut Scenario, digest: &str) {
    let environment = CheckEnvironment {
        key: "key".into(),
        digest: digest.into(),
    };
    s.when(Observation::DaemonStarted {
        version: "1.0.0".into(),
        counters: None,
        host: Some(Host {
            environment: Some(environment),
            ..Host::default()
        }),
    })
    .when(Observation::RecoveryDone);
}

/// The target, on which an idea is to begin, is looked up; whether its check runs.
fn is_checked_again(s: &mut Scenario) -> bool {
    s.answer("prepareBaseline", at(1));
    let runs = s.state.swarm.baseline.checking.is_some();
    if runs {
        s.check(exit(0));
    }
    runs
}

#[test]
fn another_environment_checks_the_target_again_and_a_known_one_does_not() {
    let mut s = Scenario::with(required);
    starts_in(&mut s, "terminal");
    s.add("one");
    assert!(is_checked_again(&mut s));
    s.all_goes_well();
    // The landing passed in this environment, too; the next idea begins from where it began.
    for (digest, again) in [
        ("terminal", false),
        ("cron", true),
        ("terminal", false),
        ("cron", false),
        ("service", true),
        ("cron", false),
    ] {
        starts_in(&mut s, digest);
        s.add(digest);
        assert_eq!(is_checked_again(&mut s), again, "{digest}");
        s.all_goes_well();
    }
}

#[test]
fn the_last_eight_environments_are_remembered() {
    let mut s = Scenario::with(required);
    for number in 0..9 {
        starts_in(&mut s, &number.to_string());
        s.add("idea");
        assert!(is_checked_again(&mut s), "{number}");
        s.all_goes_well();
    }
    assert_eq!(s.state.swarm.baseline.elsewhere.len(), 7);
    starts_in(&mut s, "1");
    s.add("idea");
    assert!(!is_checked_again(&mut s));
    starts_in(&mut s, "0");
    assert!(s.state.swarm.baseline.passed.is_empty());
}

#[test]
fn what_failed_in_another_environment_charges_nobody() {
    let mut s = Scenario::with(required);
    starts_in(&mut s, "cron");
    s.add("one");
    assert!(is_checked_again(&mut s));
    worktree(&mut s, 1);
    s.completes(&agent(1)).goes_well("seal");
    let run = s.attempt(1).run.clone().unwrap();
    starts_in(&mut s, "terminal");
    // It ran with the environment of the daemon before.
    s.run_ends(&run, exit(1));
    let charged = |s: &Scenario| {
        let mut log = s.log.iter();
        log.any(|(_, event)| matches!(event.kind(), "gateDoubted" | "gateFailed"))
    };
    assert!(!charged(&s));
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert!(!charged(&s));
}
