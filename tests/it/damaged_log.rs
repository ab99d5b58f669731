//! Damaged state: torn tails are cut and kept, damage to acknowledged events is refused, a bad
//! snapshot costs nothing.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::harness::{Fingerprint, PATIENCE, Sandbox};

/// A sandbox whose log holds a finished idea and a clean end.
fn with_history() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox
}

#[test]
fn a_torn_tail_is_kept_aside_and_the_start_goes_on() {
    let sandbox = with_history();
    let path = sandbox.dot_swarm("state/events.jsonl");
    let whole = fs::read(&path).unwrap();
    let mut torn = whole.clone();
    torn.extend(b"{\"v\":1,\"seq\":99999,\"dur\":12,\"ts\":\"20");
    fs::write(&path, torn).unwrap();
    let second = sandbox.idea("write b.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&second), "done");
    assert!(
        fs::read(&path).unwrap().starts_with(&whole),
        "acknowledged events were changed"
    );
    let kept = fs::read_dir(sandbox.dot_swarm("state")).unwrap();
    let names: Vec<String> = kept
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.iter().any(|name| name.starts_with("torn-")),
        "{names:?}"
    );
    sandbox.assert_log_sound();
}

#[test]
fn damage_to_acknowledged_events_is_refused_and_nothing_is_touched() {
    let sandbox = with_history();
    let path = sandbox.dot_swarm("state/events.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 0x01;
    fs::write(&path, bytes).unwrap();
    // The snapshot knows nothing of the damage; it must not paper over it.
    let before = Fingerprint::of(&sandbox.dot_swarm("state"));
    sandbox
        .swarm(&["start"])
        .refused(75, &["events.jsonl", "swarm doctor"]);
    before.assert_same(
        &Fingerprint::of(&sandbox.dot_swarm("state")),
        "the refused start",
    );
    sandbox
        .swarm(&["idea", "add", "x"])
        .refused(75, &["swarm doctor"]);
    before.assert_same(
        &Fingerprint::of(&sandbox.dot_swarm("state")),
        "the refused command",
    );
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    assert!(doctor.stdout.contains("events.jsonl"), "{doctor}");
}

#[test]
fn a_snapshot_that_is_damaged_missing_or_foreign_costs_nothing() {
    let sandbox = with_history();
    let state = sandbox.swarm(&["idea", "list", "--json"]).ok().to_owned();
    let path = sandbox.dot_swarm("state/snapshot.json");
    let good = fs::read(&path).expect("a clean end leaves a snapshot");
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x01;
    for bad in [&b"{}"[..], b"", &good[..good.len() / 2], &flipped] {
        fs::write(&path, bad).unwrap();
        assert_eq!(sandbox.swarm(&["idea", "list", "--json"]).ok(), state);
        assert_eq!(sandbox.run_until_idle(), 0);
        sandbox.assert_log_sound();
    }
    for name in ["snapshot.json", "snapshot.prev.json"] {
        let _ = fs::remove_file(sandbox.dot_swarm("state").join(name));
    }
    assert_eq!(sandbox.swarm(&["idea", "list", "--json"]).ok(), state);
    // Of another repository: its events are not ours.
    sandbox.idea("write c.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let state = sandbox.swarm(&["idea", "list", "--json"]).ok().to_owned();
    let other = with_history();
    fs::copy(other.dot_swarm("state/snapshot.json"), &path).unwrap();
    assert_eq!(sandbox.swarm(&["idea", "list", "--json"]).ok(), state);
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.swarm(&["idea", "list", "--json"]).ok(), state);
    sandbox.assert_log_sound();
}

#[test]
fn a_log_that_lost_its_end_is_refused() {
    let sandbox = with_history();
    let path = sandbox.dot_swarm("state/events.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let half: String = text
        .split_inclusive('\n')
        .take(text.lines().count() / 2)
        .collect();
    fs::write(&path, half).unwrap();
    let before = Fingerprint::of(&sandbox.dot_swarm("state"));
    sandbox
        .swarm(&["start"])
        .refused(75, &["snapshot", "swarm doctor"]);
    before.assert_same(
        &Fingerprint::of(&sandbox.dot_swarm("state")),
        "the refused start",
    );
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged_and_the_daemon_goes_on_when_there_is_room() {
    if crate::harness::required_tools::mounts_are_forbidden() {
        return;
    }
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let state = sandbox.dot_swarm("state");
    let daemon = sandbox.start_on_disk(&state, "32m");
    let swarm = |args: &[&str]| {
        let mut command = daemon.beside(env!("CARGO_BIN_EXE_swarm"));
        sandbox.run(command.args(args), b"", PATIENCE)
    };
    sandbox.wait_for("the daemon to answer", || {
        let status = swarm(&["status", "--json"]);
        (status.code == 0 && status.stdout.contains("\"running\"")).then_some(())
    });
    let mut acknowledged = vec![swarm(&["idea", "add", "before"]).ok().trim().to_owned()];
    let mut fill = daemon.beside("sh");
    let filler = state.join("filler");
    let script = "cat /dev/zero >\"$1\" 2>/dev/null; true";
    sandbox
        .run(fill.args(["-c", script, "sh"]).arg(&filler), b"", PATIENCE)
        .ok();
    // What the log has allocated may still take some; then it is refused.
    let large = "x".repeat(40 * 1024);
    let refused = sandbox.wait_for("the disk to be full", || {
        let ran = swarm(&["idea", "add", &large]);
        if ran.code == 0 {
            acknowledged.push(ran.stdout.trim().to_owned());
        }
        (ran.code != 0).then_some(ran)
    });
    assert!([1, 74].contains(&refused.code), "{refused}");
    assert!(
        daemon.exited().is_none(),
        "the daemon must go on: {}",
        daemon.output()
    );
    let status = swarm(&["status", "--json"]).json();
    let warnings = status["warnings"].to_string();
    assert!(warnings.contains("cannot be written since"), "{status}");
    sandbox
        .run(daemon.beside("rm").arg(&filler), b"", PATIENCE)
        .ok();
    let after = sandbox.wait_for("room to be found", || {
        let ran = swarm(&["idea", "add", "after"]);
        (ran.code == 0).then_some(ran)
    });
    acknowledged.push(after.stdout.trim().to_owned());
    let status = swarm(&["status", "--json"]).json();
    let warnings = status["warnings"].to_string();
    assert!(!warnings.contains("cannot be written since"), "{status}");
    let list = swarm(&["idea", "list", "--json"]).json();
    let listed: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|idea| idea["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        listed, acknowledged,
        "what was acknowledged, and nothing else, is there"
    );
    swarm(&["replay", "--verify"]).ok();
    swarm(&["stop"]).ok();
    assert_eq!(daemon.wait_exit(PATIENCE), 0, "{}", daemon.output());
    sandbox.assert_nothing_runs();
}

#[test]
fn a_full_disk_does_not_keep_a_daemon_from_ending() {
    if crate::harness::required_tools::mounts_are_forbidden() {
        return;
    }
    let sandbox = Sandbox::ready();
    let state = sandbox.dot_swarm("state");
    let daemon = sandbox.start_on_disk(&state, "32m");
    sandbox.wait_for("the daemon to answer", || {
        let mut ask = daemon.beside(env!("CARGO_BIN_EXE_swarm"));
        let status = sandbox.run(ask.args(["status", "--json"]), b"", PATIENCE);
        (status.code == 0 && status.stdout.contains("\"running\"")).then_some(())
    });
    let mut fill = daemon.beside("sh");
    let script = "cat /dev/zero >\"$1\" 2>/dev/null; true";
    let filler = state.join("filler");
    sandbox
        .run(fill.args(["-c", script, "sh"]).arg(&filler), b"", PATIENCE)
        .ok();
    // What the log has allocated may still take some: first much at once, then the rest.
    for size in [40 * 1024, 1024, 1] {
        sandbox.wait_for("the disk to be full", || {
            let mut add = daemon.beside(env!("CARGO_BIN_EXE_swarm"));
            let text = "x".repeat(size);
            let ran = sandbox.run(add.args(["idea", "add", &text]), b"", PATIENCE);
            (ran.code != 0).then_some(())
        });
    }
    daemon.signal(nix::sys::signal::Signal::SIGTERM);
    let code = daemon.wait_exit(PATIENCE);
    // Its last words may still have found room.
    assert!([0, 74].contains(&code), "{code}: {}", daemon.output());
}

#[test]
fn a_dead_daemons_traces_do_not_stop_the_next() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    daemon.kill();
    assert!(sandbox.announced_pid().is_some());
    assert_eq!(sandbox.status()["phase"], "stopped");
    sandbox.swarm(&["pause"]).refused(3, &["swarm start"]);
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

#[test]
fn a_state_that_is_deleted_under_a_daemon_ends_it_and_its_agents_live_on() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea("hold a; write a.txt x; say COMPLETE");
    sandbox.wait_held("a");
    // Nothing is written from here on: the agent holds.
    sandbox.git(&["clean", "-fdxq", ".swarm/state"]);
    assert_eq!(daemon.wait_exit(PATIENCE), 74, "{}", daemon.output());
    let output = daemon.output();
    for words in ["events.jsonl", "removed", "git clean", "runners"] {
        assert!(output.contains(words), "`{words}` is missing: {output}");
    }
    assert!(
        !sandbox.processes().is_empty(),
        "the agent was ended with the daemon"
    );
    assert!(
        !sandbox.dot_swarm("state/events.jsonl").exists(),
        "a daemon that lost its log must not begin another"
    );
    sandbox.release("a");
    sandbox.assert_nothing_runs();
}

/// The advice of docs/recovery.md: the state comes from a backup that is older than the runs.
#[test]
fn after_a_state_from_an_older_backup_new_ideas_get_agents_of_their_own() {
    let sandbox = with_history();
    let (state, backup) = (sandbox.dot_swarm("state"), sandbox.path("backup"));
    let copy = |from: &Path, to: &Path| {
        let mut cp = sandbox.command("cp");
        cp.arg("-a").args([from, to]);
        sandbox.run(&mut cp, b"", PATIENCE).ok();
    };
    copy(&state, &backup);
    sandbox.idea("write b.txt x; say COMPLETE");
    sandbox.idea("write c.txt x; say BLOCKED: no key");
    assert_eq!(sandbox.run_until_idle(), 5);
    // As on a machine that has nothing but the backup.
    sandbox.lose_state();
    copy(&backup, &state);
    let new = sandbox.idea("note worked; write d.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.notes("worked"), [new.as_str()]);
    assert_eq!(sandbox.idea_status(&new), "done");
    sandbox.git(&["cat-file", "-e", "HEAD:d.txt"]);
    let said = sandbox.swarm(&["events"]);
    assert!(said.stdout.contains("the log is older than"), "{said}");
    sandbox.assert_log_sound();
}

/// `git clean -fdx` takes the log, and leaves a worktree that has a repository's mark, with its
/// branch.
#[test]
fn a_new_log_beside_kept_work_of_an_older_one_does_not_take_that_work_over() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt old; commit; say BLOCKED: no key");
    assert_eq!(sandbox.run_until_idle(), 5);
    let kept = sandbox.git(&["rev-parse", "agent/ed-001/idea-001"]);
    sandbox.git(&["clean", "-fdxq", ".swarm/state", ".swarm/ideas.jsonl"]);
    fs::remove_dir_all(sandbox.private("runs")).unwrap();
    sandbox.lose_second_names();
    let new = sandbox.idea("note worked; write b.txt x; say COMPLETE");
    let ran = sandbox.swarm(&["start", "--until-idle"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(sandbox.notes("worked"), [new.as_str()]);
    assert_eq!(sandbox.idea_status(&new), "done");
    sandbox.git(&["cat-file", "-e", "HEAD:b.txt"]);
    assert_eq!(sandbox.git(&["rev-parse", "agent/ed-001/idea-001"]), kept);
    sandbox.assert_log_sound();
}
