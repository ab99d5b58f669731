//! Each iteration owes a provenance record until it is written, and nothing waits for one.

use crate::domain::event::{Event, IterationRecorded};
use crate::domain::ids::RunId;
use crate::domain::observation::{Observation, Recorded, RunEnd};
use crate::domain::retention::{Need, Needs, Verdict};
use crate::domain::state::Said;
use crate::domain::testkit::scenario::{Scenario, exit};
use crate::domain::testkit::{agent, idea, oid};
use crate::domain::time::Timestamp;

/// The first agent works on its idea.
fn working(keeps: bool) -> Scenario {
    let mut s = Scenario::with(|settings| {
        settings.keep_records = keeps;
        settings.quality_commands = vec!["make test".into()];
    });
    s.add("one").well_until("iteration").quietly();
    s
}

fn due(s: &Scenario) -> Option<RunId> {
    s.state.record_due().map(|(run, _)| run.clone())
}

fn owed(s: &Scenario) -> Vec<RunId> {
    s.state.records.owed.keys().cloned().collect()
}

fn recorded(run: &RunId) -> Observation {
    Observation::IterationRecorded {
        run: run.clone(),
        recorded: Ok(Recorded {
            sha256: "5".repeat(64),
            tree: Some(oid(4)),
            model: None,
        }),
    }
}

#[test]
fn an_iteration_owes_its_record_once_its_work_is_judged_and_until_it_is_written() {
    let mut s = working(true);
    assert!(owed(&s).is_empty());
    s.completes(&agent(1)).well_until("gate");
    let run = owed(&s)[0].clone();
    assert_eq!(due(&s), None, "the gate judges it still");
    s.goes_well("gate");
    assert_eq!(due(&s), Some(run.clone()));
    let record = &s.state.records.owed[&run];
    assert_eq!(
        (&record.agent, &record.idea, record.iteration),
        (&agent(1), &idea(1), 1)
    );
    assert_eq!(record.said, Some(Said::Complete));
    let [gate] = &record.gate[..] else {
        panic!("{:?}", record.gate)
    };
    assert_eq!(
        (gate.command.as_str(), gate.passed),
        ("make test", Some(true))
    );
    s.when(recorded(&run));
    assert!(owed(&s).is_empty());
    let before = s.state.seq;
    s.when(recorded(&run));
    assert_eq!(s.state.seq, before, "it is recorded once");
}

#[test]
fn a_failed_check_is_in_the_record_of_the_iteration_that_it_judged() {
    let mut s = working(true);
    s.completes(&agent(1)).well_until("gate");
    let gate = s.pending("gate").unwrap();
    s.run_over(gate, RunEnd::new(exit(1)));
    let run = due(&s).expect("the gate is over");
    let gate = &s.state.records.owed[&run].gate;
    assert_eq!(gate.len(), 1);
    assert_eq!(
        (gate[0].passed, gate[0].how.as_deref()),
        (Some(false), Some("exit code 1"))
    );
}

#[test]
fn what_is_never_recorded_says_why_and_is_owed_no_more() {
    let mut s = working(true);
    let iteration = s.pending("iteration").unwrap();
    s.run_over(iteration, RunEnd::new(exit(0)));
    let run = due(&s).unwrap();
    s.when(Observation::IterationRecorded {
        run: run.clone(),
        recorded: Err("its directory is gone".into()),
    });
    let why = s.log.iter().find_map(|(_, event)| match event {
        Event::IterationRecorded(IterationRecorded { why, .. }) => why.as_deref(),
        _ => None,
    });
    assert_eq!(why, Some("its directory is gone"));
    assert!(owed(&s).is_empty());
}

#[test]
fn where_records_are_off_or_an_agent_never_ran_none_is_owed() {
    let mut s = working(false);
    let iteration = s.pending("iteration").unwrap();
    s.run_over(iteration, RunEnd::new(exit(0)));
    assert!(owed(&s).is_empty());
}

#[test]
fn a_run_without_its_record_is_not_cleaned_away() {
    let mut s = working(true);
    s.completes(&agent(1)).all_goes_well();
    let run = owed(&s)[0].clone();
    let in_use = Verdict::Needed(Need::InUse);
    assert_eq!(Needs::of(&s.state).run(&run), in_use);
    let gate = s.state.records.owed[&run].gate[0].run.clone();
    assert_eq!(Needs::of(&s.state).run(&gate), in_use);
    s.when(recorded(&run));
    assert_ne!(Needs::of(&s.state).run(&run), in_use);
}

#[test]
fn records_expire_once_and_never_come_back() {
    let mut s = working(true);
    let at = Timestamp::from_millis(1_000);
    s.when(Observation::RecordsOld { before: at });
    assert_eq!(s.state.records.expired_before, Some(at));
    let seq = s.state.seq;
    s.when(Observation::RecordsOld { before: at });
    let earlier = Timestamp::from_millis(999);
    s.when(Observation::RecordsOld { before: earlier });
    assert_eq!(s.state.seq, seq);
}
