//! State that a newer version wrote is refused, not mangled: exit 75 where it is the only truth,
//! and not a byte is changed. What is only a shortcut is not used.

use std::fs;

use crate::harness::{Fingerprint, Sandbox};

fn with_history() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox
}

/// Everything that would write refuses, and nothing has changed.
#[track_caller]
fn assert_refused(sandbox: &Sandbox, commands: &[&[&str]], words: &[&str]) {
    let [state, runs] = ["state", "runs"].map(|name| sandbox.dot_swarm(name));
    let folders = [state, runs, sandbox.worktrees()];
    let before = folders.each_ref().map(|folder| Fingerprint::of(folder));
    for command in commands {
        sandbox.swarm(command).refused(75, words);
        for (before, folder) in before.iter().zip(&folders) {
            let what = format!("swarm {}", command.join(" "));
            before.assert_same(&Fingerprint::of(folder), &what);
        }
    }
}

#[test]
fn a_log_of_a_newer_format() {
    let sandbox = with_history();
    let path = sandbox.dot_swarm("state/events.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    let next = log.lines().count() + 1;
    for line in [
        format!("{{\"v\":2,\"seq\":{next},\"anything\":true}}\n"),
        "{\"v\":3,\"sum\":\"0\"}\n{\"v\":3,\"sum\":\"1\"}\n".to_owned(),
    ] {
        fs::write(&path, format!("{log}{line}")).unwrap();
        let writers: &[&[&str]] = &[&["start"], &["idea", "add", "x"], &["start", "--detach"]];
        assert_refused(&sandbox, writers, &["events.jsonl", "newer swarm"]);
        let doctor = sandbox.swarm(&["doctor"]);
        assert_eq!(doctor.code, 1, "{doctor}");
        assert!(doctor.stdout.contains("newer swarm"), "{doctor}");
    }
    fs::write(&path, log).unwrap();
    assert_eq!(sandbox.run_until_idle(), 0);
}

#[test]
fn a_snapshot_of_a_newer_version_is_left_aside_and_reading_leaves_it_alone() {
    let sandbox = with_history();
    let ideas = sandbox.swarm(&["idea", "list", "--json"]).ok().to_owned();
    let path = sandbox.dot_swarm("state/snapshot.json");
    let text = fs::read_to_string(&path).unwrap();
    let newer = text.replacen("\"version\":\"1.", "\"version\":\"2.", 1);
    assert_ne!(newer, text);
    let body = &newer[..newer.trim_end().len() - r#","crc":"00000000"}"#.len()];
    let crc = crc32c::crc32c(body.as_bytes());
    fs::write(&path, format!("{body},\"crc\":\"{crc:08x}\"}}\n")).unwrap();
    let before = Fingerprint::of(&sandbox.dot_swarm("state"));
    assert_eq!(sandbox.swarm(&["idea", "list", "--json"]).ok(), ideas);
    sandbox.swarm(&["replay", "--verify"]).ok();
    before.assert_same(
        &Fingerprint::of(&sandbox.dot_swarm("state")),
        "reading beside a newer snapshot",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.swarm(&["idea", "list", "--json"]).ok(), ideas);
    sandbox.assert_log_sound();
}

#[test]
fn a_run_under_way_with_records_of_a_newer_format() {
    let sandbox = Sandbox::ready();
    let idea = sandbox.idea("hold here; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("here");
    daemon.kill();
    let runs: Vec<_> = fs::read_dir(sandbox.private("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let started = runs[0].join("started.json");
    let record = fs::read_to_string(&started).unwrap();
    fs::write(&started, record.replacen('{', "{\"v\":2,", 1)).unwrap();
    // The run goes on under its runner, and its outputs may grow: only the daemon's own state is
    // compared.
    let state = sandbox.dot_swarm("state");
    let log = fs::read(state.join("events.jsonl")).unwrap();
    sandbox
        .swarm(&["start"])
        .refused(75, &["started.json", "newer swarm"]);
    assert_eq!(fs::read(state.join("events.jsonl")).unwrap(), log);
    // By the version that knows them, it is adopted and ends well.
    fs::write(&started, record).unwrap();
    sandbox.release("here");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&idea), "done");
    assert_eq!(sandbox.show(&idea)["attempts"], 1);
}

/// The log as another build would have begun it: with another digest, and each crc made again.
fn begun_by_another_build(log: &str) -> String {
    let key = "\"schema\":\"";
    let digest = log.find(key).unwrap() + key.len();
    let mut other = log.to_owned();
    let digit = if &log[digest..=digest] == "0" {
        "1"
    } else {
        "0"
    };
    other.replace_range(digest..=digest, digit);
    let mut crc = 0;
    let again = other.lines().map(|line| {
        let (body, _) = line.rsplit_once(",\"crc\":\"").unwrap();
        crc = crc32c::crc32c_append(crc, body.as_bytes());
        format!("{body},\"crc\":\"{crc:08x}\"}}\n")
    });
    again.collect()
}

#[test]
fn a_log_of_another_development_version() {
    let sandbox = with_history();
    let path = sandbox.dot_swarm("state/events.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    assert_eq!(log.matches("\"schema\":\"").count(), 1);
    assert!(log.lines().next().unwrap().contains("\"schema\":\""));
    fs::write(&path, begun_by_another_build(&log)).unwrap();
    let commands: &[&[&str]] = &[
        &["start"],
        &["idea", "add", "x"],
        &["start", "--detach"],
        &["idea", "list"],
        &["status"],
    ];
    let words = [
        "events.jsonl",
        "another development version",
        "swarm init --new",
    ];
    assert_refused(&sandbox, commands, &words);
    // Whoever looks into it still can.
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    assert!(
        doctor.stdout.contains("another development version"),
        "{doctor}"
    );
    assert!(!doctor.stdout.contains("damaged"), "{doctor}");
    fs::write(&path, log).unwrap();
    assert_eq!(sandbox.run_until_idle(), 0);
}
