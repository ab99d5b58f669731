//! The past: how long it takes to get an earlier state, cold and from a kept one, as a whole
//! process by `--at`, and to fold what the time bar, the timeline and the costs show.
//!
//! No checkpoint is near. `BENCH_EVENTS` (100000,500000,1000000 without it), `BENCH_ROUNDS` (5).

mod common;

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use common::daemon::{configure, swarm};
use common::log::Maker;
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples, millis, timed};
use common::{Result, ensure, note, size, sizes, wanted};
use serde_json::Value;
use swarm::daemon::Paths;
use swarm::daemon::offline::{self, Upto};
use swarm::domain::event::Event;
use swarm::domain::state::State;
use swarm::journal::Segments;
use swarm::view::history::{History, LaneBy};

/// Goals for a cold state: the time in milliseconds for logs of up to so many events.
const COLD: [(u64, f64); 3] = [(100_000, 250.0), (500_000, 1_000.0), (u64::MAX, 1_200.0)];
/// A state one step after a kept one, in milliseconds.
const WARM: f64 = 100.0;
/// What a request reads of the history, in milliseconds.
const READ: f64 = 20.0;

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let rounds = size("BENCH_ROUNDS", 5, 1)?;
    for events in sizes("BENCH_EVENTS", &[100_000, 500_000, 1_000_000], 2_000)? {
        measure(events as u64, rounds)?;
    }
    Ok(())
}

fn measure(events: u64, rounds: usize) -> Result {
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), 10)?;
    let copy = template.copy(&folder.path().join("copy"))?;
    configure(&copy, "semi-auto", 3, &[])?;
    let paths = Paths::new(&copy.root());
    note(format!("making a log of {events} events"));
    let mut maker = Maker::new(&paths.state)?;
    maker.work_until(events)?;
    maker.finish()?;
    let last = maker.state.seq;
    println!("past: {last} events, {} ideas", maker.state.ideas.len());
    drop(maker);
    let mut times = [const { Samples::new() }; 6];
    for round in 0..rounds {
        let [cold, warm, fold, read, process, floor] = &mut times;
        // The newest past is the farthest from the beginning.
        let at = last - 10 - round as u64;
        let (time, state) = timed(|| offline::state_at(&paths, Upto::Seq(at)))?;
        cold.push(millis(time));
        process.push(millis(as_process(&copy, at, &state)?));
        floor.push(millis(timed(|| parse_typed(&paths.state, at))?.0));
        let next = Upto::Seq(at + 1);
        let (time, stepped) = timed(|| offline::state_from(&paths, state.clone(), next))?;
        warm.push(millis(time));
        ensure(stepped == offline::state_at(&paths, next)?, || {
            "a state from a kept one differs from a replay".to_owned()
        })?;
        let (time, history) = timed(|| folded(&paths, last))?;
        fold.push(millis(time));
        read.push(millis(timed(|| Ok::<_, std::io::Error>(draw(&history)))?.0));
    }
    report(events, &times);
    Ok(())
}

/// The whole program shows the ideas of an earlier state.
fn as_process(copy: &Copy, at: u64, expected: &State) -> Result<Duration> {
    let at = at.to_string();
    let (time, text) = timed(|| swarm(copy, &["idea", "list", "--json", "--at", &at]))?;
    let listed: Value = serde_json::from_str(&text)?;
    let listed = listed.as_array().map_or(0, Vec::len);
    ensure(listed == expected.ideas.len(), || {
        format!("{listed} ideas instead of {}", expected.ideas.len())
    })?;
    Ok(time)
}

/// The least that reading those events can cost: nothing is verified or kept.
fn parse_typed(state_dir: &Path, last: u64) -> Result {
    let mut left = last;
    for segment in Segments::open(state_dir)?.iter() {
        let text = fs::read_to_string(&segment.path)?;
        for line in text.lines().take(usize::try_from(left)?) {
            black_box(serde_json::from_str::<Event>(line)?);
            left -= 1;
        }
    }
    ensure(left == 0, || format!("the log lacks {left} events"))
}

fn report(events: u64, [cold, warm, fold, read, process, floor]: &[Samples; 6]) {
    cold.show("an earlier state, cold", "ms");
    process.show("swarm idea list --at, whole process", "ms");
    floor.show("floor, serde_json parses the lines typed", "ms");
    warm.show("one event after a kept state", "ms");
    fold.show("the history, once in the background", "ms");
    read.show("what the time bar and a timeline of all time read", "ms");
    let goal = COLD.iter().find(|(most, _)| events <= *most);
    let goal = goal.map_or(f64::NAN, |(_, goal)| *goal);
    Goal::AtMost(goal).judge("cold", cold, "ms");
    Goal::AtMost(goal).judge("cold, whole process", process, "ms");
    Goal::AtMost(WARM).judge("warm", warm, "ms");
    Goal::AtMost(READ).judge("read", read, "ms");
}

fn folded(paths: &Paths, last: u64) -> Result<History> {
    let mut history = History::default();
    offline::scan(paths, 0, last, &mut |one| {
        history.fold(one.seq, one.ts, &one.event);
    })?;
    Ok(history)
}

fn draw(history: &History) -> usize {
    let first = history.activity.first_at().unwrap_or_default();
    let lanes = history
        .spans
        .lanes(LaneBy::Idea, (first, history.last_at), history.seq);
    let places = history.marks.all().iter();
    let places = places.map(|mark| history.activity.place(mark.at));
    history.activity.columns(120).len() + lanes.len() + places.filter(|at| *at > 0.5).count()
}
