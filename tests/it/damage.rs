//! Damaged state: torn tails are cut and kept, damage to acknowledged events is refused, a bad snapshot costs nothing.

use std::fs;

use crate::harness::{Fingerprint, Sandbox};

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
fn a_dead_daemons_traces_do_not_stop_the_next() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    daemon.kill();
    assert!(sandbox.announced_pid().is_some());
    assert_eq!(sandbox.status()["phase"], "stopped");
    sandbox.swarm(&["wait"]).refused(3, &["swarm start"]);
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}
