//! One daemon, idea after idea: what it holds comes back to where it began.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{PATIENCE, Sandbox, processes};

/// Ideas that are added at once.
const BATCH: u64 = 20;
/// What an allocator gives back late, in bytes: it counts with few ideas only.
const NOISE: u64 = 3 * 1024 * 1024;

/// How long after the last event a daemon gives back what it does not need: five seconds, the event
/// that marks the end of the log, and some.
const REST: Duration = Duration::from_secs(8);

/// What a daemon holds at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    descriptors: usize,
    threads: usize,
    zombies: usize,
    worktrees: usize,
    runs: usize,
}

fn entries(path: &str) -> usize {
    fs::read_dir(path).map_or(0, Iterator::count)
}

fn held(sandbox: &Sandbox, pid: i32) -> Held {
    let worktrees = fs::read_dir(sandbox.worktrees()).unwrap();
    // Those that wait for the next attempt are kept on purpose, as many as may be.
    let used = worktrees.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        !name.to_string_lossy().starts_with('.')
    });
    let runs = fs::read_dir(sandbox.private("runs")).unwrap();
    Held {
        descriptors: entries(&format!("/proc/{pid}/fd")),
        threads: entries(&format!("/proc/{pid}/task")),
        zombies: processes::zombies_of(pid).len(),
        worktrees: used.count(),
        runs: runs.count(),
    }
}

/// One batch from the first idea to the last landing, and what is over removed.
fn batch(sandbox: &Sandbox, number: u64) {
    for idea in 0..BATCH {
        // The same files again and again: the repository is not what is measured.
        let name = format!("{number}-{idea}");
        let body = json!({"content": format!("DO: write work/{idea}.txt {name}; say \
            LEARNING_LOCAL:{name}; say COMPLETE")});
        let (status, answer) = sandbox.post("ideas", &body).unwrap();
        assert!(status < 300, "{answer}");
    }
    let done = (number + 1) * BATCH;
    sandbox.wait_within(PATIENCE * 2, "the batch", || {
        (sandbox.status()["ideas"]["done"] == done).then_some(())
    });
    sandbox.wait_for("what is given back", || {
        let requested = sandbox.status()["slots"]["used"] == 0;
        requested.then_some(())
    });
    // A run's directory is needed until its record is written.
    sandbox.wait_for("no run to be left", || {
        let (status, answer) = sandbox.post("clean", &json!({})).unwrap();
        assert!(status < 300, "{answer}");
        let left = fs::read_dir(sandbox.private("runs")).unwrap().count();
        (left == 0).then_some(())
    });
}

/// Resident memory, in bytes, of one to which nothing happens: the least of some seconds, in which
/// it comes to rest.
fn at_rest(pid: i32) -> u64 {
    let begun = Instant::now();
    let mut least = processes::resident(pid);
    while begun.elapsed() < REST {
        // Not synchronisation: so often it is looked at.
        std::thread::sleep(Duration::from_millis(100));
        least = least.min(processes::resident(pid));
    }
    least
}

/// The same of one that has read the state, of which ideas that are over are part, and has done
/// each kind of work a few times, so that it has as much of the program itself in memory.
fn of_a_new_daemon(sandbox: &Sandbox, batches: u64) -> u64 {
    let daemon = sandbox.start();
    batch(sandbox, batches);
    let memory = at_rest(daemon.pid);
    daemon.stop();
    memory
}

#[test]
fn idea_after_idea_a_daemon_holds_no_more_than_before() {
    let ideas = std::env::var("SWARM_ENDURANCE").map_or(100, |text| text.parse::<u64>().unwrap());
    let batches = ideas.div_ceil(BATCH);
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({
        "agents": {"maxParallel": 4},
        "retention": {"runsDays": 0},
        "checkpoints": {"periodic": 50, "keep": 3},
    }));
    let daemon = sandbox.start();
    // The first ones warm it up: worker threads, kept worktrees, pages of the program.
    batch(&sandbox, 0);
    batch(&sandbox, 1);
    let (first, memory) = (held(&sandbox, daemon.pid), processes::resident(daemon.pid));
    let begun = Instant::now();
    for number in 2..2 + batches {
        batch(&sandbox, number);
        if number % 25 == 0 {
            println!(
                "{} ideas: {:?}, {} MiB",
                (number - 1) * BATCH,
                held(&sandbox, daemon.pid),
                processes::resident(daemon.pid) >> 20
            );
        }
    }
    let took = begun.elapsed();
    let last = sandbox.wait_for("what it holds to come back", || {
        let now = held(&sandbox, daemon.pid);
        let back = now.descriptors <= first.descriptors
            && now.threads <= first.threads
            && now.zombies == 0
            && now.worktrees <= first.worktrees
            && now.runs <= first.runs;
        back.then_some(now)
    });
    let old = at_rest(daemon.pid);
    daemon.stop();
    let new = of_a_new_daemon(&sandbox, 2 + batches);
    println!(
        "{} ideas in {took:?} ({:?} each): {first:?} -> {last:?}; memory {} KiB at first, {} KiB \
        at last, {} KiB of a new daemon that knows the same and did {BATCH} more",
        batches * BATCH,
        took / u32::try_from(batches * BATCH).unwrap_or(1),
        memory / 1024,
        old / 1024,
        new / 1024,
    );
    let allowed = new + (new / 20).max(NOISE);
    assert!(
        old <= allowed,
        "it had {old} bytes, {allowed} are allowed: a new one has {new}"
    );
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}
