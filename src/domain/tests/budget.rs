//! Budgets: of an idea, of a day, and those that also stop in the middle.

use insta::assert_snapshot;

use super::provider::{accounts, over, run_of};
use super::usage::{tokens, used};
use crate::domain::event::{Event, WarningRaised};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::settings::Budget;
use crate::domain::signal::Signal;
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::testkit::{Scenario, agent, idea};
use crate::domain::usage::{MicroUsd, Price, Scope, Usage};
use crate::domain::verdict::Verdict;

/// One agent at work under this budget.
fn under(budget: Budget) -> Scenario {
    let mut s = Scenario::with(|settings| {
        accounts(settings);
        settings.budget = budget;
    });
    s.add("one").well_until("iteration").quietly();
    s
}

fn of_idea(usd: u64) -> Budget {
    Budget {
        usd_per_idea: Some(MicroUsd(usd)),
        ..Budget::default()
    }
}

fn of_day(usd: u64) -> Budget {
    Budget {
        usd_per_day: Some(MicroUsd(usd)),
        ..Budget::default()
    }
}

fn spend(s: &mut Scenario, cost: u64) {
    over(s, 1, used(Scope::Run, 10, cost));
}

/// How often warnings with this key were raised.
fn raised(s: &Scenario, wanted: &str) -> usize {
    let raises = |event: &Event| {
        matches!(event, Event::WarningRaised(WarningRaised { key, .. })
            if key == wanted)
    };
    s.log.iter().filter(|(_, event)| raises(event)).count()
}

#[test]
fn an_idea_whose_budget_is_used_up_is_blocked_at_its_boundary() {
    let mut s = under(of_idea(1_000_000));
    spend(&mut s, 500_000);
    assert!(s.state.warnings.is_empty());
    spend(&mut s, 300_000);
    assert_snapshot!(s.state.warnings["budget-idea-001"].message, @r"idea-001 has used more than 80 % of its budget, $1.00 (budget.usdPerIdea); it stops after the iteration that uses it up");
    spend(&mut s, 100_000);
    assert_eq!(raised(&s, "budget-idea-001"), 1);
    s.quietly();
    spend(&mut s, 100_000);
    assert_snapshot!(s.then(), @r"
    run r0004-ed-001-i4 Exited { code: 0 }
    ed-001 -> Backoff
    iterationJudged {agent: ed-001, atOnce: false, empty: false}
    end #5
    ed-001 -> Starting
    warningCleared {key: budget-idea-001}
    attemptEnded {agent: ed-001, end: blocked, keepWorktree: true, message: its budget is used up: $1.00 of $1.00 (budget.usdPerIdea); to continue with a new budget: swarm idea retry idea-001, status: blocked}
    ");
    assert!(s.state.warnings.is_empty());
    assert_eq!(s.idea(1).status, IdeaStatus::Blocked);
    assert_eq!(s.state.swarm.failures_in_a_row, 1);
    // Tried again, it has a whole budget again.
    s.command(Command::RetryIdea { id: idea(1) })
        .well_until("iteration");
    spend(&mut s, 700_000);
    assert!(s.state.warnings.is_empty());
    spend(&mut s, 300_000);
    assert_eq!(s.idea(1).status, IdeaStatus::Blocked);
    assert_eq!(s.idea(1).used.cost, MicroUsd(2_000_000));
}

#[test]
fn complete_work_lands_whatever_it_cost() {
    let mut s = under(of_idea(1_000_000));
    s.says(&agent(1), Signal::Complete(None));
    spend(&mut s, 5_000_000);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_warning_is_cleared_with_its_idea_or_by_a_larger_budget() {
    let mut s = under(of_idea(1_000_000));
    spend(&mut s, 900_000);
    s.completes(&agent(1)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert!(s.state.warnings.is_empty());
    let mut s = under(of_idea(1_000_000));
    spend(&mut s, 900_000);
    s.load(|settings| settings.budget = of_idea(9_000_000));
    spend(&mut s, 100_000);
    assert!(s.state.warnings.is_empty());
}

#[test]
fn tokens_are_a_budget_too() {
    let mut s = under(Budget {
        tokens_per_idea: Some(20),
        ..Budget::default()
    });
    spend(&mut s, 0);
    assert_eq!(s.idea(1).status, IdeaStatus::Active);
    spend(&mut s, 0);
    assert_snapshot!(s.idea(1).last_error.clone().unwrap(), @r"its budget is used up: 20 of 20 tokens (budget.tokensPerIdea); to continue with a new budget: swarm idea retry idea-001");
}

#[test]
fn a_used_up_day_pauses_once_and_a_person_can_resume() {
    let mut s = under(of_day(1_000_000));
    spend(&mut s, 800_000);
    assert_snapshot!(s.state.warnings["budget-day"].message, @r"more than 80 % of today's budget is used, $1.00 (budget.usdPerDay); swarm pauses when it is used up");
    spend(&mut s, 100_000);
    assert_eq!(raised(&s, "budget-day"), 1);
    s.quietly();
    spend(&mut s, 100_000);
    assert_snapshot!(s.then(), @r"
    run r0003-ed-001-i3 Exited { code: 0 }
    ed-001 -> Backoff
    iterationJudged {agent: ed-001, atOnce: false, empty: false}
    end #4
    warningCleared {key: budget-day}
    pauseSet {reason: today's budget is used up: $1.00 of $1.00 (budget.usdPerDay); raise it or wait until tomorrow (UTC), then: swarm resume}
    phaseChanged {phase: pausing, reason: today's budget is used up: $1.00 of $1.00 (budget.usdPerDay); raise it or wait until tomorrow (UTC), then: swarm resume}
    budgetReached {day: 2026-01-01, limits: {usd: 1000000}}
    phaseChanged {phase: paused, reason: today's budget is used up: $1.00 of $1.00 (budget.usdPerDay); raise it or wait until tomorrow (UTC), then: swarm resume}
    ");
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    s.restart();
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert!(s.state.warnings.is_empty());
    s.command(Command::Resume);
    spend(&mut s, 100_000);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Running);
    assert_snapshot!(s.state.warnings["budget-day"].message, @r"today's budget is used up: $1.00 (budget.usdPerDay); the swarm was resumed and continues until tomorrow (UTC) or until the limit changes");
    assert_eq!(s.state.warnings["budget-day"].commands, ["swarm pause"]);
    spend(&mut s, 100_000);
    assert_eq!(raised(&s, "budget-day"), 2);
    // The next day has its own.
    s.wait(86_400_000);
    spend(&mut s, 900_000);
    assert!(s.state.warnings.contains_key("budget-day"));
    spend(&mut s, 100_000);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
}

#[test]
fn changed_daily_limits_pause_again() {
    let mut s = under(of_day(1_000_000));
    spend(&mut s, 1_000_000);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    // Raised, it is a budget like any other.
    s.load(|settings| settings.budget = of_day(2_000_000));
    s.command(Command::Resume);
    spend(&mut s, 800_000);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Running);
    assert!(s.state.warnings["budget-day"].message.contains("$2.00"));
    spend(&mut s, 200_000);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    // One that is already used up is said to be once more, also after a restart.
    s.command(Command::Resume);
    s.restart();
    assert_eq!(s.state.swarm.phase, SwarmPhase::Running);
    s.load(|settings| settings.budget = of_day(500_000));
    s.quietly();
    assert!(matches!(
        s.state.swarm.phase,
        SwarmPhase::Pausing | SwarmPhase::Paused
    ));
}

#[test]
fn a_warning_about_a_day_is_cleared_the_next_day() {
    let mut s = under(of_day(1_000_000));
    spend(&mut s, 900_000);
    assert!(s.state.warnings.contains_key("budget-day"));
    s.wait(86_400_000);
    assert!(s.state.warnings.is_empty());
}

#[test]
fn complete_work_lands_on_a_used_up_day() {
    let mut s = under(of_day(1_000_000));
    s.says(&agent(1), Signal::Complete(None));
    spend(&mut s, 2_000_000);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
}

fn seen(s: &mut Scenario, cost: u64) {
    let (_, run) = run_of(s, 1);
    let usage = Usage {
        tokens: Some(tokens(10)),
        cost: Some(MicroUsd(cost)),
        ..Usage::default()
    };
    s.when(Observation::UsageSeen { run, usage });
}

/// A run that was ended, and of which so much is known.
fn ended(cost: u64) -> RunEnd {
    RunEnd {
        how: RunEndKind::Stopped,
        verdict: None,
        ..used(Scope::Run, 10, cost)
    }
}

#[test]
fn without_a_hard_stop_running_usage_is_ignored() {
    let mut s = under(of_idea(1_000_000));
    seen(&mut s, 2_000_000);
    assert_snapshot!(s.then(), @"");
}

#[test]
fn a_hard_stop_ends_the_run_of_an_idea() {
    let mut s = under(Budget {
        hard_stop: true,
        ..of_idea(1_000_000)
    });
    seen(&mut s, 500_000);
    seen(&mut s, 500_000);
    assert_snapshot!(s.then(), @r"usageSeen {agent: ed-001, bill: {cost: 500000, tokens: {input: 10, output: 0}}, run: r0001-ed-001-i1}");
    seen(&mut s, 1_000_000);
    assert_snapshot!(s.then(), @r"
    usageSeen {agent: ed-001, bill: {cost: 1000000, tokens: {input: 10, output: 0}}, run: r0001-ed-001-i1}
    ask #3 stopRun r0001-ed-001-i1
    ");
    s.stop_delivered();
    over(&mut s, 1, ended(1_000_000));
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Blocked);
    assert_eq!(s.idea(1).used.cost, MicroUsd(1_000_000));
    assert_eq!(s.state.ended[&agent(1)].end, AttemptEnd::Interrupted);
}

#[test]
fn a_hard_stop_counts_usage_seen_when_the_end_reports_none() {
    let mut s = under(Budget {
        hard_stop: true,
        ..of_idea(1_000_000)
    });
    seen(&mut s, 1_000_000);
    s.stop_delivered();
    over(&mut s, 1, RunEnd::new(RunEndKind::Lost));
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Blocked);
}

#[test]
fn a_hard_stop_ends_all_runs_of_a_day_and_pauses() {
    let mut s = under(Budget {
        hard_stop: true,
        ..of_day(1_000_000)
    });
    seen(&mut s, 1_000_000);
    assert_snapshot!(s.then(), @r"
    usageSeen {agent: ed-001, bill: {cost: 1000000, tokens: {input: 10, output: 0}}, run: r0001-ed-001-i1}
    ask #3 stopRun r0001-ed-001-i1
    pauseSet {reason: today's budget is used up: $1.00 of $1.00 (budget.usdPerDay); raise it or wait until tomorrow (UTC), then: swarm resume}
    phaseChanged {phase: pausing, reason: today's budget is used up: $1.00 of $1.00 (budget.usdPerDay); raise it or wait until tomorrow (UTC), then: swarm resume}
    budgetReached {day: 2026-01-01, limits: {usd: 1000000}}
    ");
    s.stop_delivered();
    over(&mut s, 1, ended(1_000_000));
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert_eq!(s.idea(1).status, IdeaStatus::Pending);
    // Who resumes has decided: this day nothing is ended any more.
    s.command(Command::Resume).well_until("iteration");
    seen(&mut s, 9_000_000);
    assert!(s.pending("stopRun").is_none());
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

/// An answer of this model, which tells tokens and no cost.
fn answer(s: &mut Scenario, model: Option<&str>, input: u64) {
    let (_, run) = run_of(s, 1);
    let usage = Usage {
        tokens: Some(tokens(input)),
        model: model.map(str::to_owned),
        ..Usage::default()
    };
    s.when(Observation::UsageSeen { run, usage });
}

fn hard(budget: Budget) -> Scenario {
    under(Budget {
        hard_stop: true,
        ..budget
    })
}

const SONNET: Option<&str> = Some("sonnet-4-5-20250929");

#[test]
fn a_hard_stop_that_knows_no_price_says_so_once() {
    let mut s = hard(of_idea(1_000_000));
    answer(&mut s, SONNET, 0);
    assert!(s.state.warnings.is_empty(), "nothing is used yet");
    s.quietly();
    answer(&mut s, SONNET, 500_000);
    assert_snapshot!(s.then(), @r#"
    warningRaised {key: unpriced-sonnet-4-5, message: there is no price for the model `sonnet-4-5`, so its runs count towards budget.usdPerIdea only when they end, or not at all; add it to .swarm/config.json, in dollars per million tokens: "pricing": {"sonnet-4-5": {"input": N, "cached": N, "cacheWritten": N, "output": N}}}
    usageSeen {agent: ed-001, bill: {tokens: {input: 500000, output: 0}}, run: r0001-ed-001-i1}
    "#);
    // Whatever it uses, nothing ends it. The next run is no news, nor is another version, nor the
    // next daemon.
    answer(&mut s, SONNET, 900_000_000);
    assert!(s.pending("stopRun").is_none());
    spend(&mut s, 100_000);
    answer(&mut s, SONNET, 10);
    answer(&mut s, Some("sonnet-4-5-20260101"), 20);
    s.restart();
    answer(&mut s, SONNET, 30);
    assert_eq!(raised(&s, "unpriced-sonnet-4-5"), 1);
    assert_eq!(s.state.warnings.len(), 1);
    // With a price the same tokens are seen.
    s.load(|settings| {
        let price = Price {
            input: 3_000_000,
            ..Price::default()
        };
        settings.prices.insert("sonnet-4-5".to_owned(), price);
    });
    assert!(s.state.warnings.is_empty());
    answer(&mut s, SONNET, 200_000);
    assert!(s.pending("stopRun").is_none());
    answer(&mut s, SONNET, 300_000);
    assert!(s.pending("stopRun").is_some());
    assert!(s.state.warnings.is_empty());
}

#[test]
fn a_model_without_a_name_has_no_price_either() {
    let mut s = hard(Budget {
        usd_per_idea: Some(MicroUsd(1_000_000)),
        ..of_day(1_000_000)
    });
    answer(&mut s, None, 10);
    assert_snapshot!(s.then(), @r"
    warningRaised {key: unnamed-model-ed, message: the program of the profile `ed` does not report its model, and its price is unknown, so its runs count towards budget.usdPerIdea and budget.usdPerDay only when they end, or not at all; set agents.profiles.ed.model in .swarm/config.json, and the model's price in pricing}
    usageSeen {agent: ed-001, bill: {tokens: {input: 10, output: 0}}, run: r0001-ed-001-i1}
    ");
    // Another budget: what is still so is said again.
    s.load(|settings| settings.budget.usd_per_day = None);
    assert!(s.state.warnings.is_empty());
    answer(&mut s, None, 20);
    assert_eq!(raised(&s, "unnamed-model-ed"), 2);
    s.load(|settings| settings.budget.hard_stop = false);
    answer(&mut s, None, 30);
    assert!(s.state.warnings.is_empty());
}

#[test]
fn a_missing_price_matters_only_to_a_hard_stop_for_dollars() {
    let of_tokens = Budget {
        tokens_per_idea: Some(1_000_000),
        ..Budget::default()
    };
    for mut s in [under(of_idea(1_000_000)), hard(of_tokens)] {
        answer(&mut s, SONNET, 500_000);
        assert!(s.state.warnings.is_empty());
    }
    // Where the program tells what it costs, no price is needed.
    let mut s = hard(of_idea(1_000_000));
    seen(&mut s, 500_000);
    assert!(s.state.warnings.is_empty());
}

#[test]
fn warnings_about_untrusted_model_names_are_bounded() {
    let mut s = hard(of_day(1_000_000));
    for number in 0..100 {
        answer(&mut s, Some(&format!("\"m{number}\"\u{1b}")), number + 1);
    }
    assert_eq!(s.state.warnings.len(), 8);
    let (_, warning) = s.state.warnings.first_key_value().unwrap();
    let line = r#""pricing": {"\"m0\"\u{1b}": {"#;
    assert!(warning.message.contains(line), "{}", warning.message);
}

/// A run of a program that tells tokens only, at its end.
fn told_tokens(model: Option<&str>) -> RunEnd {
    let mut end = used(Scope::Run, 10, 0);
    let usage = end.usage.as_mut().unwrap();
    (usage.cost, usage.model) = (None, model.map(str::to_owned));
    end
}

#[test]
fn uncounted_runs_raise_a_warning_without_a_hard_stop_too() {
    let mut s = under(of_idea(1_000_000));
    over(&mut s, 1, told_tokens(SONNET));
    assert_snapshot!(s.state.warnings["unpriced-sonnet-4-5"].message, @r#"there is no price for the model `sonnet-4-5`, so its runs count towards budget.usdPerIdea only when they end, or not at all; add it to .swarm/config.json, in dollars per million tokens: "pricing": {"sonnet-4-5": {"input": N, "cached": N, "cacheWritten": N, "output": N}}"#);
    over(&mut s, 1, told_tokens(SONNET));
    assert_eq!(raised(&s, "unpriced-sonnet-4-5"), 1);
    // One that was cut short has not told all; another does not spend dollars.
    let cut = RunEnd {
        verdict: Some(Verdict::Cut),
        ..told_tokens(Some("other"))
    };
    over(&mut s, 1, cut);
    assert_eq!(s.state.warnings.len(), 1);
    let mut s = under(Budget::default());
    over(&mut s, 1, told_tokens(SONNET));
    assert!(s.state.warnings.is_empty());
    // However long a program says that its model is called.
    let mut s = under(of_idea(1_000_000));
    over(&mut s, 1, told_tokens(Some(&"m".repeat(100_000))));
    assert!(s.state.warnings.keys().all(|key| key.len() < 200));
}
