//! The state from the event log, by a full replay and from a snapshot with the events after it,
//! against a typed parse of the same lines.
//!
//! `BENCH_EVENTS` (1000,10000,100000,1000000 without it), `BENCH_ROUNDS` (5).

// Counts and bytes as they are printed, with three digits.
#![allow(clippy::cast_precision_loss)]

mod common;

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use common::log::Maker;
use common::samples::{Goal, Samples, millis, timed};
use common::{Result, ensure, note, size, sizes, wanted};
use swarm::daemon::offline::{Upto, state_at};
use swarm::daemon::{Paths, offline};
use swarm::domain::event::Event;
use swarm::domain::state::State;

/// Events after the snapshot; the daemon takes one about every thousand.
const TAIL: u64 = 1_000;
/// Events, and how long the `SwarmSDK` 2.7.13 took to rebuild its state from so many, in
/// milliseconds: measured once.
const SDK: [(u64, f64); 3] = [(1_000, 68.0), (10_000, 851.0), (100_000, 7_941.0)];
/// The part of that time that a full replay may take.
const PART: f64 = 20.0;

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let rounds = size("BENCH_ROUNDS", 5, 1)?;
    for events in sizes("BENCH_EVENTS", &[1_000, 10_000, 100_000, 1_000_000], 2_000)? {
        measure(events as u64, rounds)?;
    }
    Ok(())
}

fn measure(events: u64, rounds: usize) -> Result {
    let folder = tempfile::tempdir()?;
    let paths = Paths::new(folder.path());
    note(format!("making a log of {events} events"));
    let state = make(&paths, events)?;
    let lines = read_lines(&paths.state)?;
    let bytes: usize = lines.iter().map(String::len).sum();
    println!(
        "replay: {} events, {} ideas, {:.0} MB, {} bytes an event",
        lines.iter().map(|part| part.lines().count()).sum::<usize>(),
        state.ideas.len(),
        megabytes(bytes),
        bytes as u64 / state.seq,
    );
    let mut times = [const { Samples::new() }; 4];
    for _ in 0..rounds {
        let [parse, fold, full, start] = &mut times;
        parse.push(millis(timed(|| parse_typed(&lines))?.0));
        fold.push(millis(timed(|| parse_and_fold(&lines))?.0));
        let (time, replayed) = timed(|| state_at(&paths, Upto::End))?;
        full.push(millis(time));
        let (time, started) = timed(|| offline::read(&paths))?;
        start.push(millis(time));
        ensure(replayed == state && started == state, || {
            "the ways to the state differ".to_owned()
        })?;
    }
    report(events, &times);
    Ok(())
}

fn report(events: u64, [parse, fold, full, start]: &[Samples; 4]) {
    full.show("full replay: read, verify, parse, evolve", "ms");
    start.show("start: snapshot and the last 1,000 events", "ms");
    parse.show("floor, serde_json parses the lines typed", "ms");
    fold.show("the same and evolve, for comparison", "ms");
    Goal::AtMost(3.0).judge("full replay / typed parse", &full.over(parse), "x");
    if let Some((_, theirs)) = SDK.iter().find(|(size, _)| *size == events) {
        Goal::AtMost(theirs / PART).judge("full replay, a twentieth of SwarmSDK's", full, "ms");
    }
}

/// A log, with a snapshot some events before its end.
fn make(paths: &Paths, events: u64) -> Result<State> {
    let mut maker = Maker::new(&paths.state)?;
    maker.work_until(events.saturating_sub(TAIL))?;
    maker.snapshot(&paths.state)?;
    maker.work_until(events)?;
    maker.finish()?;
    Ok(maker.state)
}

/// The text of all segments, oldest first.
fn read_lines(state_dir: &Path) -> Result<Vec<String>> {
    let mut segments: Vec<(u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(state_dir)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let Some(middle) = name
            .strip_prefix("events.")
            .and_then(|rest| rest.strip_suffix("jsonl"))
        else {
            continue;
        };
        let first = middle.strip_suffix('.').map_or(Ok(u64::MAX), str::parse)?;
        segments.push((first, path));
    }
    segments.sort();
    segments
        .into_iter()
        .map(|(_, path)| Ok(fs::read_to_string(path)?))
        .collect()
}

/// The least that reading the events can cost: the text is in memory, nothing is verified or kept.
fn parse_typed(lines: &[String]) -> serde_json::Result<()> {
    for line in lines.iter().flat_map(|part| part.lines()) {
        black_box(serde_json::from_str::<Event>(line)?);
    }
    Ok(())
}

fn parse_and_fold(lines: &[String]) -> serde_json::Result<State> {
    let mut state = State::default();
    for (line, seq) in lines.iter().flat_map(|part| part.lines()).zip(1..) {
        let event: Event = serde_json::from_str(line)?;
        swarm::domain::evolve::evolve(
            &mut state,
            seq,
            swarm::domain::time::Timestamp::default(),
            &event,
        );
    }
    Ok(black_box(state))
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
