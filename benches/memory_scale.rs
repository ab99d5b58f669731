//! The shared memory under load: many writers by compare-and-swap, a large memory and a long log.
//!
//! `BENCH_ROUNDS` (5), `BENCH_SECONDS` (2), `BENCH_EVENTS` (1000000);
//! `BENCH_ONLY=writers,finder,log` chooses parts.

// Counts as they are printed, with three digits.
#![allow(clippy::cast_precision_loss)]

mod common;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::clients::{Round, group_commit, request};
use common::daemon::{Daemon, quiet_repository};
use common::repo::Copy;
use common::samples::{Goal, Samples, millis, timed};
use common::{Result, chosen, ensure, facts, note, size, smoke, wanted};
use serde_json::json;
use swarm::daemon::Paths;
use swarm::daemon::memory::finder::{Finder, Query};
use swarm::daemon::memory::log;
use swarm::domain::decide;
use swarm::domain::event::{Event, FactConfirmed, SignalSeen};
use swarm::domain::evolve::evolve;
use swarm::domain::ids::AgentId;
use swarm::domain::memory::{Claim, Evidence, Learn, MemoryCommand, WriteFact};
use swarm::domain::operation::Command;
use swarm::domain::request::Author;
use swarm::domain::signal::Signal;
use swarm::domain::state::State;
use swarm::domain::time::Timestamp;
use swarm::journal::Journal;
use swarm::view::describe::Point;
use swarm::view::memory::LogFilter;
use tokio::net::UnixStream;

/// Writers.
const CLIENTS: usize = 64;
/// A large memory.
const FACTS: usize = 10_000;
const LEARNINGS: usize = 8_000;
/// Agents in the log, and events of an hour.
const AGENTS: usize = 30;
const HOUR: usize = 1_000;
/// 2026-01-01.
const EPOCH_MS: i64 = 1_767_225_600_000;
const HOUR_MS: i64 = 3_600_000;

/// A part of the bench: its name and what it does.
type Part = (&'static str, fn() -> Result);

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let parts: [Part; 3] = [("writers", writers), ("finder", finder), ("log", long_log)];
    for (name, part) in parts {
        if chosen(name) {
            part()?;
        }
    }
    Ok(())
}

// Writers.

/// What the writers of one round had acknowledged.
struct Written {
    round: Round,
    conflicts: u64,
}

fn writers() -> Result {
    let (rounds, seconds) = (size("BENCH_ROUNDS", 5, 1)?, size("BENCH_SECONDS", 2, 1)?);
    let time = Duration::from_secs(seconds as u64);
    let folder = tempfile::tempdir()?;
    let copy = quiet_repository(folder.path())?;
    let runtime = tokio::runtime::Runtime::new()?;
    let daemon = Daemon::start(&copy)?;
    let socket = daemon.socket()?;
    runtime.block_on(write_round(&socket, Duration::from_millis(200), false))?;
    let bytes = line_bytes(&copy)?;
    let mut rates = [const { Samples::new() }; 3];
    let mut slowest = [const { Samples::new() }; 3];
    let mut conflicts = Samples::new();
    for _ in 0..rounds {
        let own = runtime.block_on(write_round(&socket, time, false))?;
        let floor = group_commit(&folder.path().join("floor.log"), CLIENTS, bytes, time)?;
        let shared = runtime.block_on(write_round(&socket, time, true))?;
        conflicts.push(shared.conflicts as f64 / shared.round.waits.len() as f64);
        for (at, round) in [&own.round, &floor, &shared.round].into_iter().enumerate() {
            rates[at].push(round.rate);
            slowest[at].push(round.percentile(99));
        }
    }
    daemon.stop()?;
    println!("writers: {CLIENTS} by compare-and-swap, one event of {bytes} bytes each time");
    let [own, floor, shared] = &rates;
    own.show("a key for each", "/s");
    shared.show("one key for all", "/s");
    conflicts.show("refused for each that is written", "x");
    floor.show("floor, bare group commit", "/s");
    Goal::AtLeast(0.7).judge("a key for each / group commit", &own.over(floor), "x");
    let [own, floor, shared] = &slowest;
    floor.show("floor, p99", "ms");
    Goal::AtMost(3.0).judge("a key for each, p99 / floor's", &own.over(floor), "x");
    Goal::AtMost(3.0).judge("one key for all, p99 / floor's", &shared.over(floor), "x");
    Ok(())
}

/// Bytes of a write's line in the log.
fn line_bytes(copy: &Copy) -> Result<usize> {
    let text = fs::read_to_string(copy.root().join(".swarm/state/events.jsonl"))?;
    let line = text.lines().rfind(|line| line.contains("\"factWritten\""));
    Ok(line.ok_or("no fact was written")?.len() + 1)
}

/// All writers for a time, each on a key of its own or all on one. Fails if a write is lost.
async fn write_round(socket: &Path, time: Duration, shared: bool) -> Result<Written> {
    let begun = Instant::now();
    let before = sum_of_versions(socket).await?;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|index| {
            let key = if shared { CLIENTS } else { index };
            tokio::spawn(write_until(socket.to_owned(), key, begun + time))
        })
        .collect();
    let (mut waits, mut conflicts) = (Vec::new(), 0);
    for client in clients {
        let (more, refused) = client.await??;
        waits.extend(more);
        conflicts += refused;
    }
    let round = Round::since(begun, waits);
    let written = sum_of_versions(socket).await? - before;
    let acknowledged = round.waits.len() as u64;
    ensure(written == acknowledged, || {
        format!("{acknowledged} writes were acknowledged, and {written} are there")
    })?;
    Ok(Written { round, conflicts })
}

fn key(number: usize) -> String {
    format!("count.{number}")
}

/// How often all the facts were written. Each value is the number of its version.
async fn sum_of_versions(socket: &Path) -> Result<u64> {
    let mut stream = UnixStream::connect(socket).await?;
    let (_, board) = request(&mut stream, "GET", "views/memory/facts", "").await?;
    let mut sum = 0;
    for fact in board.as_array().ok_or("the board is no list")? {
        let version = fact["version"].as_u64().ok_or("no version")?;
        let value = fact["value"].as_str().unwrap_or_default();
        ensure(value == version.to_string(), || {
            format!("a lost update: {fact}")
        })?;
        sum += version;
    }
    Ok(sum)
}

/// Counts a fact up; how long each accepted write took, and how many were refused.
async fn write_until(socket: PathBuf, number: usize, end: Instant) -> Result<(Vec<Duration>, u64)> {
    let mut stream = UnixStream::connect(socket).await?;
    let path = format!("views/memory/facts/{}", key(number));
    let (status, fact) = request(&mut stream, "GET", &path, "").await?;
    let mut version = match status {
        200 => fact["version"].as_u64().ok_or("no version")?,
        _ => 0,
    };
    let (mut waits, mut refused) = (Vec::new(), 0);
    while Instant::now() < end {
        let value = (version + 1).to_string();
        let write = json!({"do": "writeFact", "key": key(number), "value": value,
            "expectedVersion": version});
        let body = write.to_string();
        let asked = Instant::now();
        let (status, answer) = request(&mut stream, "POST", "commands", &body).await?;
        let now = match status {
            200 => {
                waits.push(asked.elapsed());
                &answer["version"]
            }
            409 => {
                refused += 1;
                &answer["error"]["current"]["version"]
            }
            _ => return Err(format!("the daemon answered: {answer}").into()),
        };
        version = now
            .as_u64()
            .ok_or_else(|| format!("no version: {answer}"))?;
    }
    Ok((waits, refused))
}

// A large memory.

fn finder() -> Result {
    let (thin, rounds) = (if smoke() { 50 } else { 1 }, size("BENCH_ROUNDS", 5, 1)?);
    let (facts, learnings) = (FACTS / thin, LEARNINGS / thin);
    let more = 1_000 / thin;
    let texts = facts::texts(facts + learnings + more);
    note(format!(
        "a memory of {facts} facts and {learnings} learnings"
    ));
    let mut state = State::default();
    for (at, text) in texts[..facts].iter().enumerate() {
        change(&mut state, write_fact(at, text))?;
    }
    for text in &texts[facts..facts + learnings] {
        change(&mut state, learn(text))?;
    }
    let (mut first, mut next) = (Samples::new(), Samples::new());
    for _ in 0..rounds {
        let finder = Finder::default();
        first.push(search(&finder, &state, &texts[0])?);
        next.push(search(&finder, &state, &texts[1])?);
    }
    let mut waits = Vec::new();
    for text in &texts[facts + learnings..] {
        waits.push(timed(|| change(&mut state, learn(text)))?.0);
    }
    waits.sort_unstable();
    println!("finder: {facts} facts, {learnings} learnings");
    Goal::AtMost(200.0).judge("the first search, which builds the index", &first, "ms");
    next.show("the next search", "ms");
    let micros = |at: usize| Samples::one(waits[at].as_secs_f64() * 1e6);
    micros(waits.len() / 2).show("one more learning in the state, median", "us");
    let last = micros(waits.len() * 99 / 100);
    Goal::AtMost(50.0).judge("one more learning in the state, p99", &last, "us");
    Ok(())
}

fn change(state: &mut State, command: MemoryCommand) -> Result {
    let now = Timestamp::from_millis(EPOCH_MS);
    let events = decide::command(state, &Command::Memory(command), now);
    for event in events.map_err(|refused| refused.to_string())? {
        let seq = state.seq + 1;
        evolve(state, seq, now, &event);
    }
    Ok(())
}

fn write_fact(at: usize, value: &str) -> MemoryCommand {
    MemoryCommand::WriteFact(WriteFact {
        key: key(at).parse().unwrap_or_else(|_| unreachable!("a key")),
        value: value.to_owned(),
        expected: None,
        claim: Claim::default(),
    })
}

fn learn(content: &str) -> MemoryCommand {
    MemoryCommand::Learn(Learn {
        content: content.to_owned(),
        ..Learn::default()
    })
}

fn search(finder: &Finder, state: &State, text: &str) -> Result<f64> {
    let query = Query {
        text,
        limit: 10,
        all: false,
    };
    let (took, found) = timed(|| Result::Ok(finder.search(&|each| each(state), &query)))?;
    ensure(!found.hits.is_empty(), || {
        "the search finds nothing".to_owned()
    })?;
    Ok(millis(took))
}

// A long log.

fn long_log() -> Result {
    let (events, rounds) = (
        size("BENCH_EVENTS", 1_000_000, 20_000)?,
        size("BENCH_ROUNDS", 5, 1)?,
    );
    let folder = tempfile::tempdir()?;
    let paths = Paths::new(folder.path());
    note(format!("a log of {events} events"));
    write_log(&paths, events)?;
    let hour = |number: usize| {
        let hours = i64::try_from(number).unwrap_or(i64::MAX);
        let at = EPOCH_MS.saturating_add(hours.saturating_mul(HOUR_MS));
        Some(Point::Time(Timestamp::from_millis(at)))
    };
    let agent = Some(agent(7)?);
    let hours = events / HOUR;
    let by_hour = |number: usize| LogFilter {
        since: hour(number),
        until: hour(number + 1),
        agent: agent.clone(),
        kind: None,
    };
    let all = LogFilter {
        agent: agent.clone(),
        ..LogFilter::default()
    };
    let mut times = [const { Samples::new() }; 4];
    for _ in 0..rounds {
        for (at, number) in [0, hours / 2, hours - 2].into_iter().enumerate() {
            times[at].push(read_log(&paths, &by_hour(number), expected(HOUR))?);
        }
        times[3].push(read_log(&paths, &all, expected(events))?);
    }
    println!("log: {events} events, {HOUR} an hour, a quarter about the memory");
    let [first, middle, last, whole] = &times;
    for (what, times) in [
        ("an agent's first hour", first),
        ("an hour in the middle", middle),
        ("the last hour", last),
    ] {
        Goal::AtMost(300.0).judge(what, times, "ms");
    }
    whole.show("all of the agent", "ms");
    Ok(())
}

/// The agent's events among so many from the beginning of an hour.
fn expected(events: usize) -> std::ops::RangeInclusive<usize> {
    let each = events / 4 / AGENTS;
    each..=each + 1
}

fn read_log(
    paths: &Paths,
    filter: &LogFilter,
    right: std::ops::RangeInclusive<usize>,
) -> Result<f64> {
    let mut found = 0;
    let (took, ()) = timed(|| {
        log::select(paths, filter, u64::MAX, &mut |_| {
            found += 1;
            ControlFlow::Continue(())
        })
    })?;
    ensure(right.contains(&found), || {
        format!("{found} events, not {right:?}")
    })?;
    Ok(millis(took))
}

fn agent(number: usize) -> Result<AgentId> {
    Ok(format!("ed-{number:03}").parse()?)
}

/// Writes a log an hour at a time, so that only as much is in memory.
fn write_log(paths: &Paths, events: usize) -> Result {
    fs::create_dir_all(&paths.state)?;
    let (mut journal, _) = Journal::open(&paths.state)?;
    for hour in 0..events / HOUR {
        let begun = EPOCH_MS + HOUR_MS * i64::try_from(hour)?;
        // Halfway through the hour, so that nothing lies on its edge.
        let at = Timestamp::from_millis(begun + HOUR_MS / 2);
        let batch: Result<Vec<Event>> = (0..HOUR).map(|one| event(hour * HOUR + one)).collect();
        let expected = journal.position().seq;
        journal.append(expected, at, &batch?)?;
    }
    Ok(())
}

/// A quarter is about the memory; the rest are lines of about the same length.
fn event(number: usize) -> Result<Event> {
    if number.is_multiple_of(4) {
        let author = Author::Agent {
            id: agent(number / 4 % AGENTS)?,
            idea_id: Some("idea-001".parse()?),
            run: "r0000001-ed-001".parse()?,
        };
        let evidence = Evidence {
            author,
            quote: Some("the tests of the gateway pass with this port".to_owned()),
            paths: vec!["src/gateway/routes.rs".to_owned()],
            ..Evidence::default()
        };
        return Ok(Event::FactConfirmed(FactConfirmed {
            key: key(number % 97).parse()?,
            version: 1,
            evidence: Box::new(evidence),
        }));
    }
    Ok(Event::SignalSeen(SignalSeen {
        agent: agent(number % AGENTS)?,
        run: "r0000001-ed-001".parse()?,
        offset: number as u64,
        signal: Signal::LearningLocal(format!("{number}: {}", "the test needs a port ".repeat(8))),
    }))
}
