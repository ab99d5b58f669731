//! Random requests of agents and people, with crashes, torn logs and compactions, against a simple
//! model: no update is lost, versions have no gaps, and nobody replaces a version that they did not
//! see. No compaction takes a fact or what supports it, and no id is given again.

mod expected;
mod sentences;

use std::collections::BTreeMap;

use super::{
    at_work, author, by, citing, confirm, dispute, key, learn, pin, retract, retract_fact,
    synthesis, write,
};
use crate::domain::decide::{self, Decided};
use crate::domain::event::{ClaimEffect, Event};
use crate::domain::memory::{Fact, FactKey, MemoryCommand, Retracted, normal_form};
use crate::domain::operation::Command;
use crate::domain::request::{Author, Request};
use crate::domain::state::State;
use crate::domain::testkit::choices::Choices;
use crate::domain::testkit::scenario::fold;
use crate::domain::testkit::{Scenario, agent};
use expected::{Board, Who};
use sentences::{Sentences, WINDOW};

const KEYS: [&str; 3] = ["a", "b", "c"];
/// Learnings without a key. Nothing in them needs evidence.
const SENTENCES: [&str; 8] = ["ash", "oak", "elm", "fir", "Ash", "yew", "bay", "fig"];
const VALUES: [&str; 5] = ["x", "X", "y", "z", "w"];
const STEPS: usize = 40;

/// A request that was acknowledged, and the seq that answered it.
struct Acknowledged {
    request: Request,
    seq: u64,
}

struct Life {
    s: Scenario,
    model: Board,
    choices: Choices,
    asked: u64,
    acknowledged: Vec<Acknowledged>,
}

impl Life {
    fn live(&mut self) {
        for _ in 0..STEPS {
            match self.choices.pick(20) {
                0 => self.crash(),
                1 => self.tear(),
                2 => self.snapshot(),
                3 => self.repeat(),
                _ => self.ask(),
            }
            self.compare();
        }
        versions_have_no_gaps(&self.s);
    }

    fn who(&mut self) -> Who {
        match self.choices.pick(8) {
            0..6 => Who::Agent(self.choices.pick(3) as u64 + 1),
            6 => Who::Person,
            _ => Who::Synthesis,
        }
    }

    fn some_key(&mut self) -> &'static str {
        KEYS[self.choices.pick(KEYS.len())]
    }

    fn some_value(&mut self) -> &'static str {
        VALUES[self.choices.pick(VALUES.len())]
    }

    /// Mostly the current version.
    fn some_version(&mut self, key: &str) -> u64 {
        let current = self.model.version(key);
        match self.choices.pick(5) {
            0 => current.saturating_sub(1),
            1 => current + self.choices.pick(2) as u64,
            _ => current,
        }
    }

    fn some_command(&mut self) -> MemoryCommand {
        let (key, value) = (self.some_key(), self.some_value());
        let version = self.some_version(key);
        match self.choices.pick(18) {
            0..3 => learn(&format!("[{key}] {value}")),
            3..6 => write(key, Some(version), value),
            6 => write(key, None, value),
            7 => confirm(key, version),
            8 => dispute(
                key,
                version,
                Some(value).filter(|_| self.choices.chance(80)),
            ),
            9 => pin(key, self.choices.chance(40)),
            10 => retract_fact(key),
            11..15 => learn(SENTENCES[self.choices.pick(SENTENCES.len())]),
            15 => {
                // The synthesis cites the first one.
                let number = self.choices.pick(self.model.sentences.numbers()) + 2;
                retract(Retracted::Learning(format!("learning-{number:03}")))
            }
            16 => MemoryCommand::Compact,
            _ => retract(Retracted::Agent(agent(self.choices.pick(3) as u64 + 1))),
        }
    }

    fn some_request(&mut self) -> (Who, Request) {
        let who = self.who();
        let mut command = self.some_command();
        if who == Who::Synthesis {
            command = citing(command, &["learning-001"]);
        }
        self.asked += 1;
        let request = Request {
            by: self.author(who),
            operation: Some(format!("op-{}", self.asked).parse().unwrap()),
            command: Command::Memory(command),
        };
        (who, request)
    }

    fn author(&self, who: Who) -> Author {
        match who {
            Who::Agent(number) => author(&self.s, number),
            Who::Person => Author::Person,
            Who::Synthesis => {
                let run = self.s.state.synthesis_run().unwrap().clone();
                Author::Synthesis { run }
            }
        }
    }

    fn ask(&mut self) {
        let (who, request) = self.some_request();
        let Command::Memory(command) = &request.command else {
            return;
        };
        let before = self.s.state.clone();
        let mut model = self.model.clone();
        let expected = model.take(who, command);
        match self.s.request(&request) {
            Ok(Decided::Events(events)) => {
                assert_eq!(expected, Ok(()), "{who:?} {command:?} is accepted");
                saw_what_it_replaced(&before, &self.s.state, who, command);
                self.model = model;
                if !events.is_empty() {
                    let seq = before.seq + 2;
                    self.acknowledged.push(Acknowledged { request, seq });
                }
            }
            Ok(Decided::DoneBefore(operation)) => panic!("{operation:?} is new"),
            Err(rejection) => {
                let code = rejection.code();
                assert_eq!(expected, Err(code), "{who:?} {command:?}: {rejection}");
                assert_eq!(self.s.state, before, "a refusal changed something");
            }
        }
    }

    /// An acknowledged request comes again.
    fn repeat(&mut self) {
        let at = self.choices.pick(self.acknowledged.len());
        let Some(Acknowledged { request, seq }) = self.acknowledged.get(at) else {
            return;
        };
        let before = self.s.state.clone();
        let Ok(Decided::DoneBefore(operation)) = self.s.request(request) else {
            panic!("{request:?} is carried out again");
        };
        assert_eq!(operation.seq, *seq);
        assert_eq!(self.s.state, before);
    }

    /// Killed, and started again: nothing is known but the log.
    fn crash(&mut self) {
        assert_eq!(fold(&self.s.log), self.s.state);
        self.s.restart();
    }

    fn snapshot(&mut self) {
        let text = serde_json::to_string(&self.s.state).unwrap();
        let state: State = serde_json::from_str(&text).unwrap();
        assert_eq!(state, fold(&self.s.log), "a snapshot differs from the log");
        self.s.state = state;
    }

    /// Killed in the middle of a write: the request was not answered, and comes again.
    fn tear(&mut self) {
        let (who, request) = self.some_request();
        let Ok(Decided::Events(events)) = decide::request(&self.s.state, &request, self.s.now)
        else {
            return;
        };
        let written = self.choices.pick(events.len() + 1);
        let is_whole = written == events.len() && written > 0;
        self.s.given(events.into_iter().take(written));
        self.s.restart();
        let again = self.s.request(&request).unwrap();
        assert_eq!(
            matches!(again, Decided::DoneBefore(_)),
            is_whole,
            "{request:?}"
        );
        if let Command::Memory(command) = &request.command {
            assert_eq!(self.model.take(who, command), Ok(()));
        }
    }

    fn compare(&self) {
        for text in KEYS {
            let fact = self.s.state.facts.get(&key(text));
            assert_eq!(fact.map(Board::seen), self.model.fact(text), "{text}");
        }
        let learnings = Sentences::of(&self.s.state.learnings);
        assert_eq!(learnings, self.model.sentences.seen());
    }
}

/// An agent replaces a value only if it named the version, or if it could know what it replaced:
/// its own side's value, or one that is retracted.
fn saw_what_it_replaced(before: &State, after: &State, who: Who, command: &MemoryCommand) {
    let replaced = |key: &FactKey, fact: &Fact| {
        let new = after.facts.get(key).unwrap();
        new.value_version != fact.value_version
    };
    for (key, fact) in before
        .facts
        .iter()
        .filter(|(key, fact)| replaced(key, fact))
    {
        let allowed = match command {
            MemoryCommand::WriteFact(write) => match write.expected {
                Some(expected) => expected == fact.version,
                None => who == Who::Person,
            },
            MemoryCommand::Learn(_) => {
                let new = after.facts.get(key).unwrap();
                fact.retracted.is_some() || fact.evidence.is_only_of(&new.by)
            }
            MemoryCommand::ConfirmFact(_)
            | MemoryCommand::DisputeFact(_)
            | MemoryCommand::Pin { .. }
            | MemoryCommand::Retract { .. }
            | MemoryCommand::Compact
            | MemoryCommand::PutNote(_)
            | MemoryCommand::Synthesize { .. } => false,
        };
        assert!(allowed, "{who:?} replaced {key} unseen: {command:?}");
    }
}

/// Each value and each new claim in the log has the next version of its fact.
fn versions_have_no_gaps(s: &Scenario) {
    let mut versions: BTreeMap<&FactKey, u64> = BTreeMap::new();
    let mut next = |key, version: u64, may_stay: bool| {
        let last = versions.entry(key).or_default();
        assert!(
            version == *last + 1 || may_stay && version == *last,
            "{key}: {version}"
        );
        *last = version;
    };
    for (_, event) in &s.log {
        match event {
            Event::FactWritten(it) => next(&it.key, it.version, false),
            Event::FactDisputed(it) => next(&it.key, it.version, true),
            Event::FactConfirmed(it) => next(&it.key, it.version, true),
            Event::Learned(it) => {
                if let Some(claim) = &it.claim {
                    let wrote = claim.effect == ClaimEffect::Wrote;
                    next(&claim.key, claim.version, !wrote);
                }
            }
            _ => {}
        }
    }
    for (key, version) in versions {
        assert_eq!(s.state.facts.get(key).unwrap().version, version);
    }
}

/// Says how to repeat a life that fails.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            eprintln!("to repeat: SWARM_TEST_SEED={seed} SWARM_ACTOR_SEQUENCES=1");
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// A plain generator of choices.
fn choices(seed: u64) -> Choices {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        u16::try_from(x >> 48).unwrap()
    };
    Choices::new((0..STEPS * 8).map(|_| next()).collect())
}

#[test]
fn whatever_happens_no_update_is_lost_and_versions_have_no_gaps() {
    let first = number("SWARM_TEST_SEED", 1);
    let sequences = number("SWARM_ACTOR_SEQUENCES", 1_000);
    println!("{sequences} sequences from SWARM_TEST_SEED={first}");
    let mut start = at_work(3);
    start.load(|settings| settings.memory_window = u32::try_from(WINDOW).unwrap());
    // With a key, so that no compaction drops it.
    let cited = learn("[words] what the synthesis cites");
    by(&mut start, &Author::Person, cited.clone());
    synthesis(&mut start);
    let mut model = Board::default();
    assert_eq!(model.take(Who::Person, &cited), Ok(()));
    for seed in first..first + sequences {
        let _named = Named(seed);
        let mut life = Life {
            s: start.clone(),
            model: model.clone(),
            choices: choices(seed),
            asked: 0,
            acknowledged: Vec::new(),
        };
        life.live();
    }
    assert_eq!(
        normal_form(VALUES[0]),
        normal_form(VALUES[1]),
        "two spellings of one value"
    );
}
