//! The page of a daemon with 10,000 ideas: how long the server takes for each page, now and in the
//! past, and what open pages cost while events come.
//!
//! A real daemon serves real connections on loopback; the times are the client's. The log is made
//! by the program's own rules. Three agents are at work, one of them with much output.
//!
//! `BENCH_EVENTS` (100000,500000 without it), `BENCH_IDEAS` (10000), `BENCH_CALLS` (40 of each
//! page), `BENCH_SECONDS` (20 of events with open pages), `BENCH_ONLY=live,past,streams`.

// Counts and bytes as they are printed, with three digits.
#![allow(clippy::cast_precision_loss)]

mod common;

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::daemon::{Daemon, configure, swarm};
use common::log::Maker;
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples, millis};
use common::web::Visitor;
use common::{Result, chosen, ensure, note, size, sizes, wanted};
use serde_json::Value;

/// The server's time for any page, in milliseconds; and what is aimed at.
const LIVE: (f64, f64) = (100.0, 20.0);
/// A page of a moment at or after a kept one.
const WARM: f64 = 100.0;
/// A page of another moment, with up to 100,000 events, and with more.
const COLD: (f64, f64) = (250.0, 1_000.0);
/// Open pages; a session has at most five streams.
const SESSIONS: usize = 4;
const STREAMS: usize = 5;
/// Events in a second while pages are open.
const RATE: u32 = 50;
/// Of one processor, with all of them.
const CPU: f64 = 0.3;
/// Each of those events, acknowledged, in milliseconds.
const ACKNOWLEDGED: f64 = 50.0;

/// Agents at work; each waits for the file `go` beside the repository.
const AGENT: &str = r#"cat > /dev/null
i=0
while [ $i -lt 3000 ]; do
  printf '\033[32m   Compiling\033[0m part-%d v0.1.0 (/work/check.sh)\n' $i
  i=$((i+1))
done
echo '<swarm>PROGRESS:40</swarm>'
while [ ! -e "$0.go" ]; do sleep 0.2; done
echo '<swarm>COMPLETE</swarm>'
"#;

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), 100)?;
    for events in sizes("BENCH_EVENTS", &[100_000, 500_000], 2_000)? {
        let copy = template.copy(&folder.path().join("copy"))?;
        measure(&copy, events as u64)?;
    }
    Ok(())
}

fn measure(copy: &Copy, events: u64) -> Result {
    configure(copy, "semi-auto", 3, &[])?;
    std::fs::write(copy.agent(), AGENT)?;
    let (done, ideas) = make(copy, events)?;
    let daemon = Daemon::with_page(copy)?;
    swarm(copy, &["checkpoint", "create", "in-the-midst"])?;
    let agent = begin_work(copy, ideas)?;
    let last = last_seq(&daemon)?;
    println!("page: {last} events, {ideas} ideas, {done} of them done");
    let pages = pages(ideas, &agent);
    let mut visitor = Visitor::enter(copy)?;
    // The log is read once, in the background, when the first page is asked for.
    wait_for("the time bar", || {
        Ok(visitor.get("")?.body.contains("data-seqs"))
    })?;
    if chosen("live") {
        live(&mut visitor, &pages)?;
    }
    if chosen("past") {
        past(&mut visitor, &pages, last)?;
    }
    drop(visitor);
    if chosen("streams") {
        streams(copy, &daemon, &pages, ideas)?;
    }
    std::fs::write(copy.place("agent.sh.go"), "")?;
    daemon.stop()
}

/// Most of the ideas are done, the others wait, and every fifth for another.
fn make(copy: &Copy, events: u64) -> Result<(usize, u64)> {
    let wanted = size("BENCH_IDEAS", 10_000, 200)? as u64;
    note(format!("making a log of {events} events, {wanted} ideas"));
    let state_dir = copy.root().join(".swarm/state");
    let commit = copy.git(&["rev-parse", "main"])?;
    let mut maker = Maker::at_commit(&state_dir, commit.trim())?;
    maker.work_until(events.saturating_sub(wanted / 2))?;
    let done = maker.state.ideas.len();
    let ideas = wanted.max(done as u64 + wanted / 5);
    maker.add_until(ideas)?;
    maker.snapshot(&state_dir)?;
    Ok((done, ideas))
}

/// Gives three ideas to agents, and waits until all have written; the name of one agent.
fn begin_work(copy: &Copy, ideas: u64) -> Result<String> {
    // Every fifth waits for another.
    let free = (1..=ideas).rev().filter(|number| !number.is_multiple_of(5));
    for number in free.take(3) {
        swarm(copy, &["idea", "assign", &format!("idea-{number:03}")])?;
    }
    let mut name = String::new();
    wait_for("agents at work", || {
        let agents: Value = serde_json::from_str(&swarm(copy, &["agent", "list", "--json"])?)?;
        let all = agents.as_array().ok_or("no list of agents")?;
        let at_work = all.iter().filter(|agent| agent["progress"] == 40);
        let names: Vec<_> = at_work.filter_map(|agent| agent["id"].as_str()).collect();
        names
            .first()
            .copied()
            .unwrap_or_default()
            .clone_into(&mut name);
        Ok(names.len() == 3)
    })?;
    Ok(name)
}

/// Every page, with the ids of the log.
fn pages(ideas: u64, agent: &str) -> Vec<String> {
    let done = "idea-001";
    let open = format!("idea-{:03}", ideas - 5);
    let fixed = [
        "",
        "ideas",
        "ideas?status=done",
        "ideas?q=command&page=7",
        "ideas/graph",
        "agents",
        "train",
        "timeline",
        "timeline?span=all",
        "timeline?by=agent",
        "events",
        "events?kind=ideaLanded",
        "checkpoints",
        "checkpoints/in-the-midst",
        "report",
        "report?since=7d",
        "cost",
        "learnings",
        "hooks",
        "settings",
    ];
    let mut all: Vec<String> = fixed.map(str::to_owned).into();
    all.extend([
        format!("ideas/{done}"),
        format!("ideas/{done}?tab=history"),
        format!("ideas/{open}"),
        format!("ideas/graph?of={open}"),
        format!("agents/{agent}"),
    ]);
    all
}

/// Those that are no page of the past.
fn forms(ideas: u64, agent: &str) -> Vec<String> {
    vec![
        "ideas/add".to_owned(),
        "palette".to_owned(),
        "palette?q=idea-77".to_owned(),
        "do/pause".to_owned(),
        "do/checkpoint".to_owned(),
        "do/rollback/in-the-midst".to_owned(),
        format!("do/cancel/idea-{:03}", ideas - 5),
        format!("do/redirect/{agent}"),
        format!("do/intervene/{agent}"),
    ]
}

fn live(visitor: &mut Visitor, pages: &[String]) -> Result {
    let calls = size("BENCH_CALLS", 40, 2)?;
    println!("  now, p95 of {calls} requests each, KB, elements");
    let mut worst = Samples::new();
    let agent = pages.iter().find_map(|page| page.strip_prefix("agents/"));
    let last = pages
        .iter()
        .find_map(|page| page.strip_prefix("ideas/graph?of=idea-"));
    let last: u64 = last.unwrap_or_default().parse()?;
    let forms = forms(last + 5, agent.unwrap_or_default());
    for page in pages.iter().chain(&forms) {
        let mut times = Vec::new();
        let mut body = String::new();
        for _ in 0..calls {
            let answer = visitor.get(page)?;
            times.push(millis(answer.time));
            body = answer.body;
        }
        let slow = percentile(&mut times, 95);
        let (kilobytes, elements) = (body.len() as f64 / 1e3, elements(&body));
        println!("    /{page:<32} {slow:>8.2} ms {kilobytes:>7.1} KB {elements:>5}");
        worst.push(slow);
    }
    let slowest = Samples::one(worst.max());
    Goal::AtMost(LIVE.0).judge("the slowest page, p95", &slowest, "ms");
    Goal::AtMost(LIVE.1).judge("the same, aimed at", &slowest, "ms");
    Ok(())
}

fn past(visitor: &mut Visitor, pages: &[String], last: u64) -> Result {
    let calls = size("BENCH_CALLS", 40, 2)?;
    let rounds = (calls / 8).max(1) as u64;
    let at = |page: &str, seq: u64| {
        let sign = if page.contains('?') { '&' } else { '?' };
        format!("{page}{sign}at={seq}")
    };
    let mut cold = Vec::new();
    let (step, newest) = (last / 50, last - last / 20);
    for round in 0..rounds {
        // Earlier each time: no kept state is of use.
        cold.push(millis(visitor.get(&at("", newest - round * step))?.time));
    }
    println!(
        "  {} events back, p95 of {calls} requests each",
        last - newest
    );
    let begin = newest - rounds * step;
    let mut seq = begin + 1;
    let mut worst = Samples::new();
    // An agent that works now was not there then.
    for page in pages.iter().filter(|page| !is_of_now(page)) {
        visitor.get(&at(page, seq))?;
        let mut times = Vec::new();
        for _ in 0..calls {
            // As the time bar does while it plays: each request is of a later event.
            seq += 1;
            times.push(millis(visitor.get(&at(page, seq))?.time));
        }
        let slow = percentile(&mut times, 95);
        println!("    /{page:<32} {slow:>8.2} ms");
        worst.push(slow);
    }
    let mut back = Vec::new();
    for _ in 0..calls {
        seq -= 1;
        back.push(millis(visitor.get(&at("", seq))?.time));
    }
    let back = percentile(&mut back, 95);
    println!("    one event back each time         {back:>8.2} ms");
    let goal = if last <= 120_000 { COLD.0 } else { COLD.1 };
    Goal::AtMost(goal).judge(
        "an unknown moment, p95",
        &Samples::one(percentile(&mut cold, 95)),
        "ms",
    );
    Goal::AtMost(WARM).judge(
        "the next moment, slowest page, p95",
        &Samples::one(worst.max()),
        "ms",
    );
    Goal::AtMost(WARM).judge("the moment before, p95", &Samples::one(back), "ms");
    Ok(())
}

fn is_of_now(page: &str) -> bool {
    page.starts_with("agents/") || page.starts_with("checkpoints/") || page.contains("idea-")
}

/// Events at a steady rate while pages are open.
fn streams(copy: &Copy, daemon: &Daemon, pages: &[String], ideas: u64) -> Result {
    let seconds = u32::try_from(size("BENCH_SECONDS", 20, 1)?)?;
    let rest = edits(daemon, ideas, seconds)?;
    let (mut open, mut readers) = (Vec::new(), Vec::new());
    for session in 0..SESSIONS {
        let visitor = Visitor::enter(copy)?;
        for place in 0..STREAMS {
            let page = &pages[(session * STREAMS + place) % pages.len()];
            let page = page.replace('?', "%3F").replace('&', "%26");
            let mut stream = visitor.follow(&page, &format!("1-{session}-{place}"))?;
            open.push(stream.try_clone()?);
            readers.push(thread::spawn(move || {
                let (mut bytes, mut block) = (0, vec![0; 64 * 1024]);
                while let Ok(read @ 1..) = stream.read(&mut block) {
                    bytes += read as u64;
                }
                bytes
            }));
        }
    }
    // What a stream sends first is no update.
    thread::sleep(Duration::from_secs(1));
    let busy = edits(daemon, ideas, seconds)?;
    for stream in open {
        stream.shutdown(Shutdown::Both)?;
    }
    let bytes: Vec<u64> = readers
        .into_iter()
        .map(|it| it.join().unwrap_or(0))
        .collect();
    ensure(bytes.iter().all(|bytes| *bytes > 0), || {
        format!("a stream sent nothing: {bytes:?}")
    })?;
    let count = bytes.len();
    println!("  {RATE} events a second for {seconds} s, with {count} open pages and without");
    let sent = bytes.iter().sum::<u64>() as f64 / 1e3 / f64::from(seconds);
    Samples::one(sent).show("sent to all pages", "KB/s");
    Samples::one(rest.cpu).show("processor without pages", "core");
    Samples::one(rest.slowest).show("acknowledged without pages, p99", "ms");
    Goal::AtMost(CPU).judge("processor with pages", &Samples::one(busy.cpu), "core");
    Goal::AtMost(ACKNOWLEDGED).judge("acknowledged, p99", &Samples::one(busy.slowest), "ms");
    Ok(())
}

/// What a stretch of events cost.
struct Stretch {
    /// Of one processor.
    cpu: f64,
    /// The 99th percentile of the answers, in milliseconds.
    slowest: f64,
}

/// Changes of waiting ideas, over the socket, at [`RATE`].
fn edits(daemon: &Daemon, ideas: u64, seconds: u32) -> Result<Stretch> {
    /// A change to the same priority would be no event.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let mut socket = UnixStream::connect(daemon.socket()?)?;
    let (begun, before) = (Instant::now(), daemon.usage()?);
    let mut times = Vec::new();
    for turn in 0..seconds * RATE {
        let due = begun + Duration::from_secs(1) / RATE * turn;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let id = format!("idea-{:03}", ideas - 5 - u64::from(turn) % 20);
        let priority = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let asked = Instant::now();
        change(&mut socket, &id, priority)?;
        times.push(millis(asked.elapsed()));
    }
    let cpu = daemon.usage()?.cpu.saturating_sub(before.cpu);
    Ok(Stretch {
        cpu: cpu.as_secs_f64() / begun.elapsed().as_secs_f64(),
        slowest: percentile(&mut times, 99),
    })
}

fn change(socket: &mut UnixStream, id: &str, priority: u64) -> Result {
    let body =
        format!("{{\"do\":\"editIdea\",\"id\":\"{id}\",\"edit\":{{\"priority\":{priority}}}}}");
    let request = format!(
        "POST /api/v1/commands HTTP/1.1\r\nhost: swarm\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes())?;
    let mut block = vec![0; 64 * 1024];
    let read = socket.read(&mut block)?;
    let answer = String::from_utf8_lossy(&block[..read]);
    ensure(answer.starts_with("HTTP/1.1 200"), || answer.to_string())
}

fn last_seq(daemon: &Daemon) -> Result<u64> {
    let seq = daemon.status()?["lastSeq"].as_u64();
    Ok(seq.ok_or("`status --json` has no lastSeq")?)
}

fn wait_for(what: &str, mut is: impl FnMut() -> Result<bool>) -> Result {
    let begun = Instant::now();
    while !is()? {
        ensure(begun.elapsed() < Duration::from_secs(60), || {
            format!("no {what}")
        })?;
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Opening tags.
fn elements(body: &str) -> usize {
    let mut tags = body.split('<').skip(1);
    tags.by_ref()
        .filter(|tag| tag.starts_with(|first: char| first.is_ascii_alphabetic()))
        .count()
}

fn percentile(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    let place = (times.len() * percent).div_ceil(100);
    times
        .get(place.saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}
