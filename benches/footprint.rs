//! The daemon's memory, the bytes it writes for each change, and its processor time while nothing
//! happens.
//!
//! `BENCH_IDEAS` (1000 and 10000 without it), `BENCH_ADDED` (500), `BENCH_CLAIMED` (20),
//! `BENCH_IDLE_SECONDS` (60).

// Counts and bytes as they are printed, with three digits.
#![allow(clippy::cast_precision_loss)]

mod common;

use std::time::{Duration, Instant};

use common::daemon::{Daemon, Usage, configure, swarm};
use common::log::Maker;
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples};
use common::{Result, ensure, note, size, sizes, wanted};
use serde_json::Value;

/// How long the claimed ideas may take.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), 100)?;
    for ideas in sizes("BENCH_IDEAS", &[1_000, 10_000], 10)? {
        let copy = template.copy(&folder.path().join("copy"))?;
        measure(&copy, ideas as u64)?;
    }
    Ok(())
}

fn measure(copy: &Copy, ideas: u64) -> Result {
    configure(copy, "semi-auto", 3, &["true"])?;
    note(format!("making a log of {ideas} ideas"));
    let state_dir = copy.root().join(".swarm/state");
    let commit = copy.git(&["rev-parse", "main"])?;
    let mut maker = Maker::at_commit(&state_dir, commit.trim())?;
    maker.work_until_done(ideas / 2)?;
    maker.add_until(ideas)?;
    maker.snapshot(&state_dir)?;
    drop(maker);
    // A repository with so many ideas has its view files. Their size decides how often the daemon
    // writes them.
    Daemon::start(copy)?.stop()?;
    let daemon = Daemon::start(copy)?;
    println!("footprint: with {ideas} ideas, half of them done");
    let begun = daemon.usage()?;
    added(copy, &daemon)?;
    claimed(copy, &daemon, ideas)?;
    idle(&daemon)?;
    memory(begun, daemon.usage()?);
    daemon.stop()
}

fn memory(begun: Usage, end: Usage) {
    let show = |what: &str, bytes: u64| Samples::one(megabytes(bytes)).show(what, "MB");
    show("memory after the start", begun.resident);
    show("memory in the end", end.resident);
    show("memory at its most", end.peak);
    Goal::AtMost(60.0).judge(
        "memory in the end",
        &Samples::one(megabytes(end.resident)),
        "MB",
    );
}

/// Ideas, one command after the other.
fn added(copy: &Copy, daemon: &Daemon) -> Result {
    let count = size("BENCH_ADDED", 500, 5)? as u64;
    let before = Moment::of(daemon)?;
    for number in 0..count {
        swarm(
            copy,
            &[
                "idea",
                "add",
                &format!("A further idea, number {number} of the benchmark."),
            ],
        )?;
    }
    // The daemon writes some files with a delay; they count too.
    std::thread::sleep(Duration::from_secs(2));
    let after = Moment::of(daemon)?;
    ensure(after.ideas == before.ideas + count, || {
        format!("{} ideas, then {}", before.ideas, after.ideas)
    })?;
    after.show(&before, &format!("{count} ideas added"), count)
}

/// Ideas given to agents, until all have landed.
fn claimed(copy: &Copy, daemon: &Daemon, ideas: u64) -> Result {
    let count = size("BENCH_CLAIMED", 20, 2)? as u64;
    let before = Moment::of(daemon)?;
    let done = before.done;
    for number in (1..=count).map(|number| ideas + number) {
        swarm(copy, &["idea", "assign", &format!("idea-{number:03}")])?;
    }
    let begun = Instant::now();
    while Moment::of(daemon)?.done < done + count {
        if begun.elapsed() > PATIENCE {
            return Err(format!("the claimed ideas do not land: {}", daemon.status()?).into());
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    std::thread::sleep(Duration::from_secs(2));
    let after = Moment::of(daemon)?;
    after.show(
        &before,
        &format!("{count} ideas assigned, worked on, landed"),
        count,
    )
}

fn idle(daemon: &Daemon) -> Result {
    let seconds = size("BENCH_IDLE_SECONDS", 60, 1)?;
    note(format!("nothing happens for {seconds} s"));
    let before = daemon.usage()?;
    std::thread::sleep(Duration::from_secs(seconds as u64));
    let cpu = daemon.usage()?.cpu.saturating_sub(before.cpu);
    let minute = cpu.as_secs_f64() * 60.0 / seconds as f64;
    Goal::AtMost(0.1).judge("processor time, idle, in 60 s", &Samples::one(minute), "s");
    Ok(())
}

/// The daemon's counters, the end of its log, and its ideas.
struct Moment {
    usage: Usage,
    seq: u64,
    ideas: u64,
    done: u64,
}

impl Moment {
    fn of(daemon: &Daemon) -> Result<Self> {
        let status = daemon.status()?;
        let number = |value: &Value| value.as_u64().ok_or("`status --json` lacks a number");
        let by_status = status["ideas"].as_object();
        let by_status = by_status.ok_or("`status --json` has no ideas")?;
        Ok(Self {
            usage: daemon.usage()?,
            seq: number(&status["lastSeq"])?,
            ideas: by_status.values().filter_map(Value::as_u64).sum(),
            done: by_status.get("done").and_then(Value::as_u64).unwrap_or(0),
        })
    }

    fn show(&self, before: &Self, what: &str, commands: u64) -> Result {
        let events = self.seq - before.seq;
        ensure(events >= commands, || {
            format!("{what}: only {events} events")
        })?;
        let written = self.usage.written - before.usage.written;
        let to_disk = self.usage.to_disk - before.usage.to_disk;
        println!("  {what}: {events} events");
        let per = |bytes: u64, count: u64| Samples::one(bytes as f64 / count as f64);
        per(written, commands).show("  written for each idea", "bytes");
        per(to_disk, events).show("  pages dirtied for each event", "bytes");
        Goal::AtMost(4_096.0).judge("  written for each event", &per(written, events), "bytes");
        Ok(())
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
