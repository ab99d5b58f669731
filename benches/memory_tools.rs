//! The shared memory in the hands of programs: many `swarm mcp` that count one fact up, and what is
//! lost of acknowledged writes, beside another memory server.
//!
//! `BENCH_CALLS` (100); `BENCH_ONLY=servers,beside` chooses parts.

// Counts as they are printed, with three digits.
#![allow(clippy::cast_precision_loss)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::time::Instant;

use common::daemon::{Daemon, quiet_repository, swarm};
use common::mcp::Server;
use common::repo::Copy;
use common::samples::{Goal, Samples};
use common::{Result, SWARM, chosen, command, ensure, size, wanted};
use serde_json::{Value, json};

/// Programs that count one fact up.
const SERVERS: usize = 16;
/// Programs that write beside each other, and how often each does.
const BESIDE: usize = 4;
const WRITES: usize = 25;
/// The fact that is counted up.
const KEY: &str = "count.all";

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    if chosen("servers") {
        servers()?;
    }
    if chosen("beside") {
        beside()?;
    }
    Ok(())
}

fn servers() -> Result {
    let times = size("BENCH_CALLS", 100, 3)?;
    let folder = tempfile::tempdir()?;
    let copy = quiet_repository(folder.path())?;
    let daemon = Daemon::start(&copy)?;
    let begun = Instant::now();
    let conflicts = each(SERVERS, |_| {
        let mut server = own_server(&copy)?;
        let conflicts = count_up(&mut server, times)?;
        server.close()?;
        Ok(conflicts)
    })?;
    let took = begun.elapsed();
    let fact: Value = serde_json::from_str(&swarm(&copy, &["memory", "get", KEY, "--json"])?)?;
    daemon.stop()?;
    let total = SERVERS * times;
    println!("servers: {SERVERS} `swarm mcp` count one fact up {times} times each");
    let lost = total as f64 - fact["version"].as_f64().ok_or("no version")?;
    Goal::AtMost(0.0).judge("lost", &Samples::one(lost), "");
    ensure(fact["value"].as_str() == Some(&total.to_string()), || {
        format!("a lost update: {fact}")
    })?;
    Samples::one(conflicts.iter().sum::<u64>() as f64).show("conflicts", "");
    Samples::one(took.as_secs_f64()).show("all together", "s");
    Ok(())
}

/// Does the same at the same time, so often.
fn each<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|index| {
                let work = &work;
                scope.spawn(move || work(index))
            })
            .collect();
        let done = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a client panicked")?);
        done.collect()
    })
}

fn own_server(copy: &Copy) -> Result<Server> {
    Server::start(
        command(SWARM, &copy.home())
            .current_dir(copy.root())
            .arg("mcp"),
    )
}

/// Adds one to the fact so often, by compare-and-swap alone; how many conflicts there were.
fn count_up(server: &mut Server, times: usize) -> Result<u64> {
    let (mut version, mut done, mut conflicts) = (0, 0, 0);
    while done < times {
        let value = (version + 1_u64).to_string();
        let write = json!({"key": KEY, "value": value, "expectedVersion": version,
            "evidence": []});
        let answer = server.call("fact_write", &write)?;
        let said = answer.json()?;
        let now = if answer.failed {
            conflicts += 1;
            &said["error"]["current"]["version"]
        } else {
            done += 1;
            &said["version"]
        };
        version = now.as_u64().ok_or_else(|| format!("no version: {said}"))?;
    }
    Ok(conflicts)
}

fn beside() -> Result {
    let folder = tempfile::tempdir()?;
    let copy = quiet_repository(folder.path())?;
    let daemon = Daemon::start(&copy)?;
    let acknowledged = each(BESIDE, |writer| {
        let mut server = own_server(&copy)?;
        let done = write_all(
            &mut server,
            "learn",
            |number| json!({"content": format!("writer {writer} found {number}")}),
        )?;
        server.close()?;
        Ok(done)
    })?;
    let learnings: Value =
        serde_json::from_str(&swarm(&copy, &["memory", "learnings", "--json"])?)?;
    daemon.stop()?;
    let kept = learnings.as_array().map_or(0, Vec::len);
    println!("beside: {BESIDE} writers, {WRITES} acknowledged writes each");
    Goal::AtMost(0.0).judge("lost by `swarm mcp`", &lost(&acknowledged, kept), "");
    let Some(program) = other_server()? else {
        return Ok(());
    };
    let file = folder.path().join("memory.jsonl");
    let acknowledged = each(BESIDE, |writer| {
        let mut other = command(&program.to_string_lossy(), &copy.home());
        let mut server = Server::start(other.env("MEMORY_FILE_PATH", &file))?;
        let done = write_all(&mut server, "create_entities", |number| {
            let entity = json!({"name": format!("{writer}-{number}"), "entityType": "finding",
                "observations": ["found"]});
            json!({ "entities": [entity] })
        })?;
        server.close()?;
        Ok(done)
    })?;
    let text = fs::read_to_string(&file)?;
    let kept = text
        .lines()
        .filter(|line| line.contains("\"entity\""))
        .count();
    lost(&acknowledged, kept).show("lost by server-memory 2026.8.31", "");
    Ok(())
}

fn write_all(server: &mut Server, tool: &str, write: impl Fn(usize) -> Value) -> Result<usize> {
    let mut acknowledged = 0;
    for number in 0..WRITES {
        let answer = server.call(tool, &write(number))?;
        acknowledged += usize::from(!answer.failed);
    }
    Ok(acknowledged)
}

fn lost(acknowledged: &[usize], kept: usize) -> Samples {
    Samples::one(acknowledged.iter().sum::<usize>() as f64 - kept as f64)
}

/// The program of the other server, installed where the tests of real agents install theirs;
/// `None` without `npm`.
fn other_server() -> Result<Option<PathBuf>> {
    let npm = Program::new("npm").arg("--version").output();
    if !npm.is_ok_and(|ran| ran.status.success()) {
        println!("  skipped: `npm` cannot be started, so server-memory cannot be installed");
        return Ok(None);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents-cli");
    let done = Program::new(root.join("tests/agents/install.sh"))
        .arg(place)
        .arg("mcp")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    ensure(done.status.success(), || {
        format!("install.sh ended with {}", done.status)
    })?;
    let folder = String::from_utf8(done.stdout)?;
    Ok(Some(Path::new(folder.trim_end()).join("mcp-server-memory")))
}
