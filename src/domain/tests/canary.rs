//! The probe of the quality commands: whether they see the tree that they check.

use crate::domain::event::{Findings, ProbeAlarm};
use crate::domain::ids::RunId;
use crate::domain::lifecycle::MergePhase;
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::outcome::{BaselineReady, VerifyReady};
use crate::domain::settings::{BaselineMode, CanaryMode, Settings};
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, oid, outcomes};
use crate::view::{self, Outside, Rest};

fn required(settings: &mut Settings) {
    settings.baseline = BaselineMode::Require;
    settings.canary = CanaryMode::Require;
}

/// The target has passed, and its checks are probed.
fn probing_with(change: impl FnOnce(&mut Settings)) -> Scenario {
    let mut s = Scenario::with(change);
    s.add("one").goes_well("prepareBaseline").check(exit(0));
    assert!(s.pending("canary").is_some());
    s.quietly();
    s
}

fn probing() -> Scenario {
    probing_with(required)
}

/// The idea is finished while the checks are probed.
fn finished(s: &mut Scenario) {
    s.goes_well("prepareWorktree")
        .completes(&agent(1))
        .goes_well("seal");
    let gate = s.attempt(1).run.clone().unwrap();
    s.run_ends(&gate, exit(0));
    assert_eq!(s.entry(1).phase, MergePhase::Queued);
}

fn found(blind: &[&str]) -> RunEnd {
    let alarm = |command: &&str| ProbeAlarm {
        command: Some((*command).to_owned()),
        message: format!("`{command}` passes although all 2 source files are garbage"),
        remedies: vec![format!(
            "if this is meant: swarm checks accept-blind '{command}' --why '...'"
        )],
    };
    let found = Findings {
        source_files: 2,
        alarms: blind.iter().map(alarm).collect(),
        notes: vec![],
    };
    RunEnd {
        probe: Some(Box::new(found)),
        ..RunEnd::new(exit(0))
    }
}

/// Finished work waits, because its check is blind.
fn blind() -> Scenario {
    let mut s = probing();
    finished(&mut s);
    s.answer("canary", found(&["check"]));
    s
}

/// The run of the target's check.
fn check_run(s: &Scenario) -> RunId {
    let check = s.state.swarm.baseline.checking.clone().unwrap();
    check.run.unwrap()
}

fn lands(s: &Scenario) -> bool {
    s.pending("buildMerge").is_some()
}

#[test]
fn the_first_idea_does_not_wait_for_the_probe_but_its_landing_does() {
    let mut s = probing();
    assert_eq!(s.idea(1).status, IdeaStatus::Active);
    finished(&mut s);
    assert!(!lands(&s));
    assert_eq!(view::rest(&s.state), Rest::Busy);
    let reason = view::merges(&s.state)[0].reason.clone().unwrap();
    assert!(reason.contains("finding out"), "{reason}");
    s.answer("canary", found(&[]));
    assert!(lands(&s));
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn the_checks_are_probed_once() {
    let mut s = probing();
    s.all_goes_well();
    s.restart();
    s.add("two").well_until("iteration");
    assert!(s.pending("canary").is_none());
    s.all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
}

#[test]
fn while_a_check_is_blind_no_idea_begins_and_nothing_lands() {
    let mut s = blind();
    s.add("two");
    assert!(!lands(&s) && s.idea(2).status == IdeaStatus::Pending);
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    let needs = view::needs_you(&s.state);
    assert_eq!((needs.len(), needs[0].kind), (1, "environment"));
    let expected = "`check` passes although all 2 source files are garbage. Until that is mended, \
        no idea begins and nothing lands";
    assert_eq!(needs[0].message, expected);
    let commands = [
        "swarm checks accept-blind 'check' --why '...'   # if this is meant",
        "swarm resume   # after another fix: probes again at once",
        "swarm config set checks.canary warn   # to be only warned",
    ];
    assert_eq!(needs[0].commands, commands);
}

#[test]
fn a_person_who_accepts_a_blind_check_lets_work_land() {
    let mut s = blind();
    let accepted = |command: &str| Observation::BlindAccepted {
        commands: vec![command.to_owned()],
    };
    s.when(accepted("lint"));
    assert!(!lands(&s));
    s.when(accepted("check"));
    assert!(lands(&s) && view::needs_you(&s.state).is_empty());
}

#[test]
fn other_commands_or_a_resume_have_the_checks_probed_again() {
    let changed: fn(&mut Scenario) = |s| {
        s.load(|settings| settings.quality_commands = vec!["test".into()]);
        s.goes_well("prepareBaseline").check(exit(0));
    };
    let resumed: fn(&mut Scenario) = |s| {
        s.command(Command::Resume).goes_well("prepareBaseline");
    };
    let moved: fn(&mut Scenario) = |s| {
        s.when(Observation::TargetAt { commit: oid(2) });
        s.goes_well("prepareBaseline");
    };
    let restarted: fn(&mut Scenario) = |s| {
        s.restart().goes_well("prepareBaseline");
    };
    for again in [changed, resumed, moved, restarted] {
        let mut s = blind();
        again(&mut s);
        assert!(!lands(&s));
        s.answer("canary", found(&[]));
        // Another gate judges the work again.
        s.all_goes_well();
        assert_eq!(s.idea(1).status, IdeaStatus::Done);
    }
}

#[test]
fn a_landing_with_other_manifests_has_the_checks_probed_again() {
    let mut s = probing();
    s.answer("canary", found(&[]));
    s.well_until("prepareVerify");
    let ready = VerifyReady {
        probe: Some("other".into()),
        ..outcomes::verify_ready()
    };
    s.answer("prepareVerify", ready)
        .check(exit(0))
        .goes_well("land");
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    s.add("two").goes_well("prepareBaseline");
    assert!(s.pending("canary").is_some());
}

#[test]
fn a_probe_without_a_verdict_is_a_warning_and_holds_nothing_up() {
    for how in [
        RunEndKind::TimedOut,
        exit(1),
        RunEndKind::Signalled { signal: 9 },
        exit(0),
    ] {
        let mut s = probing();
        finished(&mut s);
        s.answer("canary", RunEnd::new(how));
        assert!(lands(&s) && view::needs_you(&s.state).is_empty());
        let status = view::status(&s.state, Outside::default());
        let warned = status.warnings.iter().find(|it| it.kind == "checks");
        assert!(warned.unwrap().message.contains("could not be probed"));
    }
}

#[test]
fn a_setup_that_fails_only_for_the_probe_holds_nothing_up() {
    let mut s = Scenario::with(|settings| {
        required(settings);
        settings.baseline = BaselineMode::Off;
        settings.setup = vec!["npm ci".into()];
    });
    s.add("one").answer(
        "prepareBaseline",
        BaselineReady {
            commit: oid(1),
            warm: false,
            setup: outcomes::tree_setup(),
            probe: Some("digest".into()),
        },
    );
    let run = check_run(&s);
    s.run_ends(&run, exit(1));
    assert!(!s.state.holds_landings() && s.state.swarm.baseline.failed.is_none());
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_target_that_nobody_checks_is_probed_all_the_same() {
    let mut s = Scenario::with(|settings| settings.canary = CanaryMode::Require);
    s.add("one").goes_well("prepareBaseline");
    assert!(s.pending("canary").is_some() && s.pending("prepareWorktree").is_some());
}

#[test]
fn if_people_are_only_warned_landings_do_not_wait() {
    let mut s = probing_with(|settings| {
        required(settings);
        settings.canary = CanaryMode::Warn;
    });
    finished(&mut s);
    s.answer("canary", found(&["check"]));
    assert!(lands(&s) && view::needs_you(&s.state).is_empty());
    let warnings = view::status(&s.state, Outside::default()).warnings;
    assert!(
        warnings
            .iter()
            .any(|it| it.message.contains("`check` passes"))
    );
    // A landing goes before another probe.
    s.load(|settings| settings.quality_commands = vec!["test".into()]);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn nothing_is_probed_if_it_is_turned_off() {
    let mut s = probing();
    finished(&mut s);
    s.load(|settings| settings.canary = CanaryMode::Off);
    assert!(s.pending("stopRun").is_some(), "the probe goes on");
    s.stop_delivered().check(RunEndKind::Stopped);
    assert!(lands(&s) && s.pending("canary").is_none());
}

#[test]
fn a_probe_that_is_lost_starts_over_and_one_that_lives_is_adopted() {
    let mut s = probing();
    let run = check_run(&s);
    s.restart();
    assert_eq!(check_run(&s), run);
    s.check(RunEndKind::Lost).goes_well("prepareBaseline");
    assert!(s.pending("canary").is_some());
    assert_ne!(check_run(&s), run);
}

#[test]
fn a_probe_that_is_lost_again_and_again_holds_nothing_up() {
    let mut s = probing();
    finished(&mut s);
    for _ in 0..10 {
        if s.pending("canary").is_some() {
            s.check(RunEndKind::Lost);
        }
        if s.pending("prepareBaseline").is_some() {
            s.goes_well("prepareBaseline");
        }
    }
    let probed = s.state.swarm.baseline.probed.clone().unwrap();
    assert!(probed.found.is_open() && lands(&s), "{probed:?}");
}

#[test]
fn a_resume_probes_again_where_nothing_was_found_out() {
    let mut s = probing();
    s.check(RunEndKind::TimedOut);
    assert!(s.state.swarm.baseline.probed.is_some());
    s.command(Command::Resume);
    assert!(s.state.is_probe_due());
}

#[test]
fn a_shutdown_does_not_wait_for_the_probe() {
    let mut s = probing();
    s.command(Command::Shutdown { keep_agents: false });
    let run = check_run(&s);
    assert!(s.state.stops.contains_key(&run));
}

#[test]
fn what_mends_a_red_target_lands_unprobed() {
    let mut s = probing();
    finished(&mut s);
    s.check(RunEndKind::Lost);
    let broken = BaselineReady {
        commit: oid(2),
        warm: true,
        setup: outcomes::tree_setup(),
        probe: Some("digest".into()),
    };
    s.answer("prepareBaseline", broken).check(exit(1));
    assert!(s.state.red_baseline().is_some() && lands(&s));
}
