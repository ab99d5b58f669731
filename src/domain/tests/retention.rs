//! Which runs are needed, told as stories.

use crate::domain::ids::RunId;
use crate::domain::observation::RunEndKind;
use crate::domain::operation::Command;
use crate::domain::retention::{Need, Needs, Verdict, is_old};
use crate::domain::signal::Signal;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea};
use crate::domain::time::Timestamp;

const DAY: i64 = 86_400_000;

fn run(name: &str) -> RunId {
    name.parse().unwrap()
}

fn verdict(s: &Scenario, name: &str) -> Verdict {
    Needs::of(&s.state).run(&run(name))
}

/// All runs that the log ever asked for.
fn all_runs(s: &Scenario) -> Vec<RunId> {
    use crate::domain::event::{Event, GateStarted, IterationStarted, VerifyStarted};
    let mut runs = Vec::new();
    for (_, event) in &s.log {
        match event {
            Event::IterationStarted(IterationStarted { run, .. })
            | Event::GateStarted(GateStarted { run, .. })
            | Event::VerifyStarted(VerifyStarted { run, .. }) => runs.push(run.clone()),
            _ => {}
        }
    }
    runs
}

#[test]
fn runs_of_a_landed_idea_are_over_since_its_attempt_ended() {
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    let ended = s.state.ended[&agent(1)].ended_at;
    assert_eq!(all_runs(&s).len(), 3);
    assert_eq!(verdict(&s, "r0001-ed-001-i1"), Verdict::Over(Some(ended)));
    assert_eq!(verdict(&s, "r0002-ed-001-q1"), Verdict::Over(Some(ended)));
    // The state does not remember it; its own record says when it ended.
    assert_eq!(verdict(&s, "r0003-idea-001-v1"), Verdict::Over(None));
}

#[test]
fn every_run_is_needed_until_its_idea_is_done() {
    let mut s = Scenario::running();
    s.add("one");
    for name in ["iteration", "seal", "gate", "buildMerge", "verify", "land"] {
        if s.pending(name).is_none() {
            let before = s.state.seq;
            s.well_until(name);
            assert!(s.state.seq > before);
        }
        for run in all_runs(&s) {
            let verdict = Needs::of(&s.state).run(&run);
            assert!(matches!(verdict, Verdict::Needed(_)), "{name}: {run}");
        }
        s.restart();
    }
}

#[test]
fn a_run_that_lives_or_is_to_be_stopped_is_in_use() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    let live = "r0001-ed-001-i1";
    assert_eq!(verdict(&s, live), Verdict::Needed(Need::InUse));
    s.command(Command::CancelIdea { id: idea(1) });
    assert_eq!(verdict(&s, live), Verdict::Needed(Need::InUse));
    s.run_ends(&run(live), RunEndKind::Stopped).all_goes_well();
    assert!(matches!(verdict(&s, live), Verdict::Over(Some(_))));
}

#[test]
fn runs_of_ideas_that_may_be_retried_are_needed() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    s.iteration(&agent(1), exit(0)).well_until("iteration");
    s.says(&agent(1), Signal::Blocked(Some("no key".into())));
    s.iteration(&agent(1), exit(0)).all_goes_well();
    assert!(s.state.ended.contains_key(&agent(1)), "the attempt is over");
    // The last one is named by what is kept, the first one by nothing but its attempt.
    let (first, last) = ("r0001-ed-001-i1", "r0002-ed-001-i2");
    for run in [first, last] {
        let needed = Verdict::Needed(Need::Unfinished);
        assert_eq!(verdict(&s, run), needed, "{run}");
    }
    s.command(Command::CancelIdea { id: idea(1) });
    s.all_goes_well();
    let given_up = s.idea(1).kept.is_none();
    assert_eq!(matches!(verdict(&s, first), Verdict::Over(_)), given_up);
}

#[test]
fn runs_before_a_crash_are_needed_until_the_idea_lands() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    s.iteration(&agent(1), RunEndKind::Lost);
    let crashed = "r0001-ed-001-i1";
    assert_eq!(verdict(&s, crashed), Verdict::Needed(Need::Unfinished));
    s.wait(DAY).well_until("iteration");
    assert_eq!(verdict(&s, crashed), Verdict::Needed(Need::Unfinished));
    s.all_goes_well();
    assert!(matches!(verdict(&s, crashed), Verdict::Over(Some(_))));
}

#[test]
fn unknown_runs_are_needed() {
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    let unknown = Verdict::Needed(Need::Unknown);
    for name in [
        "r0004-ed-001-i2",
        "r0002-finn-009-i1",
        "r0002-idea-002-v1",
        "r0002",
        "rx-ed-001-i1",
        "notes",
        "9-ed-001-i1",
    ] {
        assert_eq!(verdict(&s, name), unknown, "{name}");
    }
    let cut = format!("r0002-{}", "e".repeat(58));
    assert_eq!(verdict(&s, &cut), unknown, "its end is cut off");
    let needs = Needs::of(&s.state);
    assert_eq!(needs.attempt("ed-009-idea-001"), unknown);
}

#[test]
fn a_forgotten_iteration_belongs_to_the_agent_in_its_name() {
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    s.add("two").well_until("iteration");
    s.state.counters.runs = 500;
    assert_eq!(verdict(&s, "r0400-ed-001-i200"), Verdict::Over(None));
    let living = Verdict::Needed(Need::Unfinished);
    assert_eq!(verdict(&s, "r0400-ed-002-i200"), living);
    assert_eq!(verdict(&s, "r0400-idea-002-v1"), living);
}

#[test]
fn what_is_kept_of_an_attempt_is_needed_until_its_release_is_over() {
    let mut s = Scenario::running();
    s.add("one").well_until("releaseWorktree");
    let name = "ed-001-idea-001".to_owned();
    let in_use = Verdict::Needed(Need::InUse);
    assert_eq!(Needs::of(&s.state).attempt(&name), in_use);
    s.all_goes_well();
    let ended = s.state.ended[&agent(1)].ended_at;
    let over = Verdict::Over(Some(ended));
    assert_eq!(Needs::of(&s.state).attempt(&name), over);
}

#[test]
fn only_whole_days_count_towards_age() {
    let at = Timestamp::from_millis;
    assert!(is_old(at(0), at(0), 0));
    assert!(!is_old(at(1), at(0), 0), "the clock went back");
    assert!(!is_old(at(0), at(30 * DAY - 1), 30));
    assert!(is_old(at(0), at(30 * DAY), 30));
}
