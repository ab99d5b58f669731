//! The page in the past: how long it takes to get an earlier state, cold and from a kept one, and
//! to fold what the time bar, the timeline and the costs show.
//!
//! `BENCH_EVENTS` (100000,500000 without it), `BENCH_ROUNDS` (5).

mod common;

use common::log::Maker;
use common::samples::{Goal, Samples, millis, timed};
use common::{Result, ensure, note, size, sizes, wanted};
use swarm::daemon::Paths;
use swarm::daemon::offline::{self, Upto};
use swarm::view::history::{History, LaneBy};

/// A cold state of a log of 100,000 events must come within this, in milliseconds.
const COLD_SMALL: f64 = 250.0;
/// The same for 500,000 events.
const COLD_LARGE: f64 = 1_000.0;
/// A state one step after a kept one, in milliseconds.
const WARM: f64 = 100.0;
/// What a request reads of the history, in milliseconds.
const READ: f64 = 20.0;

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let rounds = size("BENCH_ROUNDS", 5, 1)?;
    for events in sizes("BENCH_EVENTS", &[100_000, 500_000], 2_000)? {
        measure(events as u64, rounds)?;
    }
    Ok(())
}

fn measure(events: u64, rounds: usize) -> Result {
    let folder = tempfile::tempdir()?;
    let paths = Paths::new(folder.path());
    note(format!("making a log of {events} events"));
    let mut maker = Maker::new(&paths.state)?;
    maker.work_until(events)?;
    maker.finish()?;
    let last = maker.state.seq;
    println!("past: {last} events, {} ideas", maker.state.ideas.len());
    let mut times = [const { Samples::new() }; 4];
    for round in 0..rounds {
        let [cold, warm, fold, read] = &mut times;
        // The newest past is the farthest from the beginning.
        let at = last - 10 - round as u64;
        let (time, state) = timed(|| offline::state_at(&paths, Upto::Seq(at)))?;
        cold.push(millis(time));
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

fn report(events: u64, [cold, warm, fold, read]: &[Samples; 4]) {
    cold.show("an earlier state, cold", "ms");
    warm.show("one event after a kept state", "ms");
    fold.show("the history, once in the background", "ms");
    read.show("what the time bar and a timeline of all time read", "ms");
    let goal = if events <= 100_000 {
        COLD_SMALL
    } else {
        COLD_LARGE
    };
    Goal::AtMost(goal).judge("cold", cold, "ms");
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
