//! Acknowledged events per second of 64 concurrent clients, against bare group commit on the same
//! disk.
//!
//! Each client changes the priority of its own idea and waits for the answer: one event, durable
//! before it is answered.
//!
//! `BENCH_ROUNDS` (7), `BENCH_SECONDS` (2).

// Counts and bytes as they are printed, with three digits.
#![allow(clippy::cast_precision_loss)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use common::clients::{group_commit, request};
use common::daemon::{Daemon, configure, swarm};
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples};
use common::{Result, ensure, isolated, size, wanted};
use serde_json::json;
use swarm::daemon::{Daemon as InProcess, Handle, Options};
use swarm::domain::ids::IdeaId;
use swarm::domain::operation::{Command, IdeaEdit};
use swarm::domain::settings::Mode;
use tokio::net::UnixStream;

const CLIENTS: usize = 64;

fn main() -> Result {
    // The daemon in this process must see no more of the user than a child does.
    if !wanted() || isolated()? {
        return Ok(());
    }
    let (rounds, seconds) = (size("BENCH_ROUNDS", 7, 2)?, size("BENCH_SECONDS", 2, 1)?);
    let time = Duration::from_secs(seconds as u64);
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), 100)?;
    let near = prepare(&template, &folder.path().join("near"))?;
    let far = prepare(&template, &folder.path().join("far"))?;
    let runtime = tokio::runtime::Runtime::new()?;
    let daemon = Daemon::start(&far)?;
    let socket = daemon.socket()?;
    let inside = InProcess::open(Options {
        root: near.root(),
        mode: Some(Mode::SemiAuto),
        until_idle: false,
    })?;
    let handle = inside.handle();
    let running = runtime.spawn(inside.run(std::future::ready(())));
    let bytes = line_bytes(&near, &runtime, &handle)?;
    let mut rates = [const { Samples::new() }; 3];
    for _ in 0..rounds {
        rates[0].push(runtime.block_on(in_process(&handle, time))?.rate);
        let floor = folder.path().join("floor.log");
        rates[1].push(group_commit(&floor, CLIENTS, bytes, time)?.rate);
        rates[2].push(recorded(&daemon, &runtime, &socket, time)?);
    }
    report(&rates, bytes);
    runtime.block_on(handle.command(Command::Shutdown { keep_agents: false }))?;
    runtime.block_on(running)??;
    daemon.stop()
}

fn report([near, floor, far]: &[Samples; 3], bytes: usize) {
    println!("acknowledged: {CLIENTS} clients, one event of {bytes} bytes each time");
    near.show("in the process, through the handle", "/s");
    far.show("over the unix socket, kept-alive connections", "/s");
    floor.show("floor, bare group commit", "/s");
    Goal::AtLeast(0.7).judge("handle / group commit", &near.over(floor), "x");
    Goal::AtLeast(0.7).judge("socket / group commit", &far.over(floor), "x");
}

/// A repository with an idea for each client.
fn prepare(template: &Template, folder: &Path) -> Result<Copy> {
    let copy = template.copy(folder)?;
    configure(&copy, "semi-auto", 3, &[])?;
    for number in 1..=CLIENTS {
        swarm(
            &copy,
            &["idea", "add", &format!("Idea of client {number}.")],
        )?;
    }
    Ok(copy)
}

fn idea(client: usize) -> IdeaId {
    IdeaId::numbered(client as u64 + 1)
}

/// A priority that no idea has: a change to the same priority would be no event.
fn next_priority() -> i64 {
    static LAST: AtomicI64 = AtomicI64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The rate over the socket, when the log has gained an event for each answer.
fn recorded(
    daemon: &Daemon,
    runtime: &tokio::runtime::Runtime,
    socket: &Path,
    time: Duration,
) -> Result<f64> {
    let last_seq = || -> Result<u64> {
        let seq = daemon.status()?["lastSeq"].as_u64();
        Ok(seq.ok_or("`status --json` has no lastSeq")?)
    };
    let before = last_seq()?;
    let measured = runtime.block_on(over_socket(socket, time))?;
    let events = last_seq()? - before;
    ensure(events >= measured.answers, || {
        format!("{} answers, but {events} events", measured.answers)
    })?;
    Ok(measured.rate)
}

/// Bytes of such an event's line in the log, read after a short warm-up round.
fn line_bytes(copy: &Copy, runtime: &tokio::runtime::Runtime, handle: &Handle) -> Result<usize> {
    let log = copy.root().join(".swarm/state/events.jsonl");
    runtime.block_on(in_process(handle, Duration::from_millis(300)))?;
    let text = fs::read_to_string(log)?;
    let line = text.lines().rfind(|line| line.contains("\"ideaEdited\""));
    Ok(line.ok_or("no idea was edited")?.len() + 1)
}

/// What all clients got in one round.
struct Measured {
    answers: u64,
    /// Answers per second.
    rate: f64,
}

/// Runs all clients for a time.
async fn measured<F>(time: Duration, client: impl Fn(usize, Instant) -> F) -> Result<Measured>
where
    F: Future<Output = Result<u64>> + Send + 'static,
{
    let begun = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|index| tokio::spawn(client(index, begun + time)))
        .collect();
    let mut answers = 0;
    for client in clients {
        answers += client.await??;
    }
    let rate = answers as f64 / begun.elapsed().as_secs_f64();
    Ok(Measured { answers, rate })
}

async fn in_process(handle: &Handle, time: Duration) -> Result<Measured> {
    measured(time, |client, end| {
        let (handle, id) = (handle.clone(), idea(client));
        async move {
            let mut answers = 0;
            while Instant::now() < end {
                let edit = IdeaEdit {
                    priority: Some(next_priority()),
                    ..IdeaEdit::default()
                };
                let accepted = handle
                    .command(Command::EditIdea {
                        id: id.clone(),
                        edit,
                    })
                    .await?;
                if accepted.events.len() != 1 {
                    return Err(format!("one change led to {:?}", accepted.events).into());
                }
                answers += 1;
            }
            Ok(answers)
        }
    })
    .await
}

async fn over_socket(socket: &Path, time: Duration) -> Result<Measured> {
    measured(time, |client, end| {
        let (socket, id) = (socket.to_owned(), idea(client));
        async move {
            let mut stream = UnixStream::connect(socket).await?;
            let mut answers = 0;
            while Instant::now() < end {
                let edit = json!({"priority": next_priority()});
                let body = json!({"do": "editIdea", "id": id, "edit": edit}).to_string();
                let (status, answer) = request(&mut stream, "POST", "commands", &body).await?;
                ensure(status == 200, || format!("the daemon answered: {answer}"))?;
                answers += 1;
            }
            Ok(answers)
        }
    })
    .await
}
