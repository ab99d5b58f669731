//! The setup of worktrees: in an agent's worktree, before the gate, on the merged tree and on the
//! untouched target.

use insta::assert_snapshot;

use crate::domain::ids::IdeaId;
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::observation::{Host, Observation, RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::outcome::{
    BaselineReady, FailureKind, SealOutcome, TreeSetup, VerifyReady, WorktreePrepared,
};
use crate::domain::settings::{BaselineMode, Settings};
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::testkit::outcomes::{built, prepared, sealed, verify_ready};
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, oid};
use crate::view::{self, Rest};

fn install(settings: &mut Settings) {
    settings.setup = vec!["install".into()];
}

fn with_key(key: &str) -> TreeSetup {
    TreeSetup {
        key: Some(key.into()),
        not_copied: vec![],
    }
}

/// The worktree of the first idea is prepared, and its setup runs.
fn setting_up() -> Scenario {
    let mut s = Scenario::with(install);
    s.add("one").answer("prepareWorktree", prepared());
    assert!(s.pending("setup").is_some());
    s.quietly();
    s
}

/// The first agent has said COMPLETE, in a worktree that was set up.
fn complete() -> Scenario {
    let mut s = setting_up();
    s.check(exit(0)).completes(&agent(1)).quietly();
    s
}

fn sealed_with(key: &str) -> SealOutcome {
    SealOutcome::Sealed {
        head: oid(5),
        committed: true,
        setup: Some(key.into()),
        links: vec![],
    }
}

#[test]
fn the_setup_comes_before_the_first_iteration() {
    let mut s = Scenario::with(|settings| settings.setup = vec!["install".into(), "make".into()]);
    s.add("one").quietly();
    s.answer("prepareWorktree", prepared());
    s.check(exit(0)).check(exit(0));
    assert_snapshot!(s.then(), @r#"
    worktreeReady {agent: ed-001, base: 0001, head: 0001, setup: key}
    targetSeen {branch: main, commit: 0001}
    end #1
    setupStarted {index: 0, run: r0001-ed-001-s1, tree: {worktree: {agent: ed-001}}}
    ask #2 run r0001-ed-001-s1: install
    run r0001-ed-001-s1 Exited { code: 0 }
    setupPassed {index: 0, tree: {worktree: {agent: ed-001}}}
    end #2
    setupStarted {index: 1, run: r0002-ed-001-s2, tree: {worktree: {agent: ed-001}}}
    ask #3 run r0002-ed-001-s2: make
    run r0002-ed-001-s2 Exited { code: 0 }
    setupPassed {index: 1, last: true, tree: {worktree: {agent: ed-001}}}
    ed-001 -> Starting
    end #3
    iterationStarted {agent: ed-001, iteration: 1, run: r0003-ed-001-i1}
    ed-001 -> Working
    ask #4 run r0003-ed-001-i1 as ed
    "#);
    assert_eq!(s.state.setups["w01"], "key");
    assert_eq!(s.attempt(1).spent_ms, 0);
}

#[test]
fn a_warm_worktree_with_the_same_inputs_needs_no_setup() {
    for (warm, key, runs) in [
        (true, "key", false),
        (false, "key", true),
        (true, "other", true),
    ] {
        let mut s = complete();
        s.all_goes_well();
        // The next idea takes the worktree over.
        let name = s.state.ended[&agent(1)].worktree.clone();
        assert_eq!(s.state.setups[&name], "key");
        s.add("two");
        let worktree = s.attempt(2).worktree.clone();
        s.state.setups.insert(worktree, "key".into());
        s.answer(
            "prepareWorktree",
            WorktreePrepared {
                warm,
                setup: with_key(key),
                ..prepared()
            },
        );
        assert_eq!(s.pending("setup").is_some(), runs, "{warm} {key}");
        assert_eq!(s.pending("iteration").is_some(), !runs);
    }
}

/// As in a copy of the repository, and after somebody removed the folder.
#[test]
fn in_a_new_folder_of_worktrees_nothing_is_set_up_and_paths_name_it() {
    for is_new in [false, true] {
        let mut s = complete();
        s.all_goes_well();
        s.when(Observation::DaemonStarted {
            version: "1.0.0".into(),
            counters: None,
            host: Some(Host {
                worktrees: Some("/state/swarm/app-1f2e3d4c".into()),
                worktrees_new: is_new,
                ..Host::default()
            }),
        });
        assert_eq!(s.state.setups.is_empty(), is_new);
        let shown = view::agent(&s.state, &agent(1)).unwrap();
        assert_eq!(
            shown.worktree.as_deref(),
            Some("/state/swarm/app-1f2e3d4c/w01")
        );
    }
}

#[test]
fn a_tree_that_is_no_longer_warm_is_forgotten_at_once() {
    let mut s = complete();
    s.all_goes_well();
    assert_eq!(s.state.setups["verify"], "key");
    s.add("two").well_until("prepareVerify");
    s.answer(
        "prepareVerify",
        VerifyReady {
            warm: false,
            ..verify_ready()
        },
    );
    assert!(!s.state.setups.contains_key("verify"));
    s.restart();
    assert!(!s.state.setups.contains_key("verify"));
    s.check(exit(0));
    assert_eq!(s.state.setups["verify"], "key");
}

#[test]
fn a_setup_that_fails_before_any_work_is_repeated_and_then_pauses_the_swarm() {
    let mut s = setting_up();
    s.check(exit(1));
    assert_eq!(s.attempt(1).phase, AttemptPhase::Preparing);
    let mut waits = Vec::new();
    for _ in 0..2 {
        let before = s.now;
        s.wait_for_deadline();
        waits.push(s.now.since(before) / 1_000);
        let failed = RunEnd {
            last_words: Some("no network".into()),
            ..RunEnd::new(exit(1))
        };
        let setup = s.pending("setup").unwrap();
        s.run_over(setup, failed);
    }
    assert_eq!(waits, [10, 60]);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert_eq!(s.attempt(1).iteration, 0, "nothing is paid for");
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    let reason = s.state.swarm.pause_reason.clone().unwrap();
    assert_snapshot!(reason, @r"the setup command `install` keeps failing before any work begins (exit code 1): no network. No idea is to blame, so nothing starts and no iteration is spent. All output: swarm agent logs ed-001. Fix the cause, or change worktree.setup in .swarm/config.json; then: swarm resume");
    assert_eq!(s.idea(1).status, IdeaStatus::Active, "no idea is to blame");
    s.restart();
    assert!(s.pending("setup").is_none());
    let failed = view::agent(&s.state, &agent(1)).unwrap();
    assert_eq!(
        failed.reason.as_deref(),
        Some("its setup failed 3 times in a row")
    );
    s.command(Command::Resume).well_until("setup");
    s.check(exit(0));
    assert!(s.pending("iteration").is_some() && s.state.warnings.is_empty());
}

#[test]
fn after_a_pause_an_attempt_whose_setup_failed_begins_again_from_the_target_as_it_is() {
    for code in [1, 127] {
        let mut s = setting_up();
        s.check(exit(code));
        while s.state.swarm.phase != SwarmPhase::Paused {
            s.wait_for_deadline().check(exit(code));
        }
        s.command(Command::Resume);
        let ended = view::agent(&s.state, &agent(1)).unwrap();
        assert_eq!(ended.end, Some(AttemptEnd::Released));
        assert_eq!(
            ended.reason.as_deref(),
            Some("its setup failed; the next attempt starts from the target as it is then")
        );
        assert_eq!(s.idea(1).retry_count, 0, "no crash");
        s.well_until("prepareWorktree");
        s.answer(
            "prepareWorktree",
            WorktreePrepared {
                base: oid(2),
                head: oid(2),
                ..prepared()
            },
        );
        s.check(exit(0));
        assert_eq!(s.attempt(2).base, Some(oid(2)));
        assert!(s.pending("iteration").is_some());
    }
}

#[test]
fn earlier_work_stays_where_it_is_when_its_setup_fails() {
    let mut s = complete();
    s.answer("seal", sealed(5, true));
    s.command(Command::StopAgent { id: agent(1) });
    s.stop_delivered().check(RunEndKind::Stopped);
    s.load(|settings| settings.setup = vec!["other".into()]);
    s.well_until("setup").check(exit(127));
    s.command(Command::Resume);
    assert_eq!(s.attempt(2).phase, AttemptPhase::Preparing);
    assert!(s.pending("setup").is_some());
}

#[test]
fn a_setup_that_waits_to_be_repeated_says_when() {
    let mut s = setting_up();
    assert_eq!(view::agent(&s.state, &agent(1)).unwrap().reason, None);
    s.check(exit(1));
    let waits = view::agent(&s.state, &agent(1)).unwrap();
    assert_eq!(waits.reason.as_deref(), Some("its setup failed"));
    assert_eq!(waits.not_before, Some(s.now.plus_millis(10_000)));
}

#[test]
fn a_missing_program_pauses_at_once() {
    let mut s = setting_up();
    s.check(exit(127));
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert_snapshot!(s.state.warnings["setup-0"].message, @r#"
    the setup command `install` fails with exit code 127 in the worktree of idea-001: the shell cannot find its program. No idea is to blame, so nothing starts. Install the program, or change worktree.setup in .swarm/config.json; then: swarm resume. If idea-001 itself broke the command, first tell its agent: swarm agent say ed-001 "..."
    "#);
    s.load(|settings| settings.setup = vec!["npm ci".into()]);
    assert!(s.pending("setup").is_some(), "another command may work");
    s.check(exit(0)).command(Command::Resume);
    assert!(s.pending("iteration").is_some());
}

#[test]
fn a_setup_whose_runner_is_killed_runs_again() {
    let mut s = setting_up();
    s.check(RunEndKind::Lost).check(RunEndKind::Lost);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Running);
    s.check(RunEndKind::Lost);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert_eq!(s.idea(1).status, IdeaStatus::Active);
}

#[test]
fn a_full_disk_returns_the_idea_and_its_setup_runs_later() {
    let mut s = setting_up();
    s.fails_as("setup", FailureKind::NoSpace, "the disk is full");
    assert_eq!(s.state.ended[&agent(1)].end, AttemptEnd::Released);
    s.wait_for_deadline().well_until("setup");
    assert_eq!(s.attempt(2).iteration, 0);
}

#[test]
fn a_stop_a_cancel_and_a_shutdown_end_a_setup() {
    let mut s = setting_up();
    s.command(Command::StopAgent { id: agent(1) });
    s.stop_delivered().check(RunEndKind::Stopped);
    assert_eq!(s.state.ended[&agent(1)].end, AttemptEnd::Stopped);
    let mut s = setting_up();
    let id = IdeaId::numbered(1);
    s.command(Command::CancelIdea { id });
    s.stop_delivered().check(RunEndKind::Stopped);
    assert_eq!(s.idea(1).status, IdeaStatus::Cancelled);
    let mut s = setting_up();
    s.command(Command::Shutdown { keep_agents: false });
    s.wait_for_deadline().stop_delivered();
    s.check(RunEndKind::Stopped);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped);
    assert_eq!(s.state.ended[&agent(1)].end, AttemptEnd::Interrupted);
}

#[test]
fn a_restart_adopts_a_setup() {
    let mut s = setting_up();
    let run = s.attempt(1).run.clone();
    s.restart();
    assert_eq!(s.attempt(1).run, run);
    s.check(exit(0));
    assert!(s.pending("iteration").is_some());
}

#[test]
fn a_lock_file_that_the_agent_changed_is_installed_before_the_gate() {
    let mut s = complete();
    s.answer("seal", sealed(5, true));
    assert!(s.pending("gate").is_some(), "nothing has changed");
    let mut s = complete();
    s.answer("seal", sealed_with("other")).check(exit(0));
    assert_snapshot!(s.then(), @r#"
    attemptSealed {agent: ed-001, committed: true, head: 0005, setup: other}
    end #4
    setupStarted {index: 0, run: r0003-ed-001-s1, tree: {worktree: {agent: ed-001}}}
    ask #5 run r0003-ed-001-s1: install
    run r0003-ed-001-s1 Exited { code: 0 }
    setupPassed {index: 0, last: true, tree: {worktree: {agent: ed-001}}}
    end #5
    gateStarted {agent: ed-001, index: 0, run: r0004-ed-001-q1}
    ask #6 run r0004-ed-001-q1: check
    "#);
    assert_eq!(s.state.setups["w01"], "other");
}

#[test]
fn a_setup_that_fails_before_the_gate_is_a_failed_check() {
    let mut s = complete();
    s.answer("seal", sealed_with("other")).check(exit(1));
    let feedback = s.attempt(1).feedback.clone().unwrap();
    assert_eq!(
        (&*feedback.command, &*feedback.how),
        ("install", "exit code 1")
    );
    assert_eq!(s.attempt(1).iteration, 2, "its agent mends it");
    // What was set up before no longer holds, whatever the agent changes.
    s.completes(&agent(1)).answer("seal", sealed_with("key"));
    assert!(s.pending("setup").is_some());
    s.check(exit(0));
    assert!(s.pending("gate").is_some());
}

#[test]
fn a_setup_that_cannot_run_before_the_gate_blames_no_idea() {
    let mut s = complete();
    s.answer("seal", sealed_with("other")).check(exit(127));
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    s.command(Command::Resume).check(exit(0));
    assert!(s.pending("gate").is_some());
    assert_eq!(s.attempt(1).iteration, 1);
}

#[test]
fn the_merged_tree_is_set_up_before_it_is_checked() {
    let mut s = complete();
    s.well_until("prepareVerify").quietly();
    s.answer("prepareVerify", verify_ready()).check(exit(0));
    assert_snapshot!(s.then(), @r#"
    verifyReady {id: idea-001, setup: key, warm: true}
    end #7
    setupStarted {index: 0, run: r0004-idea-001-s1, tree: {merged: {idea: idea-001}}}
    ask #8 run r0004-idea-001-s1: install
    run r0004-idea-001-s1 Exited { code: 0 }
    setupPassed {index: 0, last: true, tree: {merged: {idea: idea-001}}}
    end #8
    verifyStarted {id: idea-001, index: 0, run: r0005-idea-001-v1}
    ask #9 run r0005-idea-001-v1: check
    "#);
    let mut s = complete();
    s.well_until("prepareVerify");
    s.answer("prepareVerify", verify_ready());
    s.check(RunEndKind::Lost).answer("buildMerge", built(9, 1));
    s.answer("prepareVerify", verify_ready());
    assert!(s.pending("setup").is_some(), "half a setup is none");
    s.check(exit(127));
    assert_eq!(s.entry(1).phase, MergePhase::Queued);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
}

/// The setup of the merged tree fails.
fn fails_on_the_merged_tree(s: &mut Scenario) {
    s.well_until("prepareVerify");
    let failed = RunEnd {
        last_words: Some("no network".into()),
        ..RunEnd::new(exit(1))
    };
    s.answer("prepareVerify", verify_ready());
    let setup = s.pending("setup").unwrap();
    s.run_over(setup, failed);
}

#[test]
fn a_setup_that_fails_on_the_merged_tree_is_repeated_and_then_asks_a_person() {
    let mut s = complete();
    let mut waits = Vec::new();
    for failures in 1..=4 {
        fails_on_the_merged_tree(&mut s);
        assert_eq!(s.entry(1).setup_failures, failures);
        let person = s.entry(1).waits.as_ref().unwrap().person;
        assert_eq!(person, failures > 2, "{failures}");
        let rest = if person {
            Rest::NeedsPerson
        } else {
            Rest::Busy
        };
        assert_eq!(view::rest(&s.state), rest);
        let before = s.now;
        s.wait_for_deadline();
        waits.push(s.now.since(before) / 1_000);
    }
    assert_eq!(waits, [10, 60, 600, 600]);
    let attempt = s.attempt(1);
    let cost = (attempt.iteration, attempt.returns);
    assert_eq!(cost, (1, 0), "the work is not returned");
    assert_eq!(s.state.swarm.phase, SwarmPhase::Running);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_person_who_fixed_the_cause_has_the_setup_of_the_merged_tree_repeated_at_once() {
    let mut s = complete();
    for _ in 0..3 {
        fails_on_the_merged_tree(&mut s);
        if s.entry(1).setup_failures < 3 {
            s.wait_for_deadline();
        }
    }
    let need = &view::needs_you(&s.state)[0];
    let expected = "the merge of idea-001 is waiting: the setup command `install` fails on the \
        merged tree (exit code 1): no network. It failed 3 times in a row and is repeated every 10 \
        min. The work stays as it is, and no iteration is spent. All output: \
        .git/swarm/runs/r0006-idea-001-s1/. Fix the cause, or change worktree.setup in \
        .swarm/config.json";
    assert_eq!(need.message, expected);
    assert_eq!(need.commands[0], "swarm merge retry idea-001");
    let id = IdeaId::numbered(1);
    s.command(Command::RetryMerge { id });
    fails_on_the_merged_tree(&mut s);
    assert_eq!(s.entry(1).setup_failures, 1, "it counts anew");
    s.wait_for_deadline().all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn the_untouched_target_is_set_up_before_it_is_checked() {
    let mut s = Scenario::with(|settings| {
        install(settings);
        settings.baseline = BaselineMode::Require;
    });
    let ready = |commit| BaselineReady {
        commit: oid(commit),
        warm: true,
        setup: with_key("key"),
        probe: None,
    };
    s.add("one").answer("prepareBaseline", ready(1));
    s.check(exit(1));
    let need = &view::needs_you(&s.state)[0];
    assert!(
        need.message
            .contains("the setup command `install` fails on main"),
        "{}",
        need.message
    );
    s.wait_for_deadline().answer("prepareBaseline", ready(1));
    s.check(exit(0));
    assert!(s.pending("baseline").is_some());
    s.check(exit(0));
    assert!(s.state.swarm.baseline.green && s.pending("prepareWorktree").is_some());
    // It is part of what has passed.
    s.load(|settings| settings.setup = vec!["other".into()]);
    assert!(s.state.swarm.baseline.passed.is_empty() && s.state.setups.is_empty());
}

#[test]
fn a_file_that_is_not_copied_is_a_standing_warning() {
    let mut s = Scenario::running();
    let missing = TreeSetup {
        key: None,
        not_copied: vec!["`.env` does not exist".into()],
    };
    s.add("one").answer(
        "prepareWorktree",
        WorktreePrepared {
            setup: missing,
            ..prepared()
        },
    );
    assert!(s.pending("iteration").is_some());
    assert_eq!(
        s.state.warnings["worktree-copy"].message,
        "`.env` does not exist"
    );
    s.add("two").answer("prepareWorktree", prepared());
    assert!(s.state.warnings.is_empty());
}
