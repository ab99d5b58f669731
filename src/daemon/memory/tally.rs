//! What happens with the memory and no event says at once: what iterations read, and which writes
//! are refused.
//!
//! Invariant: it is about this life of the daemon and is lost with it. A run's reading is taken
//! once, at its end; only runs under way have one, so that it stays small.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::daemon::actor::handle::{Accepted, CommandError};
use crate::domain::event::{ReadCounts, ShownItem};
use crate::domain::ids::RunId;
use crate::domain::memory::{MAX_READ, MemoryCommand, MemoryRefusal};
use crate::domain::operation::Command;
use crate::domain::rejection::Rejection;
use crate::domain::request::{Author, Request};
use crate::domain::state::State;
use crate::view::memory::SinceStart;

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOf {
    /// The list of all facts.
    Board,
    /// One fact.
    Fact,
    /// Facts and learnings with some words.
    Search,
    /// The log of the memory.
    Log,
}

/// What a run has read so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// What it looked up or found, first reading first; each version once.
    pub items: Vec<ShownItem>,
    /// How often it read what.
    pub by_tool: ReadCounts,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Tally {
    reading: Mutex<BTreeMap<RunId, Reading>>,
    writes: AtomicU64,
    conflicts: AtomicU64,
    synthesis_accepted: AtomicU64,
    synthesis_refused: AtomicU64,
}

impl Tally {
    /// A run under way has read these.
    pub fn read(&self, state: &State, run: &RunId, what: ReadOf, items: Vec<ShownItem>) {
        let mut all = self.lock();
        if !all.contains_key(run) {
            let live: BTreeSet<&RunId> = state.runs_under_way().map(|(_, it)| &it.run).collect();
            if !live.contains(run) {
                return;
            }
            all.retain(|run, _| live.contains(run));
        }
        all.entry(run.clone()).or_default().add(what, items);
    }

    /// What a run has read, once.
    pub fn take(&self, run: &RunId) -> Reading {
        self.lock().remove(run).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Reading>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A write was answered.
    pub(crate) fn count(&self, write: Write, answer: &Result<Accepted, CommandError>) {
        let add = |to: &AtomicU64| {
            to.fetch_add(1, Ordering::Relaxed);
        };
        match answer {
            // The same answer as before.
            Ok(accepted) if accepted.before.is_some() => {}
            Ok(_) => {
                if write.of_fact {
                    add(&self.writes);
                }
                if write.by_synthesis {
                    add(&self.synthesis_accepted);
                }
            }
            Err(CommandError::Rejected(why)) => {
                if is_conflict(why) {
                    add(&self.writes);
                    add(&self.conflicts);
                }
                if write.by_synthesis {
                    add(&self.synthesis_refused);
                }
            }
            Err(
                CommandError::Unavailable(_)
                | CommandError::Lost(_)
                | CommandError::Ended
                | CommandError::Unknown,
            ) => {}
        }
    }

    /// The writes that were counted.
    pub fn since_start(&self) -> SinceStart {
        let number = |of: &AtomicU64| of.load(Ordering::Relaxed);
        SinceStart {
            writes: number(&self.writes),
            conflicts: number(&self.conflicts),
            synthesis_accepted: number(&self.synthesis_accepted),
            synthesis_refused: number(&self.synthesis_refused),
        }
    }
}

impl Reading {
    fn add(&mut self, what: ReadOf, items: Vec<ShownItem>) {
        let count = match what {
            ReadOf::Board => &mut self.by_tool.board,
            ReadOf::Fact => &mut self.by_tool.fact,
            ReadOf::Search => &mut self.by_tool.search,
            ReadOf::Log => &mut self.by_tool.log,
        };
        *count = count.saturating_add(1);
        for item in items {
            if self.items.len() < MAX_READ && !self.items.contains(&item) {
                self.items.push(item);
            }
        }
    }
}

/// A request that writes into the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Write {
    /// Whether it names the version of a fact that it saw, or may.
    of_fact: bool,
    by_synthesis: bool,
}

impl Write {
    /// The write that a request asks for.
    pub(crate) fn in_request(request: &Request) -> Option<Self> {
        let Command::Memory(command) = &request.command else {
            return None;
        };
        let of_fact = match command {
            MemoryCommand::WriteFact(_)
            | MemoryCommand::ConfirmFact(_)
            | MemoryCommand::DisputeFact(_) => true,
            MemoryCommand::Learn(_)
            | MemoryCommand::Pin { .. }
            | MemoryCommand::Retract { .. }
            | MemoryCommand::PutNote(_)
            | MemoryCommand::Compact
            | MemoryCommand::Synthesize { .. } => false,
        };
        Some(Self {
            of_fact,
            by_synthesis: matches!(request.by, Author::Synthesis { .. }),
        })
    }
}

fn is_conflict(why: &Rejection) -> bool {
    matches!(why, Rejection::Memory(MemoryRefusal::FactConflict { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::{CurrentValue, FactKey};
    use crate::domain::testkit::memories::{learn, write};
    use crate::domain::testkit::{Scenario, agent};

    fn item(reference: &str, version: u64) -> ShownItem {
        ShownItem {
            reference: reference.into(),
            version,
        }
    }

    #[test]
    fn a_run_under_way_has_one_reading_which_is_taken_once() {
        let mut story = Scenario::running();
        story.add("one").well_until("iteration");
        let run = story.state.agents[&agent(1)].run.clone().unwrap();
        let tally = Tally::default();
        let found = vec![item("a.b", 1), item("c.d", 2)];
        tally.read(&story.state, &run, ReadOf::Search, found);
        tally.read(&story.state, &run, ReadOf::Fact, vec![item("a.b", 1)]);
        tally.read(&story.state, &run, ReadOf::Log, Vec::new());
        let gone: RunId = "r9-gone".parse().unwrap();
        tally.read(&story.state, &gone, ReadOf::Board, Vec::new());
        assert_eq!(tally.take(&gone), Reading::default());
        let reading = tally.take(&run);
        assert_eq!(reading.items, [item("a.b", 1), item("c.d", 2)]);
        let counts = ReadCounts {
            board: 0,
            fact: 1,
            search: 1,
            log: 1,
        };
        assert_eq!(reading.by_tool, counts);
        assert_eq!(tally.take(&run), Reading::default());
    }

    #[test]
    fn a_reading_has_a_bound() {
        let mut reading = Reading::default();
        let many = (0..1_000).map(|number| item("a.b", number)).collect();
        reading.add(ReadOf::Search, many);
        assert_eq!(reading.items.len(), MAX_READ);
    }

    #[test]
    fn refused_writes_are_counted_by_their_reason_and_author() {
        let tally = Tally::default();
        let key: FactKey = "a.b".parse().unwrap();
        let conflict = || {
            let refusal = MemoryRefusal::FactConflict {
                key: key.clone(),
                expected: 1,
                current: Box::new(CurrentValue {
                    version: 2,
                    value: None,
                    by: None,
                }),
            };
            Err(CommandError::Rejected(refusal.into()))
        };
        let pinned = || {
            Err(CommandError::Rejected(
                MemoryRefusal::Pinned(key.clone()).into(),
            ))
        };
        let done = || Ok(Accepted::now(7, Vec::new()));
        let ask = |by: Author, command, answer: Result<Accepted, CommandError>| {
            let request = Request {
                by,
                operation: None,
                command: Command::Memory(command),
            };
            let write = Write::in_request(&request).unwrap();
            tally.count(write, &answer);
        };
        let run: RunId = "s1".parse().unwrap();
        let synthesis = || Author::Synthesis { run: run.clone() };
        ask(Author::Person, write("a.b", Some(1), "x"), done());
        ask(Author::Person, write("a.b", Some(1), "x"), conflict());
        ask(Author::Person, write("a.b", Some(1), "x"), pinned());
        ask(Author::Person, learn("text"), done());
        ask(synthesis(), write("a.b", Some(1), "x"), done());
        ask(synthesis(), write("a.b", Some(1), "x"), pinned());
        ask(
            Author::Person,
            write("a.b", Some(1), "x"),
            Err(CommandError::Ended),
        );
        let expected = SinceStart {
            writes: 3,
            conflicts: 1,
            synthesis_accepted: 1,
            synthesis_refused: 1,
        };
        assert_eq!(tally.since_start(), expected);
    }
}
