//! The time that `swarm status` adds to a process that does nothing, called from the same shell
//! loop, with a daemon running.
//!
//! `BENCH_CALLS` (40 a round), `BENCH_ROUNDS` (9), `BENCH_IDEAS` (10 and 10000 without it).

mod common;

use std::time::Duration;

use common::daemon::{Daemon, configure, swarm};
use common::log::Maker;
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples, millis, timed};
use common::{Result, SWARM, command, ensure, note, run, size, sizes, wanted};
use serde_json::Value;

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let (calls, rounds) = (size("BENCH_CALLS", 40, 2)?, size("BENCH_ROUNDS", 9, 1)?);
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), 100)?;
    for ideas in sizes("BENCH_IDEAS", &[10, 10_000], 10)? {
        let copy = template.copy(&folder.path().join("copy"))?;
        configure(&copy, "semi-auto", 3, &[])?;
        note(format!("making a log of {ideas} ideas"));
        make(&copy, ideas as u64)?;
        let daemon = Daemon::start(&copy)?;
        let listed: Value = serde_json::from_str(&swarm(&copy, &["idea", "list", "--json"])?)?;
        let counted = listed.as_array().map_or(0, Vec::len);
        ensure(counted >= ideas, || {
            format!("{counted} ideas instead of at least {ideas}")
        })?;
        measure(&copy, ideas, calls, rounds)?;
        daemon.stop()?;
    }
    Ok(())
}

/// Half of the ideas done, half waiting.
fn make(copy: &Copy, ideas: u64) -> Result {
    let state_dir = copy.root().join(".swarm/state");
    let commit = copy.git(&["rev-parse", "main"])?;
    let mut maker = Maker::at_commit(&state_dir, commit.trim())?;
    maker.work_until_done(ideas / 2)?;
    maker.add_until(ideas)?;
    maker.snapshot(&state_dir)
}

fn measure(copy: &Copy, ideas: usize, calls: usize, rounds: usize) -> Result {
    let programs = [
        "/bin/true".to_owned(),
        format!("{SWARM} status"),
        format!("{SWARM} status --json"),
        format!("{SWARM} idea list --json"),
    ];
    let mut times = [const { Samples::new() }; 4];
    for _ in 0..rounds {
        for (program, times) in programs.iter().zip(&mut times) {
            times.push(millis(repeat(copy, program, calls)?));
        }
    }
    let [floor, text, json, list] = &times;
    println!("status: with {ideas} ideas, milliseconds a call, {calls} calls a round");
    text.show("swarm status", "ms");
    json.show("swarm status --json", "ms");
    list.show("swarm idea list --json, for comparison", "ms");
    floor.show("floor, /bin/true", "ms");
    Goal::AtMost(5.0).judge("swarm status less /bin/true", &text.minus(floor), "ms");
    Goal::AtMost(5.0).judge("swarm status --json less it", &json.minus(floor), "ms");
    Ok(())
}

/// One shell calls the program so many times; the time of one call.
fn repeat(copy: &Copy, program: &str, calls: usize) -> Result<Duration> {
    let script = format!(
        "i=0; while [ $i -lt {calls} ]; do {program} > /dev/null || exit 1; i=$((i+1)); done"
    );
    let mut shell = command("/bin/sh", &copy.home());
    shell.current_dir(copy.root()).args(["-c", &script]);
    let (time, _) = timed(|| run(&mut shell))?;
    Ok(time / u32::try_from(calls)?)
}
