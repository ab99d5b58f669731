//! Ctrl+C at any instant of a busy run: it ends cleanly and in time, nothing runs on, nobody is
//! penalised, and the next start goes on. `SWARM_INTERRUPTS` says how many; the seed that repeats
//! them is printed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::harness::{Daemon, PATIENCE, Sandbox, processes};
use crate::kill_and_restart::Dice;

/// Ideas that are under way or wait at any time.
const IDEAS: usize = 6;
const GRACE: Duration = Duration::from_secs(1);
/// A guard against hanging only: what was measured is printed, and judged by whoever reads it,
/// since a test machine may be busy.
const HANG: Duration = Duration::from_secs(30);

/// Works a while, one in three for longer than the grace and deaf to TERM; fails its gate in each
/// idea's first iteration, mends that in the second, and leaves something uncommitted.
const DOING: &str = "case $SWARM_IDEA_ID in *[147]) trap '' TERM; sleep 1.5 ;; esac; sleep \
    0.$((SWARM_ITERATION * 2)); write $SWARM_IDEA_ID.txt x; [ -e mended-$SWARM_IDEA_ID ] || write \
    broken-$SWARM_IDEA_ID; [ \"$SWARM_ITERATION\" -eq 1 ] || { rm -f broken-*; write \
    mended-$SWARM_IDEA_ID; }; commit; write left-$SWARM_IDEA_ID.txt y; say COMPLETE";

fn busy() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({
        "agents": {"maxParallel": 3},
        "qualityCommands": ["sleep 0.05; ! ls broken-* 2>/dev/null"],
        "shutdown": {"graceSeconds": GRACE.as_secs()},
    }));
    sandbox
}

/// So many ideas that are not over.
fn fill(sandbox: &Sandbox) {
    let open = sandbox
        .ideas()
        .iter()
        .filter(|idea| idea["status"] != "done")
        .count();
    for _ in open..IDEAS {
        sandbox.idea(DOING);
    }
}

/// What an interrupted attempt may not have cost anybody, and what was acknowledged.
fn assert_unharmed(sandbox: &Sandbox, acknowledged: &BTreeSet<String>) {
    let ideas = sandbox.ideas();
    let known: BTreeSet<String> = ideas.iter().map(|idea| text(&idea["id"])).collect();
    assert!(known.is_superset(acknowledged), "lost: {acknowledged:?}");
    for idea in &ideas {
        assert_eq!(idea["retryCount"], 0, "{idea}");
        assert!(
            ["pending", "active", "merging", "done"].contains(&idea["status"].as_str().unwrap()),
            "{idea}"
        );
    }
    for ended in sandbox.logged("attemptEnded") {
        let end = &ended.data["end"];
        assert!(
            ["done", "merged", "interrupted"].contains(&end.as_str().unwrap()),
            "{:?}",
            ended.data
        );
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Whoever runs the tests in the background may have Ctrl+C ignored until somebody asks for it: one
/// that is sent before is nobody's.
fn wait_until_heeded(sandbox: &Sandbox, daemon: &Daemon<'_>) {
    sandbox.wait_for("Ctrl+C not to be ignored", || {
        let ignored = processes::ignores(daemon.pid, Signal::SIGINT);
        (ignored == Some(false) || daemon.exited().is_some()).then_some(())
    });
}

/// Waits until the daemon's own words say that it has heard the signal.
fn heard(sandbox: &Sandbox, daemon: &Daemon<'_>) {
    sandbox.wait_for("the first Ctrl+C to be heard", || {
        let said = daemon.output().contains("Ctrl+C again");
        (said || daemon.exited().is_some()).then_some(())
    });
}

/// The ideas so far end up landed, each once.
fn assert_all_land_once(sandbox: &Sandbox, base: &str) -> usize {
    let left = u32::try_from(sandbox.ideas().len()).unwrap();
    let limit = 2 * PATIENCE + Duration::from_secs(1) * left;
    assert_eq!(sandbox.run_until_idle_within(limit), 0);
    let ideas = sandbox.ideas();
    assert!(
        ideas.iter().all(|idea| idea["status"] == "done"),
        "{ideas:#?}"
    );
    let landed = sandbox.landings(base, "main");
    let once: BTreeSet<&String> = landed.iter().map(|(_, idea)| idea).collect();
    assert_eq!(
        (landed.len(), once.len()),
        (ideas.len(), ideas.len()),
        "{landed:?}"
    );
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
    ideas.len()
}

fn rounds(of_ci: usize) -> usize {
    let given = std::env::var("SWARM_INTERRUPTS");
    given.map_or(of_ci, |text| text.parse().unwrap())
}

#[test]
fn an_interrupt_at_any_instant_ends_cleanly_and_in_time() {
    let rounds = rounds(12);
    let sandbox = busy();
    let base = sandbox.head("main");
    let mut dice = Dice::thrown();
    let (mut longest, mut late, mut cut_short) = (Duration::ZERO, 0, 0);
    for round in 1..=rounds {
        fill(&sandbox);
        let acknowledged = sandbox
            .ideas()
            .iter()
            .map(|idea| text(&idea["id"]))
            .collect();
        let daemon = sandbox.start();
        wait_until_heeded(&sandbox, &daemon);
        // Not synchronisation: the instant is what is drawn.
        std::thread::sleep(Duration::from_millis(dice.below(1_500)));
        let begun = Instant::now();
        let signal = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
            [usize::try_from(dice.below(3)).unwrap()];
        daemon.signal(signal);
        let code = daemon.wait_exit(HANG);
        let took = begun.elapsed();
        assert_eq!(code, 0, "round {round}: {}", daemon.output());
        if took > GRACE + Duration::from_secs(1) {
            late += 1;
            println!("round {round}: {signal} took {took:?}");
        }
        longest = longest.max(took);
        let left = sandbox.processes();
        assert!(left.is_empty(), "round {round}: {left:#?}");
        assert_eq!(sandbox.status()["phase"], "stopped", "round {round}");
        let last = sandbox.logged("phaseChanged").pop().unwrap();
        assert_eq!(last.data["phase"], "stopped", "round {round}");
        cut_short += usize::from(last.data.get("deadline").is_some());
        assert_unharmed(&sandbox, &acknowledged);
    }
    let landed = assert_all_land_once(&sandbox, &base);
    println!(
        "{rounds} interrupts, {cut_short} cut short for want of time, {landed} ideas landed once; \
        longest end {longest:?} with a grace of {GRACE:?}, {late} later than grace + 1 s"
    );
}

/// Before the daemon hears signals it has done nothing, so it may simply be gone; after that it
/// ends as it always does.
#[test]
fn an_interrupt_at_any_instant_of_the_start_leaves_nothing() {
    let rounds = rounds(12);
    let sandbox = busy();
    let base = sandbox.head("main");
    fill(&sandbox);
    let mut dice = Dice::thrown();
    let mut gone = 0;
    for round in 1..=rounds {
        let acknowledged = sandbox
            .ideas()
            .iter()
            .map(|idea| text(&idea["id"]))
            .collect();
        let mut start = sandbox.command("env");
        start.args(["--default-signal=INT", env!("CARGO_BIN_EXE_swarm"), "start"]);
        let daemon = sandbox.spawn(start);
        wait_until_heeded(&sandbox, &daemon);
        // Not synchronisation: the instant is what is drawn.
        std::thread::sleep(Duration::from_millis(dice.below(80)));
        daemon.signal(Signal::SIGINT);
        let code = daemon.wait_exit(HANG);
        assert!(
            [0, 130].contains(&code),
            "round {round}: {code} {}",
            daemon.output()
        );
        gone += usize::from(code == 130);
        sandbox.assert_nothing_runs();
        assert_eq!(sandbox.status()["phase"], "stopped", "round {round}");
        assert_unharmed(&sandbox, &acknowledged);
    }
    let landed = assert_all_land_once(&sandbox, &base);
    println!("{rounds} interrupted starts ({gone} before it heard), {landed} ideas landed once");
}

#[test]
fn a_second_interrupt_at_any_instant_ends_at_once_and_loses_nothing() {
    let rounds = rounds(6);
    let sandbox = busy();
    // Long enough for the second one to come first.
    sandbox.configure(&json!({
        "agents": {"maxParallel": 3},
        "qualityCommands": ["sleep 0.05; ! ls broken-* 2>/dev/null"],
        "shutdown": {"graceSeconds": 30},
    }));
    let base = sandbox.head("main");
    let mut dice = Dice::thrown();
    let (mut longest, mut clean, mut late) = (Duration::ZERO, 0, 0);
    for round in 1..=rounds {
        fill(&sandbox);
        let daemon = sandbox.start();
        wait_until_heeded(&sandbox, &daemon);
        // Not synchronisation: the instants of both are what is drawn.
        std::thread::sleep(Duration::from_millis(dice.below(1_000)));
        let acknowledged: BTreeSet<String> = (0..2)
            .map(|_| sandbox.idea(DOING))
            .chain(sandbox.ideas().iter().map(|idea| text(&idea["id"])))
            .collect();
        daemon.signal(Signal::SIGINT);
        heard(&sandbox, &daemon);
        std::thread::sleep(Duration::from_millis(dice.below(150)));
        if daemon.exited().is_none() {
            daemon.signal(Signal::SIGINT);
        }
        let begun = Instant::now();
        let code = daemon.wait_exit(HANG);
        let took = begun.elapsed();
        // What had nothing to wait for has ended already, as cleanly as after one.
        assert!(
            [0, 130].contains(&code),
            "round {round}: {code} {}",
            daemon.output()
        );
        clean += usize::from(code == 0);
        late += usize::from(took > Duration::from_secs(1));
        longest = longest.max(took);
        assert_unharmed(&sandbox, &acknowledged);
    }
    assert!(clean < rounds, "none of them was interrupted");
    let landed = assert_all_land_once(&sandbox, &base);
    println!(
        "{rounds} double interrupts ({clean} had ended before the second), {landed} ideas landed \
        once; longest {longest:?}, {late} later than 1 s"
    );
}
