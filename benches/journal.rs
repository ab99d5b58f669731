//! The journal against its goals, each beside the least that the work could cost:
//!
//! - a full replay (crc chain and typed parse): at most 3 times the bare typed parse;
//! - a start from a snapshot and the events after it, in the same log: at most 0.3 s;
//! - acknowledged events per second through the writer's thread: at least 0.9 of a bare
//!   write-and-sync loop.
//!
//! `BENCH_EVENTS` (1000000), `BENCH_ROUNDS` (40).

mod common;

use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use common::{Result, ensure, size, wanted};
use serde::{Deserialize, Serialize};
use swarm::domain::time::Timestamp;
use swarm::journal::{
    Batch, Journal, JournalEvent, Record, Segments, Snapshot, load, replay, spawn_writer, verify,
    write_snapshot,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "camelCase")]
enum Event {
    Mark {},
    #[serde(rename_all = "camelCase")]
    IdeaClaimed {
        idea_id: String,
        agent: String,
        attempt: u32,
        branch: String,
    },
    #[serde(rename_all = "camelCase")]
    IterationFinished {
        run_id: String,
        iteration: u32,
        exit_code: Option<i32>,
        tokens: Vec<u64>,
    },
}

impl JournalEvent for Event {
    fn mark() -> Self {
        Self::Mark {}
    }

    fn kind(&self) -> &str {
        match self {
            Self::Mark {} => "mark",
            Self::IdeaClaimed { .. } => "ideaClaimed",
            Self::IterationFinished { .. } => "iterationFinished",
        }
    }
}

fn event(n: u64) -> Event {
    if n.is_multiple_of(2) {
        return Event::IdeaClaimed {
            idea_id: format!("idea-{n:06}"),
            agent: format!("ed-{n:06}"),
            attempt: 1,
            branch: format!("agent/ed-{n:06}/idea-{n:06}"),
        };
    }
    Event::IterationFinished {
        run_id: format!("run-{n:08}"),
        iteration: 3,
        exit_code: Some(0),
        tokens: vec![n, 1_000, 250],
    }
}

fn events(from: u64, count: u64) -> Vec<Event> {
    (from..from + count).map(event).collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let result = work();
    (result, begin.elapsed())
}

/// The shortest of several times; the machine is shared.
fn best(mut work: impl FnMut()) -> Duration {
    let times = (0..5).map(|_| timed(&mut work).1);
    times.min().unwrap_or_default()
}

const NOW: Timestamp = Timestamp::from_millis(1_795_226_799_999);

/// Events after the snapshot, and in a batch.
const TAIL: u64 = 1_000;

fn write_log(dir: &Path, count: u64) {
    let (mut journal, _) = Journal::open(dir).expect("a new log");
    let mut last = 0;
    while last < count {
        let batch = events(last + 1, TAIL.min(count - last));
        last = journal.append(last, NOW, &batch).expect("appended");
        if last == count - TAIL.min(count) {
            let ideas = (0..10_000).map(|n| (format!("idea-{n:06}"), "x".repeat(680)));
            let snapshot = Snapshot {
                snapshot_at: NOW,
                swarm_version: "0".into(),
                position: journal.position(),
                config_hash: String::new(),
                state: ideas.collect::<BTreeMap<_, _>>(),
            };
            let ((), time) = timed(|| write_snapshot(dir, &snapshot).expect("written"));
            println!("snapshot of 10,000 ideas written     {time:>10.1?}");
        }
    }
}

fn bare_parse(dir: &Path) -> u64 {
    let mut parsed = 0;
    for segment in Segments::open(dir).expect("segments").iter() {
        let bytes = std::fs::read(&segment.path).expect("read");
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            let record: Record<Event> = serde_json::from_slice(line).expect("parsed");
            parsed += u64::from(black_box(record).seq > 0);
        }
    }
    parsed
}

fn reading(dir: &Path, count: u64) {
    let bare = best(|| assert_eq!(black_box(bare_parse(dir)), count));
    let full = best(|| {
        let last = replay(dir, 1, None, |record: Record<Event>| {
            black_box(record);
        });
        assert_eq!(last.expect("replayed"), count);
    });
    let ratio = full.as_secs_f64() / bare.as_secs_f64();
    println!("bare typed parse                     {bare:>10.1?}");
    println!("full replay, verified                {full:>10.1?}   {ratio:.2} x");
    let start = best(|| {
        let loaded = load::<BTreeMap<String, String>, Event>(dir).expect("loaded");
        let mut tail = 0;
        let folded = loaded.fold(BTreeMap::new, |_, record| {
            tail += 1;
            black_box(record);
        });
        black_box(folded.expect("folded"));
        assert_eq!(tail, count.min(TAIL));
    });
    println!("snapshot and tail                    {start:>10.1?}");
    let open = best(|| {
        black_box(Journal::open(dir).expect("opened"));
    });
    println!("opening for writing                  {open:>10.1?}");
}

/// Events in a group.
const GROUP: u64 = 64;
/// Groups in a measurement.
const GROUPS: u64 = 50;

fn bare_commits(dir: &Path, groups: u64) -> Duration {
    let mut file = File::create(dir.join("bare")).expect("created");
    timed(|| {
        for group in 0..groups {
            let mut bytes = Vec::new();
            for event in events(group * GROUP, GROUP) {
                serde_json::to_writer(&mut bytes, &event).expect("encoded");
                // What the header and the crc add.
                bytes.extend_from_slice(&[b'x'; 94]);
            }
            file.write_all(&bytes).expect("written");
            file.sync_data().expect("synced");
        }
    })
    .1
}

fn writer_commits(dir: &Path, groups: u64) -> Duration {
    let (journal, _) = Journal::open(dir).expect("opened");
    let mut expected = journal.position().seq;
    let (answers, answered) = channel();
    let writer = spawn_writer(journal, move |appended| {
        answers.send(appended.result).expect("heard");
    })
    .expect("spawned");
    let time = timed(|| {
        for _ in 0..groups {
            let events = events(expected, GROUP);
            let batch = Batch {
                expected,
                ts: NOW,
                events,
            };
            writer.submit(batch).expect("submitted");
            expected = answered.recv().expect("answered").expect("appended").seq;
        }
    });
    time.1
}

fn direct_commits(dir: &Path, groups: u64) -> Duration {
    let (mut journal, _) = Journal::open(dir).expect("opened");
    let mut last = journal.position().seq;
    let time = timed(|| {
        for _ in 0..groups {
            let events = events(last, GROUP);
            last = journal.append(last, NOW, &events).expect("appended");
        }
    });
    time.1
}

fn writing(dir: &Path, rounds: usize) {
    let groups = GROUPS;
    let state = dir.join("state");
    let mut times = [Duration::MAX; 3];
    // In turns, so that a change in the machine's load meets all of them.
    for _ in 0..rounds {
        times[0] = times[0].min(bare_commits(dir, groups));
        times[1] = times[1].min(direct_commits(&state, groups));
        times[2] = times[2].min(writer_commits(&state, groups));
    }
    println!("{groups} groups of {GROUP} events");
    for (what, time) in ["bare write and sync", "append", "the writer's thread"]
        .iter()
        .zip(times)
    {
        let ratio = times[0].as_secs_f64() / time.as_secs_f64();
        println!("  {what:<34} {time:>10.1?}   {ratio:.2} of the bare rate");
    }
}

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let count = size("BENCH_EVENTS", 1_000_000, 3_000)? as u64;
    let rounds = size("BENCH_ROUNDS", 40, 1)?;
    let dir = tempfile::tempdir()?;
    let state = dir.path().join("state");
    let ((), time) = timed(|| write_log(&state, count));
    println!("log written                          {time:>10.1?}");
    reading(&state, count);
    writing(dir.path(), rounds);
    // Two of the three ways of writing append to the log.
    let expected = count + 2 * rounds as u64 * GROUPS * GROUP;
    let last = verify(&state)?;
    ensure(last == expected, || {
        format!("the log ends at {last} instead of {expected}")
    })
}
