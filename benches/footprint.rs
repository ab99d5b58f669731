//! What the daemon takes: memory, bytes written for each change, processor time while nothing happens.
//!
//! `BENCH_IDEAS` (1000 and 10000 without it), `BENCH_IDLE_SECONDS` (60).

// Counts and bytes as they are printed, with three digits.
#![allow(clippy::cast_precision_loss)]

mod common;

use std::time::{Duration, Instant};

use common::daemon::{Daemon, Usage, configure, swarm};
use common::log::Maker;
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples};
use common::{Result, note, size, wanted};
use serde_json::Value;

const ADDED: u64 = 500;
const CLAIMED: u64 = 20;
/// How long the claimed ideas may take.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let sizes = match size("BENCH_IDEAS", 0)? {
        0 => vec![1_000, 10_000],
        one => vec![one],
    };
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), 100)?;
    for ideas in sizes {
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
    // A repository that has come to so many ideas has its view files; how often they are written follows from their size.
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
    let show = |what: &str, bytes: u64| one(megabytes(bytes)).show(what, "MB");
    show("memory after the start", begun.resident);
    show("memory in the end", end.resident);
    show("memory at its most", end.peak);
    Goal::AtMost(60.0).judge("memory in the end", &one(megabytes(end.resident)), "MB");
}

/// Ideas, one command after the other.
fn added(copy: &Copy, daemon: &Daemon) -> Result {
    let before = Moment::of(daemon)?;
    for number in 0..ADDED {
        swarm(
            copy,
            &[
                "idea",
                "add",
                &format!("A further idea, number {number} of the benchmark."),
            ],
        )?;
    }
    // What is written with a delay belongs to it too.
    std::thread::sleep(Duration::from_secs(2));
    let after = Moment::of(daemon)?;
    after.show(&before, &format!("{ADDED} ideas added"), ADDED);
    Ok(())
}

/// Ideas given to agents, until all have landed.
fn claimed(copy: &Copy, daemon: &Daemon, ideas: u64) -> Result {
    let before = Moment::of(daemon)?;
    let done = before.done;
    for number in (1..=CLAIMED).map(|number| ideas + number) {
        swarm(copy, &["idea", "assign", &format!("idea-{number:03}")])?;
    }
    let begun = Instant::now();
    while Moment::of(daemon)?.done < done + CLAIMED {
        if begun.elapsed() > PATIENCE {
            return Err(format!("the claimed ideas do not land: {}", daemon.status()?).into());
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    std::thread::sleep(Duration::from_secs(2));
    let after = Moment::of(daemon)?;
    after.show(
        &before,
        &format!("{CLAIMED} ideas assigned, worked on, landed"),
        CLAIMED,
    );
    Ok(())
}

fn idle(daemon: &Daemon) -> Result {
    let seconds = size("BENCH_IDLE_SECONDS", 60)?;
    note(format!("nothing happens for {seconds} s"));
    let before = daemon.usage()?;
    std::thread::sleep(Duration::from_secs(seconds as u64));
    let cpu = daemon.usage()?.cpu.saturating_sub(before.cpu);
    let minute = cpu.as_secs_f64() * 60.0 / seconds as f64;
    Goal::AtMost(0.1).judge("processor time, idle, in 60 s", &one(minute), "s");
    Ok(())
}

/// The daemon's counters, and how far its log and its ideas are.
struct Moment {
    usage: Usage,
    seq: u64,
    done: u64,
}

impl Moment {
    fn of(daemon: &Daemon) -> Result<Self> {
        let status = daemon.status()?;
        let number = |value: &Value| value.as_u64().ok_or("status --json lacks a number");
        Ok(Self {
            usage: daemon.usage()?,
            seq: number(&status["lastSeq"])?,
            done: number(&status["ideas"]["done"])?,
        })
    }

    fn show(&self, before: &Self, what: &str, commands: u64) {
        let events = self.seq - before.seq;
        let written = self.usage.written - before.usage.written;
        let to_disk = self.usage.to_disk - before.usage.to_disk;
        println!("  {what}: {events} events");
        let per = |bytes: u64, count: u64| one(bytes as f64 / count as f64);
        per(written, commands).show("  written for each idea", "bytes");
        per(to_disk, events).show("  pages dirtied for each event", "bytes");
        Goal::AtMost(4_096.0).judge("  written for each event", &per(written, events), "bytes");
    }
}

fn one(value: f64) -> Samples {
    let mut samples = Samples::new();
    samples.push(value);
    samples
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
