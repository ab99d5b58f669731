//! A log that ends anywhere, also in the middle of a decision: a daemon that starts from it goes on
//! and loses nothing.

use std::collections::BTreeMap;

use crate::domain::decide;
use crate::domain::effect::{self, ConflictLevel, Effect};
use crate::domain::event::{Event, IterationStarted};
use crate::domain::ids::RunId;
use crate::domain::lifecycle::MergePhase;
use crate::domain::observation::RunEnd;
use crate::domain::operation::Command;
use crate::domain::outcome::FailureKind;
use crate::domain::settings::Settings;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::outcomes::{conflicted, still_conflicted, target_moved};
use crate::domain::testkit::scenario::{exit, fold};
use crate::domain::testkit::{Scenario, agent, idea, profile};
use crate::domain::usage::{Tokens, Usage};
use crate::domain::verdict::{Cause, Verdict};
use crate::view::{self, Rest};

/// Starts from every beginning of this log in which the idea is known; all must land it, once.
fn every_beginning_goes_on(whole: &Scenario) {
    let known = whole
        .log
        .iter()
        .position(|(_, event)| matches!(event, Event::IdeaAdded(_)));
    for length in known.unwrap() + 1..=whole.log.len() {
        let mut s = Scenario::empty();
        s.now = whole.now;
        s.log = whole.log[..length].to_vec();
        s.state = fold(&s.log);
        s.restart().all_goes_well();
        for _ in 0..3 {
            if s.state
                .entry(&idea(1))
                .is_some_and(|entry| entry.phase == MergePhase::Person)
            {
                s.command(Command::ResolveMerge { id: idea(1) })
                    .all_goes_well();
            }
        }
        let one = s.idea(1);
        assert_eq!(
            one.status,
            IdeaStatus::Done,
            "after {length} events: {:?}",
            whole.log[length - 1].1
        );
        assert_eq!(one.attempts, 1, "after {length} events");
        assert_eq!(view::rest(&s.state), Rest::Idle);
        let landings = s
            .log
            .iter()
            .filter(|(_, event)| matches!(event, Event::IdeaLanded(_)));
        assert_eq!(landings.count(), 1);
    }
}

#[test]
fn a_torn_log_of_a_plain_life_continues() {
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    every_beginning_goes_on(&s);
}

#[test]
fn a_torn_log_of_a_failed_gate_continues() {
    let mut s = Scenario::running();
    s.add("one")
        .well_until("gate")
        .check(exit(1))
        .well_until("iteration");
    s.iteration(&agent(1), exit(0)).all_goes_well();
    every_beginning_goes_on(&s);
}

#[test]
fn a_torn_log_of_a_question_continues() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    s.says(&agent(1), Signal::NeedsHuman(None))
        .iteration(&agent(1), exit(0));
    // From here on: before that, the simulated agent would just do it, and in between nobody
    // answers.
    let waiting = s.log.len();
    s.command(Command::RetryIdea { id: idea(1) })
        .all_goes_well();
    let mut from = Scenario::empty();
    from.log = s.log.clone();
    from.now = s.now;
    assert!(waiting < from.log.len());
    for length in waiting + 1..=from.log.len() {
        let mut s = Scenario::empty();
        s.log = from.log[..length].to_vec();
        s.now = from.now;
        s.state = fold(&s.log);
        s.restart().all_goes_well();
        assert_eq!(s.idea(1).status, IdeaStatus::Done);
    }
}

#[test]
fn a_torn_log_of_conflicts_continues() {
    for level in [ConflictLevel::Medium, ConflictLevel::Complex] {
        let mut s = Scenario::running();
        s.add("one").well_until("buildMerge");

        s.answer("buildMerge", conflicted(level, &["a.rs"]))
            .all_goes_well();
        if level == ConflictLevel::Complex {
            s.command(Command::ResolveMerge { id: idea(1) })
                .all_goes_well();
        }
        every_beginning_goes_on(&s);
    }
}

#[test]
fn a_torn_log_of_a_failing_resolver_continues() {
    let mut s = Scenario::running();
    s.add("one").well_until("buildMerge");
    s.answer("buildMerge", conflicted(ConflictLevel::Medium, &["a.rs"]));
    s.well_until("iteration").iteration(&agent(1), exit(1));
    s.well_until("finishResolution");
    s.answer("finishResolution", still_conflicted(&["a.rs"]));
    s.command(Command::ResolveMerge { id: idea(1) })
        .all_goes_well();
    every_beginning_goes_on(&s);
}

#[test]
fn a_torn_log_of_a_failing_merged_tree_continues() {
    let mut s = Scenario::running();
    s.add("one")
        .well_until("verify")
        .check(exit(1))
        .all_goes_well();
    every_beginning_goes_on(&s);
}

#[test]
fn a_torn_log_of_a_moving_target_and_a_clean_end_continues() {
    let mut s = Scenario::running();
    s.add("one").well_until("land");
    s.answer("land", target_moved(0x66));
    s.command(Command::Shutdown { keep_agents: false })
        .all_goes_well();
    s.restart().all_goes_well();
    every_beginning_goes_on(&s);
}

/// The iteration at the idea ends like this.
fn over(s: &mut Scenario, end: RunEnd) {
    let (_, attempt) = s.state.attempt_at(&idea(1)).unwrap();
    let run = attempt.run.clone().unwrap();
    let (effect, _) = s.state.run_effect(&run).unwrap();
    s.run_over(effect, end);
}

fn failed(cause: Cause) -> RunEnd {
    let message = "not now".into();
    RunEnd {
        verdict: Some(Verdict::Failed { cause, message }),
        usage: Some(Usage {
            tokens: Some(Tokens {
                input: 10,
                ..Tokens::default()
            }),
            ..Usage::default()
        }),
        session: Some("a".parse().unwrap()),
        ..RunEnd::new(exit(1))
    }
}

fn well() -> RunEnd {
    RunEnd {
        verdict: Some(Verdict::Complete),
        how: exit(0),
        stdout_bytes: 10,
        duration_ms: 2_000,
        ..failed(Cause::Other)
    }
}

/// Starts from every beginning in which the idea is known; how runs ended stays so, whoever asks.
/// All must land the idea.
fn every_beginning_with_the_same_ends_goes_on(whole: &Scenario, ends: &BTreeMap<RunId, RunEnd>) {
    let known = whole
        .log
        .iter()
        .position(|(_, event)| matches!(event, Event::IdeaAdded(_)));
    for length in known.unwrap() + 1..=whole.log.len() {
        let mut s = Scenario::empty();
        s.now = whole.now;
        s.log = whole.log[..length].to_vec();
        s.state = fold(&s.log);
        s.restart();
        for _ in 0..40 {
            let asked = s.state.outbox.iter().find_map(|(id, effect)| match effect {
                Effect::Run(effect::Run { run, .. }) => Some((*id, ends.get(run)?.clone())),
                _ => None,
            });
            if let Some((effect, end)) = asked {
                s.run_over(effect, end);
                continue;
            }
            if s.state.swarm.paused || s.state.accounts.values().any(|hold| hold.until.is_none()) {
                s.command(Command::Resume);
            } else if s.idea(1).status == IdeaStatus::Blocked {
                s.command(Command::RetryIdea { id: idea(1) });
            } else if s.state.outbox.is_empty() && decide::next_deadline(&s.state, s.now).is_some()
            {
                s.wait_for_deadline();
            } else {
                s.one_goes_well();
            }
        }
        let one = s.idea(1);
        let last = &whole.log[length - 1].1;
        assert_eq!(one.status, IdeaStatus::Done, "after {length}: {last:?}");
        assert_eq!(one.failed_attempts, 0, "after {length}: {last:?}");
        // Each run that had ended is counted, and once.
        let begun = ends.keys().filter(|run| {
            let begins = |event: &Event| {
                matches!(event, Event::IterationStarted(IterationStarted { run: this, .. })
                    if this == *run)
            };
            s.log.iter().any(|(_, event)| begins(event))
        });
        assert_eq!(
            one.used.runs,
            begun.count() as u64,
            "after {length}: {last:?}"
        );
        assert_eq!(view::rest(&s.state), Rest::Idle);
    }
}

/// The idea's iterations end like this, one after the other; then all goes well.
fn ending_with(ends: Vec<RunEnd>, change: impl FnOnce(&mut Settings)) {
    let mut s = Scenario::with(change);
    s.add("one");
    let mut known = BTreeMap::new();
    for end in ends {
        s.well_until("iteration");
        let (_, attempt) = s.state.attempt_at(&idea(1)).unwrap();
        known.insert(attempt.run.clone().unwrap(), end.clone());
        over(&mut s, end);
        if s.state.swarm.paused || s.state.accounts.values().any(|hold| hold.until.is_none()) {
            s.command(Command::Resume);
        }
        if s.idea(1).status == IdeaStatus::Blocked {
            s.command(Command::RetryIdea { id: idea(1) });
        }
        if decide::next_deadline(&s.state, s.now).is_some() {
            s.wait_for_deadline();
        }
    }
    s.all_goes_well();
    every_beginning_with_the_same_ends_goes_on(&s, &known);
}

#[test]
fn a_torn_log_of_a_failing_provider_continues() {
    for cause in [
        Cause::Limit { until: None },
        Cause::Overloaded,
        Cause::Login,
        Cause::Credit,
        Cause::Profile,
    ] {
        let ends = vec![failed(cause.clone()), failed(cause.clone()), failed(cause)];
        ending_with(ends, |settings| {
            settings
                .accounts
                .insert(settings.default_profile.clone(), "claude".into());
        });
    }
}

/// It has an account and a conversation of its own.
#[test]
fn a_torn_log_of_a_resolver_with_a_failing_provider_continues() {
    let of_its_own = |end: RunEnd| RunEnd {
        session: Some("b".parse().unwrap()),
        ..end
    };
    let ends = [
        failed(Cause::Limit { until: None }),
        failed(Cause::Session),
        failed(Cause::Session),
        failed(Cause::Overloaded),
        well(),
    ];
    let mut s = Scenario::with(|settings| {
        settings.resolver = Some(profile("finn"));
    });
    s.add("one").well_until("iteration");
    let mut known = BTreeMap::new();
    let mut ending = |s: &mut Scenario, end: RunEnd| {
        let (_, attempt) = s.state.attempt_at(&idea(1)).unwrap();
        known.insert(attempt.run.clone().unwrap(), end.clone());
        over(s, end);
    };
    s.says(&agent(1), Signal::Complete(None));
    ending(&mut s, well());
    s.well_until("buildMerge");
    let conflicted = conflicted(ConflictLevel::Medium, &["a.rs"]);
    s.answer("buildMerge", conflicted);
    for end in ends {
        s.well_until("iteration");
        ending(&mut s, of_its_own(end));
        if s.pending("iteration").is_none() && s.pending("finishResolution").is_none() {
            s.wait_for_deadline();
        }
    }
    s.all_goes_well();
    let ended = &s.state.ended[&agent(1)];
    assert_eq!(ended.session.as_ref().unwrap().as_str(), "a");
    every_beginning_with_the_same_ends_goes_on(&s, &known);
}

#[test]
fn a_torn_log_of_a_dropped_conversation_continues() {
    let ends = vec![well(), failed(Cause::Session), failed(Cause::Session)];
    ending_with(ends, |_| ());
    ending_with(vec![failed(Cause::Exhausted), well()], |_| ());
}

/// Its worktree is prepared once more then; where that fails, nothing may be at work in it that
/// nobody waits for.
#[test]
fn a_torn_log_of_a_worktree_that_fails_again_continues() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    let ready = |(_, event): &(_, Event)| matches!(event, Event::WorktreeReady(_));
    let ready = s.log.iter().position(ready).unwrap();
    let mut waited = 0;
    for length in ready..=s.log.len() {
        let mut torn = Scenario::empty();
        torn.now = s.now;
        torn.log = s.log[..length].to_vec();
        torn.state = fold(&torn.log);
        torn.restart();
        if torn.pending("prepareWorktree").is_none() {
            continue;
        }
        waited += 1;
        assert!(torn.pending("iteration").is_none(), "it begins too early");
        torn.fails_as("prepareWorktree", FailureKind::NoSpace, "no room");
        assert_eq!(torn.idea(1).status, IdeaStatus::Pending);
        torn.wait_for_deadline().all_goes_well();
        assert_eq!(torn.idea(1).status, IdeaStatus::Done);
    }
    assert!(waited > 2, "the decision is of several events: {waited}");
}

/// Wherever the log was torn in the decision on an end that does not count: it does not count once.
#[test]
fn a_torn_log_of_an_excused_iteration_continues() {
    let cut = RunEnd {
        verdict: Some(Verdict::Cut),
        ..failed(Cause::Other)
    };
    let failures = [Cause::Overloaded, Cause::Session, Cause::Exhausted].map(failed);
    for end in failures.into_iter().chain([cut]) {
        let mut s = Scenario::running();
        s.add("one").well_until("iteration");
        over(&mut s, well());
        s.well_until("iteration");
        let begun = s.log.len();
        over(&mut s, end.clone());
        for length in begun..=s.log.len() {
            let mut torn = Scenario::empty();
            torn.now = s.now;
            torn.log = s.log[..length].to_vec();
            torn.state = fold(&torn.log);
            torn.restart();
            let asked = torn.pending("iteration");
            if let Some(effect) = asked {
                torn.run_over(effect, end.clone());
            }
            let attempt = torn.attempt(1);
            let last = &torn.log[length - 1].1;
            assert_eq!(attempt.excused.iterations, 1, "after {last:?}");
            assert_eq!(
                attempt.excused.cut,
                s.attempt(1).excused.cut,
                "after {last:?}"
            );
            let exhausted = s.attempt(1).excused.exhausted;
            assert_eq!(attempt.excused.exhausted, exhausted, "after {last:?}");
            assert_eq!(attempt.session, s.attempt(1).session, "after {last:?}");
            assert_eq!(attempt.phase, s.attempt(1).phase, "after {last:?}");
        }
    }
}

#[test]
fn a_torn_log_of_a_cut_off_output_continues() {
    let cut = |cause| RunEnd {
        verdict: Some(Verdict::Cut),
        ..failed(cause)
    };
    ending_with(vec![cut(Cause::Other), cut(Cause::Other)], |_| ());
}

#[test]
fn a_torn_log_of_used_up_budgets_continues() {
    ending_with(vec![well(), well()], |settings| {
        settings.budget.tokens_per_idea = Some(20);
    });
    ending_with(vec![well(), well()], |settings| {
        settings.budget.tokens_per_day = Some(20);
    });
}
