//! When a synthesis runs: after enough new learnings, one at a time, and what its end means.

use insta::assert_snapshot;

use super::{PERSON, by, learn, retract};
use crate::domain::effect::{Effect, Purpose};
use crate::domain::event::Event;
use crate::domain::ids::RunId;
use crate::domain::memory::{MemoryCommand, Retracted};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::outcome::FailureKind;
use crate::domain::settings::{Mode, SynthesisSettings};
use crate::domain::testkit::scenario::{exit, fold};
use crate::domain::testkit::{Scenario, profile};
use crate::domain::usage::{MicroUsd, Tokens, Usage};
use crate::domain::verdict::{Cause, Verdict};
use crate::view::{self, Rest};

fn after_every(every: u64) -> Scenario {
    Scenario::with(|settings| {
        settings.synthesis = SynthesisSettings {
            profile: Some(profile("finn")),
            every,
        };
    })
}

fn learn_some(s: &mut Scenario, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        by(s, &PERSON, learn(&format!("sentence {number}")));
    }
}

fn asked(s: &mut Scenario) -> String {
    s.refused(&ask(None))
}

fn ask(name: Option<&str>) -> Command {
    let profile = name.map(profile);
    Command::Memory(MemoryCommand::Synthesize { profile })
}

/// The runs of the synthesis that were ever asked for, with the last learning that each reads.
fn runs(s: &Scenario) -> Vec<(String, u64)> {
    let runs = s.log.iter().filter_map(|(_, event)| match event {
        Event::EffectRequested(requested) => match &requested.effect {
            Effect::Run(run) => match run.purpose {
                Purpose::Synthesis { up_to, .. } => Some((run.run.to_string(), up_to)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    runs.collect()
}

fn run(s: &Scenario) -> RunId {
    s.state.synthesis_run().expect("none is under way").clone()
}

fn ends(s: &mut Scenario, end: RunEnd) {
    let (effect, _) = s.state.run_effect(&run(s)).unwrap();
    s.run_over(effect, end);
}

fn warning(s: &Scenario) -> Option<&str> {
    let warning = s.state.warnings.get("synthesis")?;
    Some(&warning.message)
}

#[test]
fn it_begins_after_so_many_new_learnings_and_only_once() {
    let mut s = after_every(3);
    learn_some(&mut s, 1..=2);
    assert_eq!(runs(&s), []);
    // Said again, it is not new.
    by(&mut s, &PERSON, learn("sentence 2"));
    assert_eq!(runs(&s), []);
    learn_some(&mut s, 3..=9);
    assert_eq!(runs(&s), [("r0001-synthesis".to_owned(), 3)]);
    assert_eq!(view::rest(&s.state), Rest::Busy);
    ends(&mut s, RunEnd::new(exit(0)));
    assert_eq!(s.state.synthesis.up_to, 3);
    // Six are unread: the next one follows at once, and reads all of them.
    assert_eq!(runs(&s)[1..], [("r0002-synthesis".to_owned(), 9)]);
    ends(&mut s, RunEnd::new(exit(0)));
    assert_eq!((runs(&s).len(), s.state.synthesis.up_to), (2, 9));
    assert_eq!(view::rest(&s.state), Rest::Idle);
    assert_eq!(warning(&s), None);
}

#[test]
fn it_needs_no_slot_and_no_idea() {
    let mut s = after_every(1);
    s.add("one").add("two").well_until("iteration");
    by(&mut s, &PERSON, learn("x"));
    assert_eq!(runs(&s).len(), 1);
    s.all_goes_well();
    assert_eq!(view::rest(&s.state), Rest::Idle);
}

#[test]
fn it_does_not_begin_while_the_swarm_is_paused_or_a_person_chooses() {
    let mut s = after_every(2);
    s.command(Command::Pause { reason: None });
    learn_some(&mut s, 1..=2);
    assert_eq!(runs(&s), []);
    assert_snapshot!(asked(&mut s), @r"
    NOT_NOW: cannot start a synthesis: the swarm is paused
    continue: swarm resume
    ");
    s.command(Command::SetMode {
        mode: Mode::SemiAuto,
    });
    s.command(Command::Resume);
    assert_eq!(runs(&s), []);
    s.command(Command::SetMode {
        mode: Mode::Autopilot,
    });
    assert_eq!(runs(&s).len(), 1);
}

#[test]
fn without_a_profile_only_a_person_begins_it() {
    let mut s = Scenario::running();
    assert_snapshot!(asked(&mut s), @r"
    NOT_NOW: cannot start a synthesis: memory.synthesis.profile is not set
    name a profile: swarm memory synthesize --profile PROFILE
    ");
    assert_snapshot!(s.refused(&ask(Some("finn"))), @r"
    NOT_NOW: cannot start a synthesis: nothing new was learned since the last one
    see what is known: swarm memory board
    ");
    learn_some(&mut s, 1..=60);
    assert_eq!(runs(&s), []);
    let unknown = s.refused(&ask(Some("nobody")));
    assert!(unknown.starts_with("PROFILE_UNKNOWN: "), "{unknown}");
    s.command(ask(Some("finn")));
    assert_eq!(runs(&s), [("r0001-synthesis".to_owned(), 60)]);
    let again = s.refused(&ask(Some("finn")));
    assert!(again.contains("r0001-synthesis is under way"), "{again}");
}

#[test]
fn what_the_synthesis_says_and_what_was_taken_back_is_not_new() {
    let mut s = after_every(2);
    learn_some(&mut s, 1..=1);
    let what = Retracted::Learning("learning-001".into());
    by(&mut s, &PERSON, retract(what));
    learn_some(&mut s, 2..=2);
    assert_eq!(runs(&s), []);
    learn_some(&mut s, 3..=3);
    let synthesis = super::synthesis_of(&s);
    let said = super::citing(learn("in its own words"), &["learning-003"]);
    by(&mut s, &synthesis, said);
    ends(&mut s, RunEnd::new(exit(0)));
    learn_some(&mut s, 5..=5);
    assert_eq!(runs(&s).len(), 1);
    learn_some(&mut s, 6..=6);
    assert_eq!(runs(&s).len(), 2);
}

#[test]
fn a_failure_is_a_warning_and_waits_for_the_next_learnings() {
    let mut s = after_every(2);
    learn_some(&mut s, 1..=2);
    let said = RunEnd {
        last_words: Some("no such model".into()),
        ..RunEnd::new(exit(3))
    };
    ends(&mut s, said);
    let expected = "the synthesis of learnings failed (exit code 3: no such model); what it was to \
        read waits for the next one, when more is learned; its output: \
        .git/swarm/runs/r0001-synthesis";
    assert_eq!(warning(&s).unwrap(), expected);
    assert_eq!(runs(&s).len(), 1);
    learn_some(&mut s, 3..=4);
    ends(&mut s, RunEnd::new(RunEndKind::TimedOut));
    assert!(warning(&s).unwrap().contains("r0002-synthesis"));
    learn_some(&mut s, 5..=6);
    let why = "the program is missing";
    s.fails_as("synthesis", FailureKind::AgentUnusable, why);
    let held = s
        .state
        .profiles
        .values()
        .next()
        .expect("no profile is held");
    assert!(held.message.contains(why));
    learn_some(&mut s, 7..=8);
    assert_eq!(s.state.synthesis.up_to, 0, "nothing is read yet");
    s.wait_for_deadline();
    ends(&mut s, RunEnd::new(exit(0)));
    assert_eq!((warning(&s), runs(&s).len()), (None, 4));
    assert_eq!(
        s.state.synthesis.up_to, 8,
        "what failed runs left is read too"
    );
    assert_eq!(s.state.swarm.failures_in_a_row, 0);
}

#[test]
fn a_program_that_fails_does_not_start_again_and_again_while_much_waits() {
    let mut s = after_every(50);
    s.command(Command::Pause { reason: None });
    learn_some(&mut s, 1..=260);
    s.command(Command::Resume);
    assert_eq!(runs(&s), [("r0001-synthesis".to_owned(), 200)]);
    ends(&mut s, RunEnd::new(exit(3)));
    assert_eq!(runs(&s).len(), 1, "60 more wait, but it has just failed");
    learn_some(&mut s, 261..=309);
    assert_eq!(runs(&s).len(), 1);
    learn_some(&mut s, 310..=310);
    assert_eq!(runs(&s)[1..], [("r0002-synthesis".to_owned(), 200)]);
    // Once it works, what waits is read without a pause.
    ends(&mut s, RunEnd::new(exit(0)));
    assert_eq!(runs(&s)[2..], [("r0003-synthesis".to_owned(), 310)]);
}

#[test]
fn a_run_that_was_stopped_or_lost_keeps_its_turn() {
    let mut s = after_every(2);
    learn_some(&mut s, 1..=2);
    s.command(Command::Shutdown { keep_agents: false });
    s.wait(60_000);
    ends(&mut s, RunEnd::new(RunEndKind::Stopped));
    s.restart();
    assert_eq!(runs(&s)[1..], [("r0002-synthesis".to_owned(), 2)]);
    for _ in 0..2 {
        ends(&mut s, RunEnd::new(RunEndKind::Lost));
    }
    assert_eq!((runs(&s).len(), warning(&s)), (4, None));
    // Three times in a row is no accident.
    ends(&mut s, RunEnd::new(RunEndKind::Lost));
    assert_eq!(runs(&s).len(), 4);
    assert!(warning(&s).is_some());
}

#[test]
fn a_limit_of_its_provider_holds_the_account_and_it_tries_again() {
    let mut s = after_every(2);
    learn_some(&mut s, 1..=2);
    let blamed = RunEnd {
        verdict: Some(Verdict::Failed {
            cause: Cause::Overloaded,
            message: "try again later".into(),
        }),
        ..RunEnd::new(exit(1))
    };
    ends(&mut s, blamed);
    assert!(s.state.accounts.contains_key("finn"));
    assert_eq!((runs(&s).len(), warning(&s)), (1, None));
    let held = s.refused(&ask(None));
    assert!(held.contains("the account finn has to wait"), "{held}");
    s.wait_for_deadline();
    assert_eq!(runs(&s).len(), 2);
    let well = RunEnd {
        verdict: Some(Verdict::Complete),
        ..RunEnd::new(exit(0))
    };
    ends(&mut s, well);
    assert!(s.state.accounts.is_empty());
    assert_eq!(s.state.synthesis.up_to, 2);
}

#[test]
fn what_it_costs_counts_for_the_day() {
    let mut s = after_every(1);
    s.load(|settings| settings.budget.usd_per_day = Some(MicroUsd(1_000)));
    learn_some(&mut s, 1..=1);
    let usage = Usage {
        tokens: Some(Tokens {
            input: 10,
            ..Tokens::default()
        }),
        cost: Some(MicroUsd(1_000)),
        ..Usage::default()
    };
    let end = RunEnd {
        verdict: Some(Verdict::Complete),
        usage: Some(usage),
        ..RunEnd::new(exit(0))
    };
    ends(&mut s, end);
    let day = s.state.used.values().next().unwrap();
    assert_eq!((day.usd(), day.tokens.total()), (MicroUsd(1_000), 10));
    assert!(s.state.swarm.paused, "the budget of the day is used up");
    learn_some(&mut s, 2..=3);
    assert_eq!(runs(&s).len(), 1);
}

#[test]
fn a_log_that_is_torn_anywhere_begins_no_second_one_and_loses_none() {
    let mut whole = after_every(2);
    learn_some(&mut whole, 1..=2);
    ends(&mut whole, RunEnd::new(exit(0)));
    let known =
        |(_, event): &(_, Event)| matches!(event, Event::Learned(it) if it.id == "learning-002");
    let known = whole.log.iter().position(known).unwrap();
    for length in known + 1..=whole.log.len() {
        let mut s = Scenario::empty();
        s.now = whole.now;
        s.log = whole.log[..length].to_vec();
        s.state = fold(&s.log);
        s.restart().all_goes_well();
        assert_eq!(runs(&s).len(), 1, "after {length} events");
        assert_eq!(s.state.synthesis.up_to, 2, "after {length} events");
        assert_eq!(view::rest(&s.state), Rest::Idle);
    }
}

#[test]
fn a_run_writes_while_it_is_under_way_and_at_most_a_hundred_times() {
    let mut s = after_every(1);
    learn_some(&mut s, 1..=1);
    let first = super::synthesis_of(&s);
    let say = |number| {
        super::citing(
            learn(&format!("words {}", "x".repeat(number))),
            &["learning-001"],
        )
    };
    for number in 1..=100 {
        by(&mut s, &first, say(number));
    }
    let why = super::refused(&mut s, &first, say(101));
    assert_eq!(
        why,
        "QUOTA: this run has written 100 times; no run may write more"
    );
    ends(&mut s, RunEnd::new(exit(0)));
    let why = super::refused(&mut s, &first, say(101));
    assert!(why.starts_with("RUN_OVER: "), "{why}");
    learn_some(&mut s, 2..=2);
    let second = super::synthesis_of(&s);
    by(&mut s, &second, say(101));
}
