//! Programs that wait for their provider and retry by themselves.

use insta::assert_snapshot;

use super::provider::{answers, over, run_of, working};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::state::IdeaStatus;
use crate::domain::state::provider::HoldKind;
use crate::domain::testkit::Scenario;
use crate::domain::testkit::scenario::exit;

const MINUTE: i64 = 60_000;

fn waits(s: &mut Scenario, number: u64, why: &str) {
    let (_, run) = run_of(s, number);
    let why = why.to_owned();
    s.when(Observation::ProviderAwaited { run, why });
}

fn stopped() -> RunEnd {
    RunEnd {
        stdout_bytes: 100,
        duration_ms: 5 * MINUTE,
        ..RunEnd::new(RunEndKind::Stopped)
    }
}

#[test]
fn a_program_that_waits_too_long_is_ended_and_its_account_held() {
    let mut s = working(1);
    waits(&mut s, 1, "rate_limit (429)");
    s.wait(MINUTE);
    // It is told once, however often the program retries.
    waits(&mut s, 1, "rate_limit (429)");
    assert_snapshot!(s.then(), @r"providerAwaited {agent: ed-001, run: r0001-ed-001-i1, why: rate_limit (429)}");
    s.wait(4 * MINUTE - 1);
    assert_snapshot!(s.then(), @"");
    s.wait(1);
    assert_snapshot!(s.then(), @r"ask #3 stopRun r0001-ed-001-i1");
    s.stop_delivered();
    over(&mut s, 1, stopped());
    assert_snapshot!(s.then(), @r"
    end #3
    run r0001-ed-001-i1 Stopped
    accountHeld {account: claude, hold: {kind: limit, message: its program waited 5 min for the provider: rate_limit (429), since: 2026-01-01T00:05:00.000Z, times: 1, until: 2026-01-01T00:05:59.760Z}}
    iterationExcused {agent: ed-001, excuse: account, phase: backoff}
    end #2
    ");
    assert_eq!(s.attempt(1).excused.iterations, 1);
    assert_eq!(s.state.accounts["claude"].kind, HoldKind::Limit);
    assert_eq!(s.idea(1).status, IdeaStatus::Active);
}

#[test]
fn an_answer_ends_the_wait() {
    let mut s = working(1);
    waits(&mut s, 1, "overloaded (529)");
    s.wait(4 * MINUTE);
    answers(&mut s, 1);
    assert!(s.attempt(1).provider_wait.is_none());
    // The next wait begins from the start.
    waits(&mut s, 1, "overloaded (529)");
    s.wait(4 * MINUTE);
    assert!(s.pending("stopRun").is_none());
    s.wait(MINUTE);
    assert!(s.pending("stopRun").is_some());
}

#[test]
fn a_run_that_ends_by_itself_meanwhile_is_judged_as_usual() {
    let mut s = working(1);
    waits(&mut s, 1, "overloaded (529)");
    s.wait(5 * MINUTE);
    over(
        &mut s,
        1,
        RunEnd {
            stdout_bytes: 9,
            duration_ms: 9_000,
            ..RunEnd::new(exit(0))
        },
    );
    assert!(s.state.accounts.is_empty());
    assert_eq!(s.attempt(1).excused.iterations, 0);
    assert!(s.attempt(1).provider_wait.is_none());
}

#[test]
fn a_connection_that_is_gone_holds_the_account_as_overloaded() {
    let mut s = working(2);
    waits(&mut s, 1, "2/5 (stream disconnected before completion)");
    s.wait(5 * MINUTE);
    over(&mut s, 1, stopped());
    assert_eq!(s.state.accounts["claude"].kind, HoldKind::Overloaded);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
    // The other agent is at work and may finish.
    assert_eq!(s.attempt(2).phase, AttemptPhase::Working);
}

#[test]
fn zero_minutes_wait_for_ever() {
    let mut s = working(1);
    s.load(|settings| settings.provider_wait_ms = 0);
    waits(&mut s, 1, "overloaded (529)");
    s.wait(600 * MINUTE);
    assert!(s.pending("stopRun").is_none());
}
