//! When a replay runs, that it runs at most once and never lands, and what its end means.

use insta::assert_snapshot;

use crate::domain::effect::{Effect, JudgeReplay, Purpose};
use crate::domain::event::{Event, ReplayJudged};
use crate::domain::ids::RunId;
use crate::domain::likeness::MatchStatus;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::outcome::FailureKind;
use crate::domain::request::{Author, Request};
use crate::domain::retention::{Need, Needs, Verdict as Keep};
use crate::domain::testkit::outcomes::replay_measured;
use crate::domain::testkit::scenario::{exit, fold};
use crate::domain::testkit::{Scenario, agent, profile};
use crate::domain::usage::{MicroUsd, Tokens, Usage};
use crate::domain::verdict::{Cause, Verdict};
use crate::view::{self, Rest};

fn ask() -> Command {
    Command::ReplayRecord {
        of: "r0001-ed-001-i1".parse().unwrap(),
        sha256: "7".repeat(64),
        profile: profile("finn"),
    }
}

fn asked() -> Scenario {
    let mut s = Scenario::running();
    s.command(ask());
    s
}

/// The runs of replays that were ever requested.
fn runs(s: &Scenario) -> Vec<String> {
    let effects = s
        .log
        .iter()
        .filter_map(|(_, event)| Some(event.requested_effect()?.1));
    let runs = effects.filter_map(|effect| match effect {
        Effect::Run(run) if matches!(run.purpose, Purpose::Replay { .. }) => {
            Some(run.run.to_string())
        }
        _ => None,
    });
    runs.collect()
}

fn judged(s: &Scenario) -> Vec<&ReplayJudged> {
    let events = s.log.iter().filter_map(|(_, event)| match event {
        Event::ReplayJudged(judged) => Some(judged),
        _ => None,
    });
    events.collect()
}

fn run(s: &Scenario) -> RunId {
    s.state.replay_run().expect("none is under way").clone()
}

fn ends(s: &mut Scenario, end: RunEnd) {
    let (effect, _) = s.state.run_effect(&run(s)).unwrap();
    s.run_over(effect, end);
}

/// What the comparison that is under way was told of the run.
fn told(s: &Scenario) -> Option<String> {
    let mut effects = s.state.outbox.values();
    effects.find_map(|effect| match effect {
        Effect::JudgeReplay(JudgeReplay { why, .. }) => why.clone(),
        _ => None,
    })
}

fn status(s: &Scenario) -> Option<MatchStatus> {
    let [judged] = judged(s)[..] else {
        panic!("judged {} times", judged(s).len())
    };
    judged.verdict.map(|verdict| verdict.match_status)
}

#[test]
fn it_runs_once_is_compared_and_judged_once() {
    let mut s = asked();
    assert_eq!(runs(&s), ["r0001-replay-run"]);
    assert_eq!(view::rest(&s.state), Rest::Busy);
    assert_eq!(s.state.slots_used(), 1);
    ends(&mut s, RunEnd::new(exit(0)));
    assert_eq!(s.state.slots_used(), 0);
    assert_eq!(told(&s), None);
    s.goes_well("judgeReplay");
    assert_eq!(status(&s), Some(MatchStatus::ExactMatch));
    assert_eq!(s.state.records.replay, None);
    assert_eq!(view::rest(&s.state), Rest::Idle);
    s.command(ask());
    assert_eq!(runs(&s)[1..], ["r0002-replay-run"]);
}

#[test]
fn there_is_one_at_a_time_and_none_by_agents_or_in_a_pause() {
    let mut s = asked();
    assert_snapshot!(s.refused(&ask()), @r"
    NOT_NOW: cannot replay an iteration: r0001-replay-run is under way, and there is one at a time
    see what it does: .git/swarm/runs/r0001-replay-run
    ");
    ends(&mut s, RunEnd::new(exit(0)));
    let again = s.refused(&ask());
    assert!(again.contains("under way"), "{again}");
    s.goes_well("judgeReplay");
    s.command(Command::Pause { reason: None });
    assert_snapshot!(s.refused(&ask()), @r"
    NOT_NOW: cannot replay an iteration: the swarm is paused
    continue: swarm resume
    ");
    s.command(Command::Resume);
    let unknown = s.refused(&Command::ReplayRecord {
        of: "r0001-ed-001-i1".parse().unwrap(),
        sha256: "7".repeat(64),
        profile: profile("nobody"),
    });
    assert!(unknown.starts_with("PROFILE_UNKNOWN: "), "{unknown}");
    let request = Request {
        by: Author::Agent {
            id: agent(1),
            idea_id: None,
            run: "r1".parse().unwrap(),
        },
        ..Request::from(ask())
    };
    let why = s.request(&request).unwrap_err().to_string();
    assert!(why.contains("needs a person"), "{why}");
    assert_eq!(runs(&s).len(), 1);
}

#[test]
fn it_waits_for_a_slot_and_then_takes_it() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").well_until("iteration");
    s.command(ask());
    assert_eq!(runs(&s).len(), 0);
    assert_eq!(view::rest(&s.state), Rest::Busy);
    s.add("two").all_goes_well();
    assert_eq!(runs(&s).len(), 1);
    assert_eq!(status(&s), Some(MatchStatus::ExactMatch));
    assert_eq!(view::rest(&s.state), Rest::Idle);
}

#[test]
fn a_pause_holds_one_that_waits_and_lets_one_that_runs_end() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").well_until("iteration");
    s.command(ask());
    s.command(Command::Pause { reason: None });
    s.all_goes_well();
    assert_eq!(runs(&s).len(), 0);
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.command(Command::Resume);
    assert_eq!(runs(&s).len(), 1);
    s.command(Command::Pause { reason: None });
    s.all_goes_well();
    assert_eq!(status(&s), Some(MatchStatus::ExactMatch));
}

#[test]
fn a_run_that_was_stopped_lost_or_failed_is_not_repeated() {
    let cases = [
        (RunEndKind::Lost, "its runner"),
        (exit(3), "exit code 3"),
        (RunEndKind::TimedOut, "took too long"),
    ];
    for (how, words) in cases {
        let mut s = asked();
        ends(&mut s, RunEnd::new(how));
        let why = told(&s).expect("it went well");
        assert!(why.contains(words), "{why}");
        s.goes_well("judgeReplay");
        assert_eq!(status(&s), None);
        assert_eq!(judged(&s)[0].why.as_deref(), Some(why.as_str()));
        s.restart();
        assert_eq!(runs(&s).len(), 1);
    }
    let mut s = asked();
    s.command(Command::Shutdown { keep_agents: false });
    s.wait(60_000);
    ends(&mut s, RunEnd::new(RunEndKind::Stopped));
    s.restart().all_goes_well();
    assert_eq!((runs(&s).len(), status(&s)), (1, None));
    let mut s = asked();
    s.fails_as(
        "replay",
        FailureKind::AgentUnusable,
        "the program is missing",
    );
    let why = told(&s).unwrap();
    assert!(why.contains("the program is missing"), "{why}");
}

#[test]
fn one_that_cannot_be_compared_has_no_verdict() {
    let mut s = asked();
    ends(&mut s, RunEnd::new(exit(0)));
    s.fails("judgeReplay", "git failed");
    assert_eq!(status(&s), None);
    assert_eq!(judged(&s)[0].why.as_deref(), Some("git failed"));
    assert_eq!(s.state.records.replay, None);
}

#[test]
fn a_limit_of_its_provider_holds_the_account_and_ends_it() {
    let mut s = asked();
    let blamed = RunEnd {
        verdict: Some(Verdict::Failed {
            cause: Cause::Overloaded,
            message: "try again later".into(),
        }),
        ..RunEnd::new(exit(1))
    };
    ends(&mut s, blamed);
    assert!(s.state.accounts.contains_key("finn"));
    s.goes_well("judgeReplay");
    assert_eq!(status(&s), None);
    let held = s.refused(&ask());
    assert!(held.contains("the account finn has to wait"), "{held}");
}

#[test]
fn what_it_costs_counts_for_the_day() {
    let mut s = Scenario::with(|settings| {
        settings.budget.usd_per_day = Some(MicroUsd(1_000));
    });
    s.command(ask());
    let end = RunEnd {
        usage: Some(Usage {
            tokens: Some(Tokens {
                input: 10,
                ..Tokens::default()
            }),
            cost: Some(MicroUsd(1_000)),
            ..Usage::default()
        }),
        ..RunEnd::new(exit(0))
    };
    ends(&mut s, end);
    let day = s.state.used.values().next().unwrap();
    assert_eq!((day.usd(), day.tokens.total()), (MicroUsd(1_000), 10));
    assert!(s.state.swarm.paused, "the budget of the day is used up");
    s.goes_well("judgeReplay");
    let paused = s.refused(&ask());
    assert!(paused.contains("paused"), "{paused}");
}

#[test]
fn a_log_that_is_torn_anywhere_runs_it_once_and_judges_it_once() {
    let mut whole = asked();
    let first = whole.log.len();
    ends(&mut whole, RunEnd::new(exit(0)));
    whole.goes_well("judgeReplay");
    let is_asked = |(_, event): &(_, Event)| matches!(event, Event::ReplayAsked(_));
    let begin = whole.log.iter().position(is_asked).unwrap();
    assert!(begin < first);
    for length in begin + 1..=whole.log.len() {
        let mut s = Scenario::empty();
        s.now = whole.now;
        s.log = whole.log[..length].to_vec();
        s.state = fold(&s.log);
        s.restart().all_goes_well();
        assert_eq!(runs(&s).len(), 1, "after {length} events");
        assert_eq!(judged(&s).len(), 1, "after {length} events");
        let ended = |(_, event): &&(_, Event)| matches!(event, Event::RunEnded(_));
        assert_eq!(s.log.iter().filter(ended).count(), 1);
        assert_eq!(view::rest(&s.state), Rest::Idle);
    }
}

#[test]
fn a_stop_after_a_torn_log_is_forgotten_with_its_run() {
    let mut whole = asked();
    ends(&mut whole, RunEnd::new(exit(0)));
    let ended = |(_, event): &(_, Event)| matches!(event, Event::RunEnded(_));
    let end = whole.log.iter().position(ended).unwrap();
    let mut s = Scenario::empty();
    s.now = whole.now;
    s.log = whole.log[..=end].to_vec();
    s.state = fold(&s.log);
    s.restart().command(Command::ShutdownNow);
    assert_eq!(
        s.state.stops.len(),
        1,
        "its effect is pending, so it is stopped"
    );
    s.all_goes_well();
    assert!(s.state.stops.is_empty());
}

#[test]
fn a_comparison_that_is_reported_twice_says_nothing_new() {
    let mut s = asked();
    ends(&mut s, RunEnd::new(exit(0)));
    let effect = s.pending("judgeReplay").unwrap();
    s.done(effect, replay_measured(None));
    s.done(effect, replay_measured(Some("never")));
    assert_eq!(status(&s), Some(MatchStatus::ExactMatch));
}

#[test]
fn the_directory_of_its_run_stays_until_it_is_judged() {
    let mut s = asked();
    let run = run(&s);
    let kept = |s: &Scenario| Needs::of(&s.state).run(&run);
    assert_eq!(kept(&s), Keep::Needed(Need::InUse));
    ends(&mut s, RunEnd::new(exit(0)));
    assert_eq!(kept(&s), Keep::Needed(Need::InUse));
    s.goes_well("judgeReplay");
    assert_eq!(kept(&s), Keep::Over(None));
}
