//! Hooks at their worst, many at once: the daemon stays quick and small, each call is in the log,
//! and nothing of them is left.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Sandbox, processes};

/// What the daemon's memory may grow by.
const GROWTH: u64 = 32 * 1024 * 1024;
/// Nobody who asks waits so long. What it really takes is printed.
const HANGS: Duration = Duration::from_secs(2);

/// Learnings of one agent.
const EACH: u64 = 100;
/// The hook, and where it is kept for when it has deleted itself.
const HOOK: &str = "hook.sh";
const KEPT: &str = "hook.kept";

/// How a hook may be: it hangs and ignores TERM; runs away into a session of its own; writes
/// without end; closes its output; deletes its own file; fails.
const KINDS: u64 = 6;
/// By the number of the learning. Which of these began is in `hook.began`. The file that is gone is
/// put back by who asks, as a whole: a hook that is ended while it does so would leave none.
const HOSTILE: &str = r#"#!/bin/sh
kind=$((${SWARM_CONTENT##*-} % KINDS))
echo $kind >> "$SWARM_REPO/hook.began"
case $kind in
0) trap '' TERM; while :; do sleep 1000; done ;;
1) setsid sh -c "trap '' TERM; while :; do sleep 1000; done" & while :; do sleep 1000; done ;;
2) yes 'a line of a hook' | head -c BYTES ;;
3) exec <&- >&- 2>&-; while :; do sleep 1000; done ;;
4) rm -f "$0" ;;
5) echo no >&2; exit 3 ;;
esac
"#;
/// Those that nothing but their time ends.
const HANG: [&str; 3] = ["0", "1", "3"];

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() * 99 / 100]
}

/// How many began that hang.
fn assert_each_kind_began(sandbox: &Sandbox) -> u64 {
    let began = sandbox.read("hook.began");
    let of = |kind: &str| began.lines().filter(|line| *line == kind).count() as u64;
    for kind in 0..KINDS {
        assert!(of(&kind.to_string()) > 0, "no hook of kind {kind} began");
    }
    HANG.into_iter().map(of).sum()
}

#[test]
fn a_storm_of_hostile_hooks_leaves_a_quick_small_and_clean_daemon() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap())
    };
    let calls = number("SWARM_HOOK_STORM", 48);
    let bytes = number("SWARM_HOOK_STORM_BYTES", 50_000_000);
    let sandbox = Sandbox::ready();
    let script = HOSTILE
        .replace("BYTES", &bytes.to_string())
        .replace("KINDS", &KINDS.to_string());
    sandbox.write(KEPT, &script);
    let (kept, hook) = (sandbox.repo().join(KEPT), sandbox.repo().join(HOOK));
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(&kept, &hook).unwrap();
    sandbox.configure(&json!({"hooks": {"on-learning": {"run": HOOK, "timeoutSeconds": 1}}}));
    let daemon = sandbox.start();
    sandbox.asked("status").unwrap();
    let before = processes::resident(daemon.pid);
    // What one agent may say is limited.
    let ideas: Vec<String> = (0..calls.div_ceil(EACH))
        .map(|idea| {
            let facts = EACH.min(calls - idea * EACH);
            sandbox.idea(&format!(
                "i=0; while [ $i -lt {facts} ]; do i=$((i+1)); say \
                LEARNING_GLOBAL:fact-$SWARM_IDEA_ID-$i; done; write $SWARM_IDEA_ID.txt x; say \
                COMPLETE"
            ))
        })
        .collect();
    let (mut answers, mut most) = (Vec::new(), before);
    let begun = Instant::now();
    let is_over = || {
        let ended = sandbox.logged("hookFinished").len() + sandbox.logged("hookTimedOut").len();
        ended as u64 >= calls
    };
    loop {
        answers.push(sandbox.asked("status").unwrap());
        most = most.max(processes::resident(daemon.pid));
        if answers.len().is_multiple_of(50) && is_over() {
            break;
        }
        if !hook.exists() {
            fs::hard_link(&kept, &hook).unwrap();
        }
        if begun.elapsed() > Duration::from_secs(60 + calls) {
            sandbox.fail("the storm does not end");
        }
        // Not synchronisation: so often somebody asks.
        std::thread::sleep(Duration::from_millis(20));
    }
    let (p99, growth) = (p99(answers.clone()), most - before);
    println!(
        "{calls} calls in {:?}: {} answers, p99 {p99:?}; memory grew by {} KiB",
        begun.elapsed(),
        answers.len(),
        growth / 1024
    );
    assert!(p99 < HANGS, "p99 of the answers: {p99:?}");
    assert!(growth < GROWTH, "the daemon grew by {growth} bytes");
    let events = |kind: &str| sandbox.logged(kind).len() as u64;
    let hung = assert_each_kind_began(&sandbox);
    let timed_out = events("hookTimedOut");
    assert!(timed_out >= hung, "{timed_out} of {hung} were ended");
    assert_eq!(events("hookFinished") + events("hookTimedOut"), calls);
    assert_eq!(events("hookStarted"), calls);
    for idea in &ideas {
        sandbox.wait_idea(idea, "done");
    }
    daemon.stop();
    sandbox.assert_nothing_runs();
    sandbox.assert_log_sound();
}
