//! What is used: counted once, over runs, conversations, attempts and days.

use super::provider::{accounts, end, over, run_of};
use crate::domain::event::{Event, RunEnded};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::settings::Mode;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::{exit, fold};
use crate::domain::testkit::{Scenario, agent, idea};
use crate::domain::time::Timestamp;
use crate::domain::usage::{MicroUsd, Price, Scope, Spent, Tokens, Usage};
use crate::domain::verdict::Verdict;

pub(super) fn tokens(input: u64) -> Tokens {
    Tokens {
        input,
        ..Tokens::default()
    }
}

fn usage(scope: Scope, input: u64, cost: u64) -> Usage {
    Usage {
        tokens: Some(tokens(input)),
        tokens_of: scope,
        cost: Some(MicroUsd(cost)),
        cost_of: scope,
        ..Usage::default()
    }
}

/// A complete iteration that used so much.
pub(super) fn used(scope: Scope, input: u64, cost: u64) -> RunEnd {
    RunEnd {
        usage: Some(usage(scope, input, cost)),
        ..end(0, Verdict::Complete)
    }
}

fn in_session(name: &str, end: RunEnd) -> RunEnd {
    let session = Some(name.parse().unwrap());
    RunEnd { session, ..end }
}

pub(super) fn working() -> Scenario {
    let mut s = Scenario::with(accounts);
    s.add("one").well_until("iteration").quietly();
    s
}

/// Tokens, cost, runs of the first idea.
fn sum(s: &Scenario) -> (u64, u64, u64) {
    let used = &s.idea(1).used;
    (used.tokens.total(), used.cost.0, used.runs)
}

#[test]
fn each_run_counts_for_itself() {
    let mut s = working();
    over(&mut s, 1, used(Scope::Run, 10, 100));
    over(&mut s, 1, used(Scope::Run, 5, 50));
    assert_eq!(sum(&s), (15, 150, 2));
    assert_eq!(s.attempt(1).used, s.idea(1).used);
}

#[test]
fn only_new_usage_of_a_conversation_counts() {
    let mut s = working();
    let session = |input, cost| in_session("a", used(Scope::Session, input, cost));
    over(&mut s, 1, session(10, 100));
    over(&mut s, 1, session(25, 180));
    assert_eq!(sum(&s), (25, 180, 2));
    // The attempt crashes, and the next one takes the conversation up.
    over(&mut s, 1, RunEnd::new(RunEndKind::Lost));
    s.wait_for_deadline().well_until("iteration");
    over(&mut s, 1, session(30, 200));
    assert_eq!(sum(&s), (30, 200, 3));
    // Another conversation counts from its own beginning.
    over(&mut s, 1, in_session("b", used(Scope::Session, 7, 20)));
    over(&mut s, 1, in_session("b", used(Scope::Session, 9, 25)));
    assert_eq!(sum(&s), (39, 225, 5));
}

#[test]
fn a_program_may_count_tokens_and_money_differently() {
    let mut s = working();
    let mixed = |input, cost| {
        let mut end = in_session("a", used(Scope::Session, input, cost));
        end.usage.as_mut().unwrap().cost_of = Scope::Run;
        end
    };
    over(&mut s, 1, mixed(10, 100));
    over(&mut s, 1, mixed(25, 80));
    assert_eq!(sum(&s), (25, 180, 2));
}

#[test]
fn an_end_reported_twice_counts_once() {
    let mut s = working();
    let (_, run) = run_of(&s, 1);
    let end = used(Scope::Run, 10, 100);
    // As after a log that was torn in the middle of the decision.
    let mut first = end.clone();
    let (_, attempt) = s.state.agents.first_key_value().unwrap();
    first.bill = Some(
        end.usage.as_ref().unwrap().bill(
            attempt
                .session
                .as_ref()
                .map(|one| one.counted)
                .unwrap_or_default(),
            &std::collections::BTreeMap::new(),
        ),
    );
    s.given([Event::RunEnded(RunEnded {
        run: run.clone(),
        end: first,
    })]);
    s.restart();
    let (effect, _) = s.state.run_effect(&run).unwrap();
    s.run_over(effect, end);
    assert_eq!(sum(&s), (10, 100, 1));
}

#[test]
fn a_run_that_was_killed_counts_as_far_as_it_is_known() {
    let mut s = working();
    let partial = Usage {
        cost: None,
        partial: true,
        ..usage(Scope::Run, 10, 0)
    };
    let killed = RunEnd {
        usage: Some(partial),
        ..RunEnd::new(RunEndKind::Signalled { signal: 9 })
    };
    over(&mut s, 1, killed);
    let used = s.idea(1).used;
    assert_eq!((used.tokens.total(), used.runs), (10, 1));
    assert_eq!((used.runs_without_cost, used.runs_not_counted), (1, 1));
}

/// An attempt waits for the end of its run, whoever ends it: what that used is known then, and is
/// the idea's.
#[test]
fn the_usage_of_a_run_counts_however_its_attempt_ends() {
    let (id, to) = (agent(1), idea(2));
    let redirect = |new_worktree| Command::RedirectAgent {
        id: id.clone(),
        idea: to.clone(),
        new_worktree,
    };
    let commands = [
        Command::StopAgent { id: id.clone() },
        Command::CancelIdea { id: idea(1) },
        redirect(false),
        redirect(true),
        Command::Shutdown { keep_agents: false },
        Command::Shutdown { keep_agents: true },
        Command::ShutdownNow,
    ];
    let ends = [RunEndKind::Stopped, exit(0), RunEndKind::TimedOut];
    for command in commands {
        for how in &ends {
            // The daemon may go before it hears of the end.
            for killed in [false, true] {
                let mut s = working();
                s.load(|settings| settings.mode = Mode::SemiAuto);
                s.add("two");
                let (_, run) = run_of(&s, 1);
                s.command(command.clone());
                while s.pending("stopRun").is_none() && s.state.swarm.phase == SwarmPhase::Draining
                {
                    s.wait_for_deadline();
                }
                if killed || s.state.swarm.phase == SwarmPhase::Stopped {
                    s.restart();
                }
                let (effect, _) = s.state.run_effect(&run).expect("it is waited for");
                s.run_over(
                    effect,
                    RunEnd {
                        how: how.clone(),
                        verdict: None,
                        ..used(Scope::Run, 10, 100)
                    },
                );
                assert_eq!(sum(&s), (10, 100, 1), "{command:?}, {how:?}");
                let day = s.state.used.values().next().unwrap();
                assert_eq!(*day, s.idea(1).used, "{command:?}, {how:?}");
            }
        }
    }
}

#[test]
fn usage_seen_during_a_run_counts_if_the_end_reports_none() {
    let mut s = working();
    s.load(|settings| settings.budget.hard_stop = true);
    let (_, run) = run_of(&s, 1);
    let usage = usage(Scope::Run, 10, 100);
    s.when(Observation::UsageSeen { run, usage });
    over(&mut s, 1, RunEnd::new(RunEndKind::Lost));
    assert_eq!(sum(&s), (10, 100, 1));
    assert_eq!(s.idea(1).used.runs_not_counted, 1);
}

#[test]
fn a_program_without_reports_has_no_known_usage() {
    let mut s = working();
    s.iteration(&agent(1), exit(0));
    assert_eq!(s.idea(1).used, Spent::default());
    // One that has words and tells nothing is counted as not known.
    over(&mut s, 1, end(0, Verdict::Cut));
    assert_eq!(s.idea(1).used.runs_not_counted, 1);
}

#[test]
fn without_a_cost_the_configured_price_gives_an_estimate() {
    let mut s = working();
    s.load(|settings| {
        let price = Price {
            input: 3_000_000,
            ..Price::default()
        };
        settings.prices.insert("sonnet".into(), price);
    });
    let told = Usage {
        cost: None,
        model: Some("sonnet".into()),
        ..usage(Scope::Run, 1_000, 0)
    };
    let usage = Some(told);
    over(
        &mut s,
        1,
        RunEnd {
            usage,
            ..end(0, Verdict::Complete)
        },
    );
    let used = s.idea(1).used;
    assert_eq!((used.cost, used.estimated), (MicroUsd(0), MicroUsd(3_000)));
    assert_eq!(used.usd(), MicroUsd(3_000));
}

#[test]
fn a_day_counts_the_runs_that_end_on_it() {
    let mut s = working();
    over(&mut s, 1, used(Scope::Run, 10, 100));
    s.wait(86_400_000);
    over(&mut s, 1, used(Scope::Run, 5, 50));
    over(&mut s, 1, used(Scope::Run, 5, 50));
    let days: Vec<(&str, u64)> = s
        .state
        .used
        .iter()
        .map(|(day, used)| (day.as_str(), used.cost.0))
        .collect();
    assert_eq!(days, [("2026-01-01", 100), ("2026-01-02", 100)]);
}

#[test]
fn the_same_log_gives_the_same_sums() {
    let mut s = working();
    for number in 1..5 {
        let end = used(Scope::Session, 10 * number, 100 * number);
        over(&mut s, 1, in_session("a", end));
    }
    s.all_goes_well();
    assert_eq!(fold(&s.log), s.state);
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    let text = serde_json::to_string(&s.state).unwrap();
    assert_eq!(s.state, serde_json::from_str(&text).unwrap());
    let before = s.state.used.clone();
    s.restart();
    assert_eq!(s.state.used, before);
    assert_eq!(s.state.ended[&agent(1)].used, s.idea(1).used);
}

#[test]
fn the_days_that_are_kept_are_limited() {
    let mut s = working();
    for _ in 0..410 {
        s.now = Timestamp::from_millis(s.now.plus_millis(86_400_000).since(Timestamp::default()));
        let (_, run) = run_of(&s, 1);
        let bill = Some(usage(Scope::Run, 1, 1).bill(
            crate::domain::usage::Counted::default(),
            &std::collections::BTreeMap::new(),
        ));
        let mut state = s.state.clone();
        let end = RunEnd {
            bill,
            ..RunEnd::new(exit(0))
        };
        let event = Event::RunEnded(RunEnded { run, end });
        let seq = state.seq + 1;
        let attempt = state.agents.get_mut(&agent(1)).unwrap();
        let kept = attempt.clone();
        crate::domain::evolve::evolve(&mut state, seq, s.now, &event);
        state.agents.insert(agent(1), kept);
        s.state = state;
    }
    assert_eq!(s.state.used.len(), 400);
}
