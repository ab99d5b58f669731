//! Quality commands that run side by side: how many at once, and what happens when they collide.

use crate::domain::effect::Purpose;
use crate::domain::ids::RunId;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::{Host, Observation, RunEnd};
use crate::domain::settings::Settings;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, outcomes};
use crate::domain::warning::WarningKind;
use crate::view;

fn auto(settings: &mut Settings) {
    settings.max_checks = None;
}

/// On a machine with 4 cores, so many agents are at work and say COMPLETE one after the other.
fn completed(count: u64, change: impl FnOnce(&mut Settings)) -> Scenario {
    let mut s = Scenario::with(|settings| {
        settings.max_parallel = 4;
        change(settings);
    });
    s.when(Observation::DaemonStarted {
        version: "1.0.0".into(),
        counters: None,
        host: Some(Host {
            cores: 4,
            ..Host::default()
        }),
    })
    .when(Observation::RecoveryDone);
    for number in 1..=count {
        s.add(&format!("idea {number}"));
    }
    for _ in 0..count {
        s.answer("prepareWorktree", outcomes::prepared());
    }
    for number in 1..=count {
        s.completes(&agent(number)).goes_well("seal");
    }
    s
}

/// The agents whose checks run.
fn checked(s: &Scenario) -> Vec<u64> {
    let runs = (1..=4).filter(|number| check_of(s, *number).is_some());
    runs.collect()
}

fn check_of(s: &Scenario, number: u64) -> Option<RunId> {
    let of_agent = agent(number);
    let mut checks = s.state.checks_under_way();
    let found = checks.find(|(_, purpose)| match purpose {
        Purpose::Gate { agent, .. } => *agent == of_agent,
        _ => false,
    });
    found.map(|(run, _)| run.clone())
}

fn ends(s: &mut Scenario, run: &RunId, end: RunEnd) {
    let (effect, _) = s.state.run_effect(run).unwrap();
    s.run_over(effect, end);
}

/// The agent's check passes after a minute in which it kept one core busy.
fn passes_after_a_minute(s: &mut Scenario, number: u64) {
    let run = check_of(s, number).expect("its check does not run");
    let end = RunEnd {
        duration_ms: 60_000,
        cpu_ms: Some(60_000),
        ..RunEnd::new(exit(0))
    };
    ends(s, &run, end);
}

/// A check fails because its port is in use.
fn collides(s: &mut Scenario, run: &RunId) {
    let end = RunEnd {
        in_use: true,
        ..RunEnd::new(exit(1))
    };
    ends(s, run, end);
}

fn reason(s: &Scenario, number: u64) -> Option<String> {
    view::agent(&s.state, &agent(number)).unwrap().reason
}

fn is_charged(s: &Scenario) -> bool {
    let mut log = s.log.iter();
    log.any(|(_, event)| matches!(event.kind(), "gateFailed" | "gateDoubted" | "mergeReturned"))
}

#[test]
fn short_checks_of_agents_run_one_at_a_time_and_the_others_are_shown_as_waiting() {
    let mut s = completed(3, auto);
    assert_eq!(checked(&s), [1]);
    assert_eq!(reason(&s, 1), None);
    let why = "its check waits for another check to end (checks.maxParallel)";
    assert_eq!(reason(&s, 2).as_deref(), Some(why));
    assert_eq!(view::rest(&s.state), view::Rest::Busy);
    let run = check_of(&s, 1).unwrap();
    s.run_ends(&run, exit(0));
    assert_eq!(checked(&s), [2]);
    s.all_goes_well();
    assert_eq!(s.state.ideas.count(IdeaStatus::Done), 3);
}

#[test]
fn a_number_is_how_many_checks_of_agents_run_at_once() {
    let s = completed(4, |settings| settings.max_checks = Some(3));
    assert_eq!(checked(&s), [1, 2, 3]);
}

#[test]
fn long_checks_run_side_by_side_as_the_cores_allow() {
    let mut s = completed(4, auto);
    passes_after_a_minute(&mut s, 1);
    assert_eq!(
        checked(&s),
        [2, 3, 4],
        "four checks that need one core each"
    );
}

#[test]
fn the_check_of_a_merge_waits_for_no_agent() {
    let mut s = completed(2, auto);
    let run = check_of(&s, 1).unwrap();
    s.run_ends(&run, exit(0));
    s.answer("buildMerge", outcomes::built(5, 1))
        .goes_well("prepareVerify");
    assert_eq!(checked(&s), [2]);
    let mut checks = s.state.checks_under_way();
    assert!(checks.any(|(_, purpose)| matches!(purpose, Purpose::Verify { .. })));
}

#[test]
fn a_restart_counts_the_checks_that_still_run() {
    let mut s = completed(3, |settings| settings.max_checks = Some(2));
    s.restart();
    assert_eq!(checked(&s), [1, 2]);
}

#[test]
fn a_check_that_collides_with_another_one_charges_nobody_and_runs_again_alone() {
    let mut s = completed(4, |settings| settings.max_checks = Some(3));
    let run = check_of(&s, 2).unwrap();
    collides(&mut s, &run);
    assert_eq!(s.attempt(2).phase, AttemptPhase::Gating);
    assert_eq!(
        checked(&s),
        [1, 3],
        "it waits for them, and the fourth for it"
    );
    for number in [1, 3] {
        assert_eq!(s.state.warnings.len(), 1);
        let run = check_of(&s, number).unwrap();
        s.run_ends(&run, exit(0));
        if number == 1 {
            assert_eq!(checked(&s), [3]);
        }
    }
    // The check of the merge that has begun by now is a check, too.
    s.answer("buildMerge", outcomes::built(5, 1))
        .goes_well("prepareVerify");
    let alone = check_of(&s, 2).into_iter().chain(check_of(&s, 4)).count();
    assert!(alone <= 1, "{:?}", checked(&s));
    s.all_goes_well();
    assert_eq!(s.state.ideas.count(IdeaStatus::Done), 4);
    assert!(!is_charged(&s));
}

#[test]
fn a_collision_is_said_once_and_checks_run_one_at_a_time_from_then_on() {
    let mut s = completed(4, auto);
    passes_after_a_minute(&mut s, 1);
    let run = check_of(&s, 2).unwrap();
    collides(&mut s, &run);
    let run = check_of(&s, 3).unwrap();
    collides(&mut s, &run);
    let key = WarningKind::Collision.only();
    let raised = s
        .log
        .iter()
        .filter(|(_, event)| event.kind() == "warningRaised");
    assert_eq!(raised.count(), 1);
    let message = &s.state.warnings[key].message;
    assert!(message.contains("SWARM_SLOT") && message.contains("SWARM_PORT_BASE"));
    passes_after_a_minute(&mut s, 4);
    assert_eq!(checked(&s).len(), 1);
    // A person may have told the checks apart.
    s.load(|settings| settings.max_parallel = 3);
    assert!(!s.state.warnings.contains_key(key));
}

#[test]
fn a_port_in_use_without_another_check_is_a_failure_like_any_other() {
    let mut s = completed(1, auto);
    let run = check_of(&s, 1).unwrap();
    collides(&mut s, &run);
    assert!(is_charged(&s));
    assert!(s.state.warnings.is_empty());
}

/// A check fails because another program holds this port of its worktree.
fn meets_a_held_port(s: &mut Scenario, run: &RunId, port: u16) {
    let end = RunEnd {
        in_use: true,
        held_port: Some(port),
        ..RunEnd::new(exit(1))
    };
    ends(s, run, end);
}

#[test]
fn a_port_that_another_program_holds_charges_nobody_and_is_said_once() {
    let mut s = completed(1, auto);
    for _ in 0..2 {
        let run = check_of(&s, 1).expect("it runs again at once");
        meets_a_held_port(&mut s, &run, 20_023);
    }
    assert!(!is_charged(&s) && !s.state.have_checks_collided());
    let warnings: Vec<&str> = s
        .state
        .warnings
        .values()
        .map(|it| it.message.as_str())
        .collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("port 20023 of the worktree w01 is held"),
        "{warnings:?}"
    );
    s.restart();
    assert!(
        s.state.warnings.is_empty(),
        "each worktree has its own ports again"
    );
    let run = check_of(&s, 1).unwrap();
    collides(&mut s, &run);
    assert!(is_charged(&s), "its new ports are free");
}

#[test]
fn a_worktree_with_other_ports_is_set_up_again_before_its_check() {
    let mut s = completed(1, auto);
    s.load(|settings| settings.setup = vec!["install".into()]);
    let run = check_of(&s, 1).unwrap();
    meets_a_held_port(&mut s, &run, 20_023);
    assert!(check_of(&s, 1).is_none());
    s.goes_well("setup");
    assert!(check_of(&s, 1).is_some());
}

#[test]
fn the_check_of_a_merge_that_meets_a_held_port_runs_again() {
    let mut s = completed(1, auto);
    let run = check_of(&s, 1).unwrap();
    s.run_ends(&run, exit(0));
    s.answer("buildMerge", outcomes::built(5, 1))
        .goes_well("prepareVerify");
    let verify = s.state.checks_under_way().next().unwrap().0.clone();
    meets_a_held_port(&mut s, &verify, 21_303);
    assert!(!is_charged(&s));
    let told = s
        .log
        .iter()
        .map(|(_, event)| view::describe::describe(event));
    assert_eq!(
        told.filter(|line| line.contains("it runs again")).count(),
        1
    );
    s.all_goes_well();
    assert_eq!(s.state.ideas.count(IdeaStatus::Done), 1);
}

#[test]
fn a_collision_names_the_configured_number_of_checks() {
    let mut s = completed(2, |settings| settings.max_checks = Some(2));
    let run = check_of(&s, 2).unwrap();
    collides(&mut s, &run);
    let message = &s.state.warnings[WarningKind::Collision.only()].message;
    assert!(message.contains("checks.maxParallel is 2"), "{message}");
}

#[test]
fn a_merge_whose_check_collides_is_not_returned() {
    let mut s = completed(2, auto);
    let run = check_of(&s, 1).unwrap();
    s.run_ends(&run, exit(0));
    s.answer("buildMerge", outcomes::built(5, 1))
        .goes_well("prepareVerify");
    let mut checks = s.state.checks_under_way();
    let verify = checks.find(|(_, purpose)| matches!(purpose, Purpose::Verify { .. }));
    let verify = verify.unwrap().0.clone();
    drop(checks);
    collides(&mut s, &verify);
    assert!(s.state.have_checks_collided());
    s.all_goes_well();
    assert_eq!(s.state.ideas.count(IdeaStatus::Done), 2);
    assert!(!is_charged(&s));
}
