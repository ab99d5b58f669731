//! Nobody's fault: a program that cannot begin, a refused login, an account without credit.

use super::provider::{accounts, add_for, answers, blamed, over, run_of, working};
use crate::domain::attention;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::state::IdeaStatus;
use crate::domain::state::provider::{Hold, HoldKind};
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, profile};
use crate::domain::verdict::{Cause, Verdict};
use crate::view::{self, Rest};

fn missing() -> RunEnd {
    RunEnd::new(RunEndKind::NotStarted {
        message: "the agent's program `claude` is not on PATH".into(),
    })
}

fn hold_of(s: &Scenario) -> &Hold {
    &s.state.profiles[&profile("ed")]
}

/// The waits between so many tries that end like this.
fn waits(s: &mut Scenario, end: &RunEnd, count: usize) -> Vec<i64> {
    (0..count)
        .map(|_| {
            over(s, 1, end.clone());
            let mut holds = s.state.accounts.values().chain(s.state.profiles.values());
            let wait = holds.next().unwrap().until.unwrap().since(s.now);
            s.wait_for_deadline();
            wait
        })
        .collect()
}

#[test]
fn a_program_that_is_away_is_tried_again_and_charged_to_nobody() {
    let mut s = working(1);
    let tries = waits(&mut s, &missing(), 5);
    assert_eq!(tries, [2_000, 10_000, 60_000, 300_000, 300_000]);
    assert_eq!(s.attempt(1).counted_iterations(), 1);
    assert_eq!(s.attempt(1).spent_ms, 0);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!((s.idea(1).failed_attempts, s.idea(1).retry_count), (0, 0));
    assert_eq!(s.state.swarm.failures_in_a_row, 0);
    assert!(s.state.profiles.is_empty());
}

#[test]
fn one_run_tries_a_program_that_could_not_begin_while_the_others_wait() {
    let mut s = working(2);
    over(&mut s, 1, missing());
    over(&mut s, 2, missing());
    assert_eq!(hold_of(&s).times, 1);
    s.add("three");
    assert_eq!(s.idea(3).status, IdeaStatus::Pending);
    add_for(&mut s, "four", "finn");
    s.well_until("iteration");
    assert_eq!(
        run_of(&s, 4).0.as_str(),
        "finn-003",
        "another profile goes on"
    );
    s.wait(2_000);
    let (_, run) = run_of(&s, 1);
    assert_eq!(hold_of(&s).tried_by, Some(run));
    answers(&mut s, 1);
    assert!(s.state.profiles.is_empty());
    s.all_goes_well();
    assert!((1..=4).all(|number| s.idea(number).status == IdeaStatus::Done));
}

#[test]
fn only_an_exit_at_the_launch_says_that_a_command_cannot_be_executed() {
    let nothing_ran = RunEnd {
        duration_ms: 20,
        last_words: Some("env: node: No such file or directory".into()),
        ..RunEnd::new(exit(127))
    };
    for code in [126, 127] {
        let mut s = working(1);
        let how = exit(code);
        over(
            &mut s,
            1,
            RunEnd {
                how,
                ..nothing_ran.clone()
            },
        );
        let said = format!("env: node: No such file or directory (exit code {code})");
        assert_eq!(hold_of(&s).message, said);
        assert_eq!(s.idea(1).status, IdeaStatus::Active);
    }
    let said_something = RunEnd {
        stdout_bytes: 1,
        ..nothing_ran.clone()
    };
    let took_long = RunEnd {
        duration_ms: 60_000,
        ..nothing_ran
    };
    for end in [said_something, took_long] {
        let mut s = working(1);
        over(&mut s, 1, end);
        assert_eq!(s.idea(1).status, IdeaStatus::Failed);
        assert!(s.state.profiles.is_empty());
    }
}

#[test]
fn a_model_that_the_program_does_not_know_holds_the_profile_and_not_its_account() {
    let mut s = working(1);
    over(&mut s, 1, blamed(Cause::Profile));
    assert_eq!(hold_of(&s).kind, HoldKind::Profile);
    assert!(s.state.accounts.is_empty());
    assert_eq!(s.idea(1).status, IdeaStatus::Active);
    // Someone corrects the model.
    s.load(|settings| {
        accounts(settings);
        settings.max_iterations += 1;
    });
    assert!(s.state.profiles.is_empty());
}

#[test]
fn a_try_that_meets_a_limit_has_begun() {
    let mut s = working(1);
    over(&mut s, 1, missing());
    s.wait_for_deadline();
    over(&mut s, 1, blamed(Cause::Limit { until: None }));
    assert!(s.state.profiles.is_empty());
    assert_eq!(s.state.accounts["claude"].kind, HoldKind::Limit);
}

#[test]
fn people_hear_of_a_program_that_stays_away_and_rest_comes_later() {
    let mut s = working(1);
    let needs = |s: &Scenario| {
        attention::needs(&s.state)
            .iter()
            .map(attention::Need::message)
            .collect::<Vec<_>>()
    };
    for _ in 0..2 {
        over(&mut s, 1, missing());
        assert!(needs(&s).is_empty(), "an update takes seconds");
        s.wait_for_deadline();
    }
    over(&mut s, 1, missing());
    assert_eq!(
        needs(&s),
        [
            "the program of profile ed cannot begin: the agent's program `claude` is not on PATH. \
            swarm tries again by itself, and no idea is charged"
        ]
    );
    assert_eq!(view::rest(&s.state), Rest::Busy);
    s.wait_for_deadline();
    over(&mut s, 1, missing());
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.command(Command::Resume);
    assert!(s.state.profiles.is_empty());
}

#[test]
fn a_refused_login_is_tried_again_by_itself() {
    let mut s = working(1);
    let tries = waits(&mut s, &blamed(Cause::Login), 5);
    assert_eq!(tries, [60_000, 300_000, 900_000, 3_600_000, 3_600_000]);
    answers(&mut s, 1);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn an_answer_to_any_run_of_the_account_shows_that_its_login_works() {
    for cause in [Cause::Login, Cause::Credit] {
        let mut s = working(2);
        over(&mut s, 1, blamed(cause));
        assert_eq!(s.state.accounts["claude"].tried_by, None);
        answers(&mut s, 2);
        assert!(s.state.accounts.is_empty());
        run_of(&s, 1);
    }
    // It says nothing about a limit.
    let mut s = working(2);
    over(&mut s, 1, blamed(Cause::Limit { until: None }));
    answers(&mut s, 2);
    assert_eq!(s.state.accounts["claude"].kind, HoldKind::Limit);
}

#[test]
fn an_account_without_credit_says_so_and_is_tried_again() {
    let mut s = working(1);
    let message = "Credit balance is too low".to_owned();
    let cause = Cause::Credit;
    let verdict = Some(Verdict::Failed { cause, message });
    let end = RunEnd {
        verdict,
        ..blamed(Cause::Other)
    };
    over(&mut s, 1, end.clone());
    let needs = attention::needs(&s.state);
    assert_eq!(
        needs[0].message(),
        "account claude has no credit left or has reached its spending cap: Credit balance is too \
        low"
    );
    s.wait_for_deadline();
    assert_eq!(waits(&mut s, &end, 3), [10_000, 60_000, 300_000]);
    assert_eq!(s.state.ended.get(&agent(1)), None);
    assert_eq!(s.idea(1).status, IdeaStatus::Active);
}
