//! Each measure over a short log, with figures computed by hand.

use super::*;
use crate::domain::event::{
    AttemptEnded, Claimed, FactConfirmed, FactWritten, IterationExcused, IterationStarted, Learned,
    MemoryRead, MemoryRetracted, MemoryShown, ReadCounts, RunEnded, ShownItem,
};
use crate::domain::event::{ClaimEffect, FactDisputed};
use crate::domain::ids::AgentId;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::memory::{Evidence, FactKey, MemoryCommand};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::request::Author;
use crate::domain::state::provider::Excuse;
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::testkit::memories::{dispute, retract, write};
use crate::domain::testkit::{Scenario, agent};
use crate::domain::usage::{Bill, MicroUsd};

const DAY: i64 = 24 * 3_600_000;

/// A log as it grows, one second an event unless `wait` says otherwise.
#[derive(Default)]
struct Log {
    measures: Measures,
    now: i64,
}

fn key(text: &str) -> FactKey {
    text.parse().unwrap()
}

fn by(number: u64) -> Author {
    Author::Agent {
        id: agent(number),
        idea_id: None,
        run: "r1".parse().unwrap(),
    }
}

fn evidence(author: Author) -> Box<Evidence> {
    Box::new(Evidence {
        author,
        ..Evidence::default()
    })
}

fn item(reference: &str, version: u64) -> ShownItem {
    ShownItem {
        reference: reference.into(),
        version,
    }
}

impl Log {
    fn add(&mut self, event: impl Into<Event>) {
        self.now += 1_000;
        let seq = self.measures.seq + 1;
        let at = Timestamp::from_millis(self.now);
        self.measures.fold(seq, at, &event.into());
    }

    fn wait(&mut self, millis: i64) {
        self.now += millis;
    }

    fn learned(&mut self, author: Author, id: &str, claim: Option<(&str, u64, ClaimEffect)>) {
        let claim = claim.map(|(fact, version, effect)| Claimed {
            key: key(fact),
            version,
            effect,
        });
        self.add(Learned {
            id: id.into(),
            agent: author.agent().cloned(),
            profile: None,
            global: true,
            content: "a sentence".into(),
            evidence: evidence(author),
            claim,
            restored: false,
        });
    }

    fn written(&mut self, author: Author, fact: &str, version: u64) {
        self.add(FactWritten {
            key: key(fact),
            version,
            value: "a value".into(),
            evidence: evidence(author),
            why: None,
        });
    }

    fn shown_as(&mut self, number: u64, items: Vec<ShownItem>, fresh: bool, held: bool) {
        self.add(MemoryShown {
            agent: agent(number),
            run: run(number, 1),
            items,
            fresh,
            held,
        });
    }

    fn shown(&mut self, number: u64, items: Vec<ShownItem>) {
        self.shown_as(number, items, false, false);
    }

    fn read(&mut self, number: u64, items: Vec<ShownItem>, by_tool: ReadCounts) {
        self.add(MemoryRead {
            agent: agent(number),
            run: run(number, 1),
            items,
            by_tool,
        });
    }

    /// An attempt with so many iterations, one cost for each.
    fn attempt(&mut self, number: u64, costs: &[Option<u64>], side: Option<bool>, end: AttemptEnd) {
        for (index, cost) in (1..).zip(costs) {
            let run = run(number, index);
            self.add(IterationStarted {
                agent: agent(number),
                iteration: index,
                run: run.clone(),
            });
            if let Some(held) = side.filter(|_| index == 1) {
                let items = if held { vec![] } else { vec![item("a.b", 1)] };
                self.shown_as(number, items, true, held);
            }
            let bill = Bill {
                cost: cost.map(MicroUsd),
                ..Bill::default()
            };
            let end = RunEnd {
                bill: Some(bill),
                ..RunEnd::new(RunEndKind::Exited { code: 0 })
            };
            self.add(RunEnded { run, end });
        }
        self.ends(number, end);
    }

    fn ends(&mut self, number: u64, end: AttemptEnd) {
        let status = if end == AttemptEnd::Merged {
            IdeaStatus::Done
        } else {
            IdeaStatus::Failed
        };
        self.add(AttemptEnded {
            agent: agent(number),
            end,
            status,
            message: None,
            not_before: None,
            keep_worktree: false,
        });
    }

    fn stats(&self) -> StatsView {
        stats(&State::default(), &Aged::nothing(), &self.measures, None)
    }
}

fn run(number: u64, index: u32) -> crate::domain::ids::RunId {
    format!("r{number}-i{index}").parse().unwrap()
}

#[test]
fn duplication_counts_what_is_said_again_by_others_and_though_shown() {
    let mut log = Log::default();
    log.learned(by(1), "learning-001", None);
    // Again by the same agent, say in another scope: a repetition, but nobody else's.
    log.learned(by(1), "learning-001", None);
    log.learned(by(2), "learning-001", None);
    log.shown(3, vec![item("learning-001", 1)]);
    log.learned(by(3), "learning-001", None);
    // The board says it already, under a key that agent 4 was shown.
    let wrote = Some(("a.b", 1, ClaimEffect::Wrote));
    log.learned(by(1), "learning-002", wrote);
    log.shown(4, vec![item("a.b", 1)]);
    let confirmed = || Some(("a.b", 1, ClaimEffect::Confirmed));
    log.learned(by(4), "learning-003", confirmed());
    // Agent 5 was not shown it, and agent 6 was shown that it is retracted.
    log.learned(by(5), "learning-004", confirmed());
    log.shown(6, vec![item("a.b", 1)]);
    log.shown(6, vec![item("a.b", 0)]);
    log.learned(by(6), "learning-005", confirmed());
    let rival = Some(("a.b", 2, ClaimEffect::Disputed("c1".into())));
    log.learned(by(7), "learning-006", rival);
    let it = log.stats().duplication;
    assert_eq!((it.mentions, it.distinct), (9, 3));
    assert_eq!((it.across_agents, it.avoidable), (5, 2));
    assert_eq!(it.rate, Some(6.0 / 9.0));
    assert_eq!(it.across_agents_rate, Some(5.0 / 9.0));
    assert_eq!(it.avoidable_rate, Some(2.0 / 9.0));
    let nothing = Log::default().stats().duplication;
    assert_eq!((nothing.mentions, nothing.rate), (0, None));
}

#[test]
fn a_new_conversation_knows_nothing_that_an_old_one_was_shown() {
    let mut log = Log::default();
    log.learned(by(1), "learning-001", None);
    log.shown(2, vec![item("learning-001", 1)]);
    log.shown_as(2, Vec::new(), true, false);
    log.learned(by(2), "learning-001", None);
    assert_eq!(log.stats().duplication.avoidable, 0);
    // It was shown one item, once, although it was told of it no more.
    assert_eq!(log.stats().used.shown, 1);
}

#[test]
fn latency_is_the_time_until_another_agent_sees_that_version() {
    let mut log = Log::default();
    for number in 1..=10 {
        let id = format!("learning-{number:03}");
        log.learned(by(1), &id, None);
    }
    // Learned at 1 s to 10 s. Its own finder sees everything, which counts for nothing.
    let all = |range: std::ops::RangeInclusive<u64>| {
        let ids = range.map(|number| item(&format!("learning-{number:03}"), 1));
        ids.collect::<Vec<_>>()
    };
    log.shown(1, all(1..=10));
    // At 12 s: 11, 10 and 9 s after.
    log.shown(2, all(1..=3));
    // At 13 s agent 3 reads some of the same and five others: 9, 8, 7, 6 and 5 s after.
    log.read(3, all(2..=8), ReadCounts::default());
    let it = log.stats().latency;
    assert_eq!((it.seen, it.unseen), (8, 2));
    // Sorted: 5 6 7 8 9 9 10 11.
    assert_eq!(it.p50_ms, Some(8_000));
    assert_eq!(it.p90_ms, Some(11_000));
    assert_eq!(it.p99_ms, Some(11_000));
}

#[test]
fn a_version_of_a_fact_is_seen_with_a_later_one_but_not_with_an_earlier_one() {
    let mut log = Log::default();
    log.written(by(1), "a.b", 1);
    log.written(Author::Person, "a.b", 2);
    log.shown(2, vec![item("a.b", 1)]);
    let it = log.stats().latency;
    assert_eq!((it.seen, it.unseen, it.p50_ms), (1, 1, Some(2_000)));
    // A person's find is seen by any agent, also by the writer of the one before.
    log.shown(1, vec![item("a.b", 3)]);
    let it = log.stats().latency;
    assert_eq!((it.seen, it.unseen, it.p99_ms), (2, 0, Some(2_000)));
}

#[test]
fn a_clock_that_goes_back_gives_no_negative_latency() {
    let mut log = Log::default();
    log.learned(by(1), "learning-001", None);
    log.wait(-60_000);
    log.shown(2, vec![item("learning-001", 1)]);
    assert_eq!(log.stats().latency.p50_ms, Some(0));
}

#[test]
fn lift_compares_the_shown_with_the_held() {
    let mut log = Log::default();
    log.learned(Author::Person, "learning-001", None);
    let usd = |cents: u64| Some(cents * 10_000);
    // Three shown: two done; 1, 2 and 3 iterations; 1, 5 and 9 cents.
    log.attempt(1, &[usd(1)], Some(false), AttemptEnd::Merged);
    log.attempt(2, &[usd(2), usd(3)], Some(false), AttemptEnd::Merged);
    let three = [usd(3), usd(3), usd(3)];
    log.attempt(3, &three, Some(false), AttemptEnd::Failed);
    // Two held: one done; 4 and 2 iterations; one without a cost.
    let four = [usd(1), usd(1), None, usd(1)];
    log.attempt(4, &four, Some(true), AttemptEnd::TimedOut);
    log.attempt(5, &[None, None], Some(true), AttemptEnd::Merged);
    // These say nothing: ended by a person or the daemon, or neither shown nor held.
    log.attempt(6, &[usd(90)], Some(false), AttemptEnd::Stopped);
    log.attempt(7, &[usd(90)], Some(true), AttemptEnd::Interrupted);
    log.attempt(8, &[usd(90)], None, AttemptEnd::Merged);
    let it = log.stats().lift;
    let shown = ArmView {
        attempts: 3,
        done: 2,
        rate: Some(2.0 / 3.0),
        median_iterations: Some(2),
        median_usd: Some(0.05),
    };
    assert_eq!(it.shown, shown);
    let held = ArmView {
        attempts: 2,
        done: 1,
        rate: Some(0.5),
        median_iterations: Some(2),
        median_usd: Some(0.03),
    };
    assert_eq!(it.held, held);
    assert!(it.too_few);
    assert!((it.lift.unwrap() - 1.0 / 6.0).abs() < 1e-9);
}

#[test]
fn twenty_attempts_on_each_side_are_enough() {
    let mut log = Log::default();
    log.learned(Author::Person, "learning-001", None);
    for number in 0..20 {
        let end = if number % 4 == 0 {
            AttemptEnd::Failed
        } else {
            AttemptEnd::Merged
        };
        log.attempt(number + 1, &[None], Some(false), end);
        assert!(log.stats().lift.too_few);
        let end = if number % 2 == 0 {
            AttemptEnd::Failed
        } else {
            AttemptEnd::Merged
        };
        log.attempt(number + 101, &[None], Some(true), end);
    }
    let it = log.stats().lift;
    assert_eq!((it.too_few, it.lift), (false, Some(0.25)));
}

#[test]
fn what_was_held_back_counts_only_once_there_was_something() {
    let mut log = Log::default();
    log.attempt(1, &[None], Some(true), AttemptEnd::Merged);
    assert_eq!(log.stats().lift.held.attempts, 0);
    let begin = |log: &mut Log, iteration| {
        log.add(IterationStarted {
            agent: agent(2),
            iteration,
            run: run(2, iteration),
        });
    };
    // Held before there was anything, and again after.
    begin(&mut log, 1);
    log.shown_as(2, Vec::new(), true, true);
    log.learned(by(3), "learning-001", None);
    begin(&mut log, 2);
    log.ends(2, AttemptEnd::Merged);
    assert_eq!(log.stats().lift.held.attempts, 1);
}

#[test]
fn an_attempt_on_both_sides_counts_on_neither_and_an_excused_iteration_not_at_all() {
    let mut log = Log::default();
    log.learned(Author::Person, "learning-001", None);
    log.add(IterationStarted {
        agent: agent(1),
        iteration: 1,
        run: run(1, 1),
    });
    log.shown(1, vec![item("learning-001", 1)]);
    log.shown_as(1, Vec::new(), false, true);
    log.ends(1, AttemptEnd::Merged);
    let it = log.stats().lift;
    assert_eq!((it.shown.attempts, it.held.attempts), (0, 0));
    let begin = |log: &mut Log, index| {
        log.add(IterationStarted {
            agent: agent(2),
            iteration: 1,
            run: run(2, index),
        });
    };
    begin(&mut log, 1);
    log.shown(2, vec![item("learning-001", 1)]);
    log.add(IterationExcused {
        agent: agent(2),
        excuse: Excuse::Session,
        phase: AttemptPhase::Backoff,
        not_before: None,
    });
    begin(&mut log, 2);
    log.ends(2, AttemptEnd::Merged);
    assert_eq!(log.stats().lift.shown.median_iterations, Some(1));
}

#[test]
fn use_counts_shown_items_that_the_same_attempt_takes_up() {
    let mut log = Log::default();
    let four = ["a.b", "c.d", "e.f", "g.h"];
    log.shown(1, four.map(|it| item(it, 1)).into());
    log.shown(2, vec![item("a.b", 1)]);
    let counts = ReadCounts {
        board: 1,
        fact: 2,
        search: 3,
        log: 4,
    };
    // Agent 1 takes up three of four, one of them twice; what it was not shown counts for nothing.
    log.read(1, vec![item("a.b", 1), item("x.y", 1)], counts);
    let confirm = |number, fact| FactConfirmed {
        key: key(fact),
        version: 1,
        evidence: evidence(by(number)),
    };
    log.add(confirm(1, "a.b"));
    log.add(confirm(1, "c.d"));
    let rival = Some(("e.f", 2, ClaimEffect::Disputed("c1".into())));
    log.learned(by(1), "learning-001", rival);
    // Agent 2 was not shown this one.
    log.add(FactDisputed {
        key: key("g.h"),
        version: 2,
        claim: "c1".into(),
        value: None,
        evidence: evidence(by(2)),
    });
    let it = log.stats().used;
    assert_eq!((it.shown, it.used, it.rate), (5, 3, Some(0.6)));
    assert_eq!((it.board_reads, it.log_reads), (6, 4));
}

#[test]
fn synthesis_counts_what_it_wrote_and_what_was_soon_taken_back() {
    let synthesis = || Author::Synthesis {
        run: "s1".parse().unwrap(),
    };
    let mut log = Log::default();
    for fact in ["a.b", "c.d", "e.f", "g.h"] {
        log.written(synthesis(), fact, 1);
    }
    let confirmed = Some(("g.h", 1, ClaimEffect::Confirmed));
    log.learned(synthesis(), "learning-001", confirmed);
    let take_back = |log: &mut Log, fact| {
        log.add(MemoryRetracted {
            learnings: Vec::new(),
            facts: vec![key(fact)],
            claims: Vec::new(),
            by: Author::Person,
            why: None,
        });
    };
    take_back(&mut log, "a.b");
    // Somebody else's value by now.
    log.written(by(1), "c.d", 2);
    take_back(&mut log, "c.d");
    log.wait(15 * DAY);
    take_back(&mut log, "e.f");
    let it = log.stats().synthesis;
    assert_eq!((it.accepted, it.created, it.retracted_soon), (5, 4, 1));
    assert_eq!(it.retracted_soon_rate, Some(0.25));
}

#[test]
fn facts_are_counted_with_their_evidence_and_state() {
    let mut story = Scenario::running();
    let mut ask = |command: MemoryCommand| {
        story.command(crate::domain::operation::Command::Memory(command));
    };
    for fact in ["a.b", "c.d", "e.f", "g.h"] {
        ask(write(fact, None, "a value"));
    }
    ask(dispute("c.d", 1, Some("another")));
    ask(retract("g.h"));
    let paths = [(key("a.b"), vec!["src/api.rs".to_owned()])];
    let aged = Aged::from(std::collections::BTreeMap::from(paths));
    let it = stats(&story.state, &aged, &Measures::default(), None).facts;
    assert_eq!((it.facts, it.links), (3, 3));
    assert_eq!(it.links_per_fact, Some(1.0));
    assert_eq!((it.contradicted, it.aged), (1, 1));
    let nothing = Log::default().stats().facts;
    assert_eq!((nothing.facts, nothing.links_per_fact), (0, None));
}

#[test]
fn the_summary_fits_60_columns_and_says_when_there_is_nothing_to_say() {
    let mut log = Log::default();
    let mut stats = log.stats();
    let words = |stats: &StatsView| markdown(stats).join("\n");
    assert!(words(&stats).contains("too few: 20 needed on each side"));
    assert!(
        words(&stats).contains("accepted: none"),
        "{}",
        words(&stats)
    );
    for measure in summary(&stats) {
        assert!(measure.meaning.len() <= 58, "{}", measure.meaning);
        for (name, _) in measure.figures {
            assert!(name.len() <= 24, "{name}");
        }
    }
    log.learned(by(1), "learning-001", None);
    log.learned(by(2), "learning-001", None);
    stats = log.stats();
    stats.since_start = Some(SinceStart {
        writes: 9,
        conflicts: 2,
        synthesis_accepted: 1,
        synthesis_refused: 3,
    });
    for part in [
        "said again: 50 % (1 of 2)",
        "conflicts since start: 2 of 9 writes",
        "since the daemon's start: 1 of 4 proposed",
    ] {
        assert!(words(&stats).contains(part), "{part}: {}", words(&stats));
    }
}

#[test]
fn a_percentile_is_the_nearest_rank() {
    let ten: Vec<u32> = (1..=10).collect();
    let of = |percent| percentile(&ten, percent);
    assert_eq!((of(50), of(90), of(99)), (Some(5), Some(9), Some(10)));
    assert_eq!(percentile(&[7], 1), Some(7));
    assert_eq!(percentile::<u32>(&[], 50), None);
}

#[test]
fn an_unknown_agent_is_shown_nothing() {
    let log = Log::default();
    let id: AgentId = agent(9);
    assert!(!log.measures.attempts.is_shown(&id, "a.b"));
}
