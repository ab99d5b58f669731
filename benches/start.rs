//! The time of a start after a long history, from a snapshot and without one, in the library and as
//! a whole process; and of a start with a large backlog and live runs, after a kill of the daemon.
//!
//! A process has started when its socket answers.
//!
//! `BENCH_EVENTS` (1000000), `BENCH_IDEAS` (10000), `BENCH_RUNS` (20), `BENCH_ROUNDS` (5);
//! `BENCH_ONLY=history` or `adoption` runs one half.

mod common;

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use common::daemon::{Daemon, configure, swarm};
use common::log::Maker;
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples, millis, timed};
use common::{Result, chosen, ensure, note, size, wanted};
use serde_json::Value;
use swarm::daemon::Paths;
use swarm::daemon::offline::{self, Upto, state_at};
use swarm::domain::event::Event;
use swarm::journal::{PREVIOUS_FILE, SNAPSHOT_FILE};

/// Events after the snapshot; the daemon takes one about every thousand.
const TAIL: u64 = 1_000;
/// How long the first daemon may take to bring all agents to work.
const PATIENCE: Duration = Duration::from_secs(120);
/// An agent that reads its prompt and sleeps. A benchmark that fails leaves it behind that long.
const AGENT: &str = "cat > /dev/null\nexec sleep 300\n";

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let rounds = size("BENCH_ROUNDS", 5, 1)?;
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), 100)?;
    let copy = |name: &str| template.copy(&folder.path().join(name));
    if chosen("history") {
        history(
            &copy("history")?,
            size("BENCH_EVENTS", 1_000_000, 2_000)? as u64,
            rounds,
        )?;
    }
    if chosen("adoption") {
        let (ideas, runs) = (size("BENCH_IDEAS", 10_000, 20)?, size("BENCH_RUNS", 20, 3)?);
        adoption(&copy("adoption")?, ideas as u64, runs, rounds)?;
    }
    Ok(())
}

fn state_dir(copy: &Copy) -> std::path::PathBuf {
    copy.root().join(".swarm/state")
}

fn history(copy: &Copy, events: u64, rounds: usize) -> Result {
    note(format!("making a log of {events} events"));
    configure(copy, "semi-auto", 3, &[])?;
    let dir = state_dir(copy);
    let commit = copy.git(&["rev-parse", "main"])?;
    let mut maker = Maker::at_commit(&dir, commit.trim())?;
    maker.work_until(events.saturating_sub(TAIL))?;
    maker.snapshot(&dir)?;
    maker.work_until(events)?;
    maker.add_until(0)?;
    maker.finish()?;
    println!(
        "start: {} events, {} ideas, with nothing under way",
        maker.state.seq,
        maker.state.ideas.len()
    );
    let made = maker.state.clone();
    drop(maker);
    let kept = copy.place(SNAPSHOT_FILE);
    fs::rename(dir.join(SNAPSHOT_FILE), &kept)?;
    let mut times = [const { Samples::new() }; 5];
    for _ in 0..rounds {
        let [short, full, parse, process, process_full] = &mut times;
        let paths = Paths::new(&copy.root());
        parse.push(millis(timed(|| parse_typed(&dir))?.0));
        place_snapshot(&dir, None)?;
        let (time, replayed) = timed(|| state_at(&paths, Upto::End))?;
        full.push(millis(time));
        process_full.push(started(copy)?);
        place_snapshot(&dir, Some(&kept))?;
        let (time, loaded) = timed(|| offline::read(&paths))?;
        short.push(millis(time));
        // Each start of a process adds events to the log, but none about ideas.
        ensure(
            replayed.ideas == made.ideas && loaded.ideas == made.ideas,
            || "the log leads to other ideas than it was made with".to_owned(),
        )?;
        process.push(started(copy)?);
    }
    let [short, full, parse, process, process_full] = &times;
    short.show("snapshot and the events after it", "ms");
    process.show("the same, whole process until it answers", "ms");
    full.show("no snapshot: full replay", "ms");
    process_full.show("the same, whole process until it answers", "ms");
    parse.show("floor, serde_json parses the lines typed", "ms");
    let most = (3.0 * parse.median()).max(3_000.0);
    Goal::AtMost(300.0).judge("snapshot and tail", short, "ms");
    Goal::AtMost(300.0).judge("snapshot and tail, whole process", process, "ms");
    Goal::AtMost(most).judge("full replay", full, "ms");
    Goal::AtMost(most).judge("full replay, whole process", process_full, "ms");
    Ok(())
}

/// Has the directory this snapshot alone, or none.
fn place_snapshot(dir: &Path, kept: Option<&Path>) -> Result {
    for name in [SNAPSHOT_FILE, PREVIOUS_FILE] {
        if dir.join(name).exists() {
            fs::remove_file(dir.join(name))?;
        }
    }
    if let Some(kept) = kept {
        fs::copy(kept, dir.join(SNAPSHOT_FILE))?;
    }
    Ok(())
}

/// Starts a daemon and kills it when it answers, so that it writes no snapshot. Returns the
/// milliseconds until the answer.
fn started(copy: &Copy) -> Result<f64> {
    let (daemon, time) = Daemon::answering(copy)?;
    daemon.kill()?;
    Ok(millis(time))
}

/// The least that a full replay can cost: each line parsed, nothing verified, nothing kept.
fn parse_typed(dir: &Path) -> Result {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "jsonl") {
            for line in fs::read_to_string(path)?.lines() {
                black_box(serde_json::from_str::<Event>(line)?);
            }
        }
    }
    Ok(())
}

fn adoption(copy: &Copy, ideas: u64, runs: usize, rounds: usize) -> Result {
    note(format!("making a log of {ideas} ideas and {runs} runs"));
    configure(copy, "autopilot", runs, &[])?;
    fs::write(copy.agent(), AGENT)?;
    let dir = state_dir(copy);
    let commit = copy.git(&["rev-parse", "main"])?;
    let mut maker = Maker::at_commit(&dir, commit.trim())?;
    maker.work_until_done(ideas / 2)?;
    maker.add_until(ideas)?;
    maker.snapshot(&dir)?;
    drop(maker);
    let first = Daemon::start(copy)?;
    let agents = all_at_work(&first, runs)?;
    first.kill()?;
    let mut times = [const { Samples::new() }; 2];
    for _ in 0..rounds {
        let begun = Instant::now();
        let (daemon, answers) = Daemon::answering(copy)?;
        let adopted = all_at_work(&daemon, runs)?;
        times[0].push(millis(answers));
        times[1].push(millis(begun.elapsed()));
        ensure(adopted == agents, || {
            format!("not the same runs: {agents:?}, then {adopted:?}")
        })?;
        daemon.kill()?;
    }
    let last = Daemon::start(copy)?;
    swarm(copy, &["stop", "--now"])?;
    last.gone()?;
    println!("start: {ideas} ideas, {runs} runs to adopt, after a kill -9");
    times[0].show("whole process until it answers", "ms");
    times[1].show("until `status` has every run, as it was", "ms");
    Goal::AtMost(1_000.0).judge("until it answers", &times[0], "ms");
    Ok(())
}

/// The agents' names and processes, when all are at work.
fn all_at_work(daemon: &Daemon, runs: usize) -> Result<Vec<(String, i64)>> {
    let begun = Instant::now();
    loop {
        let status = daemon.status()?;
        let agents: Vec<(String, i64)> = status["agents"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(at_work)
            .collect();
        if agents.len() == runs {
            return Ok(agents);
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("not all agents came to work: {status}").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn at_work(agent: &Value) -> Option<(String, i64)> {
    let pid = agent["pid"].as_i64()?;
    Some((agent["id"].as_str()?.to_owned(), pid))
}
