//! An agent that settles a conflict meets what any agent meets: limits, overloads, budgets,
//! conversations. The landing waits for it and is neither lost nor counted as failed.

use super::provider::{accounts, add_for, answers, blamed, end, over, run_of};
use super::table;
use super::usage::used;
use crate::domain::effect::ConflictLevel;
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::settings::{Budget, Settings};
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea, profile};
use crate::domain::usage::{MicroUsd, Scope, Usage};
use crate::domain::verdict::{Cause, Verdict};
use crate::view::{self, Rest};

/// A merge that has met a conflict; a resolver of this profile is at work on it.
fn resolving(resolver: &str, change: impl FnOnce(&mut Settings)) -> Scenario {
    let mut s = Scenario::with(|settings| {
        accounts(settings);
        settings.resolver = Some(profile(resolver));
        change(settings);
    });
    s.add("one").well_until("iteration");
    named(&mut s, "own");
    over_with_word(&mut s, used(Scope::Session, 100, 1_000));
    conflict(&mut s);
    s
}

/// The agent at the first idea has a conversation.
fn named(s: &mut Scenario, name: &str) {
    let (_, run) = run_of(s, 1);
    let session = name.parse().unwrap();
    s.when(Observation::SessionSeen { run, session });
}

/// It says that it is through, and it is.
fn over_with_word(s: &mut Scenario, end: RunEnd) {
    let (agent, _) = run_of(s, 1);
    s.says(&agent, Signal::Complete(None));
    over(s, 1, end);
}

fn conflict(s: &mut Scenario) {
    table::conflict(s, ConflictLevel::Medium);
    s.well_until("iteration").quietly();
}

/// The resolver is cut off, and has cost this much in millionths of a dollar.
fn cut_off_at(s: &mut Scenario, cost: u64) {
    let cut = RunEnd {
        verdict: Some(Verdict::Cut),
        ..used(Scope::Run, 10, cost)
    };
    over(s, 1, cut);
}

/// It landed, and nothing of what was met on the way counts against it.
fn lands(s: &mut Scenario) {
    s.all_goes_well();
    let one = s.idea(1);
    assert_eq!(one.status, IdeaStatus::Done, "{:?}", one.last_error);
    assert_eq!(
        (one.attempts, one.failed_attempts, one.retry_count),
        (1, 0, 0)
    );
    assert_eq!(s.state.swarm.failures_in_a_row, 0);
    assert_eq!(view::rest(&s.state), Rest::Idle);
}

fn entry_is(s: &Scenario, phase: MergePhase, tries: u32) {
    let entry = s.entry(1);
    assert_eq!((entry.phase, entry.resolver_tries), (phase, tries));
}

#[test]
fn a_resolver_waits_for_its_own_account() {
    for cause in [Cause::Limit { until: None }, Cause::Overloaded] {
        let mut s = resolving("finn", |_| ());
        for _ in 0..7 {
            over(&mut s, 1, blamed(cause.clone()));
            assert!(s.state.accounts.contains_key("codex"));
            assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
            entry_is(&s, MergePhase::Resolver, 0);
            // Nobody has to do anything: who waits until all is idle goes on waiting.
            assert_eq!(view::rest(&s.state), Rest::Busy);
            assert!(view::needs_you(&s.state).is_empty());
            s.restart();
            assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
            s.wait_for_deadline();
            assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
        }
        answers(&mut s, 1);
        assert!(s.state.accounts.is_empty());
        lands(&mut s);
    }
}

#[test]
fn a_resolver_does_not_start_while_its_account_is_held() {
    let mut s = Scenario::with(|settings| {
        accounts(settings);
        settings.resolver = Some(profile("finn"));
    });
    add_for(&mut s, "other", "finn");
    s.well_until("iteration");
    over(&mut s, 1, blamed(Cause::Limit { until: None }));
    s.add("one");
    table::conflict(&mut s, ConflictLevel::Medium);
    s.all_goes_well();
    assert_eq!(s.entry(2).phase, MergePhase::Resolver);
    assert_eq!(s.attempt(2).phase, AttemptPhase::Backoff);
    // One of the two tries; its answer frees the other.
    s.wait_for_deadline();
    let run = s.state.accounts["codex"].tried_by.clone().unwrap();
    s.when(Observation::ModelAnswered { run });
    let mut phases = s.state.agents.values().map(|attempt| attempt.phase);
    assert!(phases.all(|phase| phase == AttemptPhase::Working));
    s.all_goes_well();
    assert!((1..=2).all(|number| s.idea(number).status == IdeaStatus::Done));
}

#[test]
fn a_refused_login_of_a_resolver_is_told_and_ended_by_a_person() {
    let mut s = resolving("finn", |_| ());
    over(&mut s, 1, blamed(Cause::Login));
    assert_eq!(view::rest(&s.state), Rest::Busy);
    assert_eq!(view::needs_you(&s.state)[0].kind, "account");
    entry_is(&s, MergePhase::Resolver, 0);
    s.command(Command::Resume);
    lands(&mut s);
}

#[test]
fn a_resolver_that_is_cut_off_repeatedly_uses_one_try() {
    let mut s = resolving("finn", |_| ());
    for _ in 0..4 {
        over(&mut s, 1, end(0, Verdict::Cut));
        entry_is(&s, MergePhase::Resolver, 0);
        while s.attempt(1).phase == AttemptPhase::Backoff {
            s.wait_for_deadline();
        }
    }
    over(&mut s, 1, end(0, Verdict::Cut));
    entry_is(&s, MergePhase::Resolver, 1);
    lands(&mut s);
}

#[test]
fn cut_off_resolver_runs_do_not_count_against_the_attempt() {
    let mut s = resolving("finn", |_| ());
    for _ in 0..4 {
        over(&mut s, 1, end(0, Verdict::Cut));
        s.wait_for_deadline();
    }
    while s.entry(1).phase == MergePhase::Resolver {
        over(&mut s, 1, blamed(Cause::Other));
    }
    s.command(Command::ResolveMerge { id: idea(1) });
    s.well_until("verify")
        .check(exit(1))
        .well_until("iteration");
    over(&mut s, 1, end(0, Verdict::Cut));
    assert_eq!(s.attempt(1).excused.cut, 1);
    s.wait_for_deadline();
    lands(&mut s);
}

#[test]
fn a_used_up_day_holds_the_resolver_until_a_person_resumes() {
    let mut s = resolving("finn", |settings| {
        settings.budget.usd_per_day = Some(MicroUsd(2_000));
    });
    cut_off_at(&mut s, 1_000);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    s.wait(60_000);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
    entry_is(&s, MergePhase::Resolver, 0);
    s.command(Command::Resume);
    lands(&mut s);
}

#[test]
fn the_budget_of_its_idea_does_not_keep_complete_work_from_landing() {
    let mut s = resolving("finn", |settings| {
        settings.budget.usd_per_idea = Some(MicroUsd(1_000));
    });
    cut_off_at(&mut s, 1_000);
    s.wait_for_deadline();
    assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
    lands(&mut s);
}

/// Stopped in the middle, it would be begun and stopped again for ever.
#[test]
fn a_budget_with_a_hard_stop_leaves_the_conflict_to_a_person() {
    let hard = |usd| Budget {
        usd_per_idea: Some(MicroUsd(usd)),
        hard_stop: true,
        ..Budget::default()
    };
    let mut s = resolving("finn", |settings| settings.budget = hard(2_000));
    let (_, run) = run_of(&s, 1);
    let usage = Usage {
        cost: Some(MicroUsd(1_000)),
        ..Usage::default()
    };
    s.when(Observation::UsageSeen { run, usage });
    s.stop_delivered();
    over(
        &mut s,
        1,
        RunEnd {
            how: RunEndKind::Stopped,
            verdict: None,
            ..used(Scope::Run, 10, 1_000)
        },
    );
    assert!(s.pending("iteration").is_none());
    entry_is(&s, MergePhase::Person, 0);
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    insta::assert_snapshot!(view::needs_you(&s.state)[0].message, @r"the merge of idea-001 has a conflict in a.rs (its budget is used up: $0.0020 of $0.0020 (budget.usdPerIdea), so no agent may resolve the conflict (budget.hardStop); resolve it yourself or raise the budget, then: swarm merge retry idea-001)");
    // With another budget it is tried again.
    s.load(|settings| settings.budget = hard(9_000));
    s.command(Command::RetryMerge { id: idea(1) });
    conflict(&mut s);
    lands(&mut s);
}

fn session(s: &Scenario) -> Option<&str> {
    let session = s.attempt(1).session.as_deref();
    session.map(|session| session.id.as_str())
}

#[test]
fn a_resolver_has_a_conversation_of_its_own() {
    let mut s = resolving("finn", |_| ());
    assert_eq!(session(&s), Some("own"), "no other is known yet");
    named(&mut s, "theirs");
    assert_eq!(session(&s), Some("theirs"));
    let own = |s: &Scenario| s.attempt(1).own_session().unwrap().id.to_string();
    assert_eq!(own(&s), "own");
    // Each counts for itself.
    over(&mut s, 1, blamed(Cause::Overloaded));
    s.wait_for_deadline();
    over_with_word(&mut s, used(Scope::Session, 30, 300));
    assert_eq!(s.idea(1).used.tokens.total(), 130);
    s.well_until("verify");
    assert_eq!(session(&s), Some("own"));
    // The merged tree fails: the attempt's own agent goes on with what it knows.
    s.check(exit(1)).well_until("iteration");
    assert_eq!(session(&s), Some("own"));
    over_with_word(&mut s, used(Scope::Session, 120, 1_200));
    assert_eq!(s.idea(1).used.tokens.total(), 150);
    lands(&mut s);
    let ended = &s.state.ended[&agent(1)];
    assert_eq!(ended.session.as_ref().unwrap().as_str(), "own");
}

#[test]
fn a_resolvers_usage_starts_from_zero() {
    let mut s = resolving("finn", |_| ());
    over_with_word(&mut s, used(Scope::Session, 30, 300));
    assert_eq!(s.idea(1).used.tokens.total(), 130);
    assert_eq!(
        s.attempt(1)
            .session
            .as_ref()
            .unwrap()
            .counted
            .tokens
            .total(),
        100
    );
}

#[test]
fn a_resolver_cannot_fail_because_of_the_attempts_conversation() {
    let mut s = resolving("finn", |_| ());
    over(&mut s, 1, blamed(Cause::Session));
    entry_is(&s, MergePhase::Resolver, 1);
    assert_eq!(s.attempt(1).session.as_ref().unwrap().failures, 0);
    // Its own is given up like any other.
    named(&mut s, "theirs");
    for _ in 0..2 {
        over(&mut s, 1, blamed(Cause::Session));
        s.wait_for_deadline();
    }
    entry_is(&s, MergePhase::Resolver, 1);
    assert_eq!(session(&s), None);
    assert_eq!(s.attempt(1).own_session().unwrap().id.as_str(), "own");
    lands(&mut s);
}

#[test]
fn a_resolver_of_the_same_profile_resumes_the_attempts_conversation() {
    let mut s = resolving("ed", |_| ());
    over_with_word(&mut s, used(Scope::Session, 130, 1_300));
    assert_eq!(s.idea(1).used.tokens.total(), 130);
    assert_eq!(session(&s), Some("own"));
    lands(&mut s);
}

#[test]
fn an_attempt_that_ends_during_a_conflict_leaves_its_own_conversation() {
    let mut s = resolving("finn", |_| ());
    named(&mut s, "theirs");
    s.command(Command::CancelIdea { id: idea(1) });
    s.stop_delivered();
    over(&mut s, 1, RunEnd::new(RunEndKind::Stopped));
    s.all_goes_well();
    let ended = &s.state.ended[&agent(1)];
    assert_eq!(ended.session.as_ref().unwrap().as_str(), "own");
}
