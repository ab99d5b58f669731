//! Damaged state: `swarm doctor` names it and changes nothing; each way out works, and after it
//! nothing lands twice and no number repeats.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use swarm::crash;

use crate::harness::{Fingerprint, Ran, Sandbox};

pub const CUT: &[&str] = &["doctor", "--fix", "--way", "cut", "--yes"];
const REBUILD: &[&str] = &["doctor", "--fix", "--way", "rebuild", "--yes"];
pub const SNAPSHOT: &[&str] = &["doctor", "--fix", "--way", "snapshot", "--yes"];

/// Three ideas that landed one after the other, in small segments, and a clean end.
pub fn with_history() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    for name in ["a", "b", "c"] {
        sandbox.idea(&format!("write {name}.txt x; say COMPLETE"));
        let mut start = sandbox.swarm_command(&["start", "--until-idle"]);
        start.env("SWARM_SEGMENT_BYTES", "6000");
        let daemon = sandbox.spawn(start);
        assert_eq!(daemon.wait_exit(crate::harness::PATIENCE), 0);
    }
    sandbox
}

/// The files of the log, oldest first.
pub fn segments(sandbox: &Sandbox) -> Vec<PathBuf> {
    let names = fs::read_dir(sandbox.dot_swarm("state")).unwrap();
    let first = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let first = name.strip_prefix("events.")?.strip_suffix("jsonl")?;
        Some(first.trim_end_matches('.').parse().unwrap_or(u64::MAX))
    };
    let mut found: Vec<(u64, PathBuf)> = names
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| Some((first(&path)?, path)))
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// The first file that has this text, and where.
pub fn find(sandbox: &Sandbox, text: &str) -> (PathBuf, usize) {
    let files = segments(sandbox);
    let place = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap();
        let at = bytes
            .windows(text.len())
            .position(|part| part == text.as_bytes())?;
        Some((path, at))
    };
    files.into_iter().find_map(place).unwrap()
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// What happens to the log.
type Harm = fn(&Sandbox);

/// Idea 2 has landed, and the event that says so is damaged.
pub fn damaged() -> Sandbox {
    let sandbox = with_history();
    flip(&sandbox);
    sandbox
}

fn flip(sandbox: &Sandbox) {
    let landed = "\"kind\":\"ideaLanded\",\"data\":{\"id\":\"idea-002\"";
    let (path, at) = find(sandbox, landed);
    change(&path, |bytes| bytes[at + 12] ^= 0x01);
}

fn zero(sandbox: &Sandbox) {
    let (path, at) = find(
        sandbox,
        "\"kind\":\"ideaLanded\",\"data\":{\"id\":\"idea-002\"",
    );
    change(&path, |bytes| {
        let end = bytes.len().min(at + 512);
        bytes[at..end].fill(0);
    });
}

fn lose_a_segment(sandbox: &Sandbox) {
    let segments = segments(sandbox);
    assert!(segments.len() > 3, "{segments:?}");
    sandbox.lose_second_names();
    fs::remove_file(&segments[1]).unwrap();
}

fn lose_the_end(sandbox: &Sandbox) {
    let (path, at) = find(
        sandbox,
        "\"kind\":\"ideaLanded\",\"data\":{\"id\":\"idea-003\"",
    );
    change(&path, |bytes| {
        let line = bytes[..at].iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(line.unwrap() + 1);
    });
    let files = segments(sandbox);
    let behind = files.iter().position(|file| *file == path).unwrap();
    sandbox.lose_second_names();
    for file in &files[behind + 1..] {
        fs::remove_file(file).unwrap();
    }
}

fn flip_and_lose_both_snapshots(sandbox: &Sandbox) {
    flip(sandbox);
    for name in ["snapshot.json", "snapshot.prev.json"] {
        let path = sandbox.dot_swarm("state").join(name);
        change(&path, |bytes| bytes[40] ^= 0x01);
    }
}

fn lose_the_beginning(sandbox: &Sandbox) {
    let first = &segments(sandbox)[0];
    change(first, |bytes| bytes[30] ^= 0x01);
}

fn lose_the_beginning_and_both_snapshots(sandbox: &Sandbox) {
    lose_the_beginning(sandbox);
    for name in ["snapshot.json", "snapshot.prev.json"] {
        let path = sandbox.dot_swarm("state").join(name);
        change(&path, |bytes| bytes[40] ^= 0x01);
    }
}

fn lose_all_state(sandbox: &Sandbox) {
    sandbox.lose_state();
}

/// Three ideas that landed, one that is blocked, one whose agent was killed, and one that waits.
fn with_work_under_way() -> Sandbox {
    let sandbox = with_history();
    let kept = |name: &str, end: &str| {
        format!(
            "if attempt 1; then write {name}.txt x; {end}; else test -e {name}.txt && say \
            COMPLETE; fi"
        )
    };
    sandbox.idea(&kept("d", "say BLOCKED:no"));
    assert_eq!(sandbox.run_until_idle(), 5);
    sandbox.idea(&kept("e", "hold e"));
    sandbox.idea("write f.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("e");
    sandbox.wait_for("the view to be written", || {
        let view = fs::read_to_string(sandbox.dot_swarm("ideas.jsonl")).unwrap();
        let line = view.lines().find(|line| line.contains("idea-005"))?;
        line.contains("\"active\"").then_some(())
    });
    daemon.kill_everything();
    drop(daemon);
    sandbox
}

/// What was given a number before.
struct Numbers {
    ideas: BTreeSet<String>,
    runs: BTreeSet<String>,
    operations: BTreeSet<String>,
}

fn numbers(sandbox: &Sandbox) -> Numbers {
    let view = fs::read_to_string(sandbox.dot_swarm("ideas.jsonl")).unwrap();
    let id = |line: &str| {
        let idea: Value = serde_json::from_str(line).unwrap();
        idea["id"].as_str().unwrap().to_owned()
    };
    let run = |note: String| note.split(' ').nth(4).unwrap().to_owned();
    Numbers {
        ideas: view.lines().map(id).collect(),
        runs: sandbox.notes("runs").into_iter().map(run).collect(),
        operations: operations(sandbox).into_iter().collect(),
    }
}

fn operations(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.git(&[
        "log",
        "--first-parent",
        "--format=%(trailers:key=Swarm-Op,valueonly)",
    ]);
    let lines = log.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// The state is whole, works on, lands nothing twice and repeats no number.
pub fn assert_repaired(sandbox: &Sandbox) {
    let before = numbers(sandbox);
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 0, "{doctor}");
    sandbox.swarm(&["replay", "--verify"]).ok();
    let id = sandbox.idea("write new.txt x; say COMPLETE");
    assert!(!before.ideas.contains(&id), "{id} was given twice");
    assert_eq!(sandbox.run_until_idle(), 0);
    let ideas = sandbox.ideas();
    for idea in &ideas {
        assert_eq!(idea["status"], "done", "{idea}");
    }
    let landed = sandbox.landings("HEAD~4", "main");
    let landed: Vec<&str> = landed.iter().map(|(_, idea)| idea.as_str()).collect();
    assert_eq!(
        landed,
        ["idea-001", "idea-002", "idea-003", &id],
        "landed twice, or not at all"
    );
    let runs: Vec<String> = sandbox.notes("runs");
    let distinct: BTreeSet<&str> = runs
        .iter()
        .map(|run| run.split(' ').nth(4).unwrap())
        .collect();
    assert_eq!(distinct.len(), runs.len(), "{runs:#?}");
    assert!(runs.len() > before.runs.len());
    let operations = operations(sandbox);
    let distinct: BTreeSet<&String> = operations.iter().collect();
    assert_eq!(distinct.len(), operations.len(), "{operations:?}");
    assert!(operations.len() > before.operations.len());
    sandbox.swarm(&["replay", "--verify"]).ok();
    sandbox.assert_repository_clean();
    sandbox.assert_nothing_runs();
}

/// Doctor says these words, and that with exit code 1 and nothing changed, whatever it is asked
/// short of a repair.
fn assert_named(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let before = Fingerprint::of(&sandbox.repo());
    let unchanged = |what: &str| before.assert_same(&Fingerprint::of(&sandbox.repo()), what);
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    for word in words {
        assert!(
            doctor.stdout.contains(word),
            "`{word}` is missing: {doctor}"
        );
    }
    unchanged("doctor");
    let fix = sandbox.swarm(&["doctor", "--fix"]);
    assert_eq!(fix.code, 1, "{fix}");
    assert!(fix.stderr.contains("--fix --way"), "{fix}");
    unchanged("doctor --fix");
    sandbox
        .swarm(&["doctor", "--fix", "--way", "cut"])
        .refused(1, &["--yes", "repair `cut`"]);
    unchanged("a repair without a yes");
    doctor
}

fn damage(sandbox: &Sandbox) -> Value {
    let doctor = sandbox.swarm(&["doctor", "--json"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    serde_json::from_str(&doctor.stdout).unwrap()
}

/// The way of this name.
fn way<'a>(found: &'a Value, name: &str) -> Option<&'a Value> {
    let ways = found["ways"].as_array().unwrap();
    ways.iter().find(|way| way["way"] == name)
}

/// How the ideas would stand, and stood, by the loss that doctor tells.
fn ideas_lost(way: &Value) -> BTreeMap<String, (Value, Value)> {
    let ideas = way["loses"]["ideas"].as_array().unwrap();
    let change = |idea: &Value| {
        let id = idea["id"].as_str().unwrap().to_owned();
        (id, (idea["from"].clone(), idea["to"].clone()))
    };
    ideas.iter().map(change).collect()
}

#[test]
fn a_flipped_bit_is_named_and_the_good_beginning_goes_on() {
    let sandbox = damaged();
    let doctor = assert_named(
        &sandbox,
        &[
            "damaged at byte",
            "repair `cut`",
            "idea-002 is on main already",
        ],
    );
    assert!(doctor.stdout.contains("idea-003"), "{doctor}");
    let found = damage(&sandbox);
    assert_eq!(found["damage"]["interrupted"], false);
    let seq = found["damage"]["at"]["seq"].as_u64().unwrap();
    let cut = way(&found, "cut").unwrap();
    assert_eq!(cut["recommended"], false, "the snapshot loses nothing");
    let loses = &cut["loses"];
    assert_eq!(loses["from"], seq);
    assert_eq!(loses["unreadable"], 1);
    assert_eq!(loses["kinds"]["ideaAdded"], 1, "{loses}");
    // Idea 2 is known to git, idea 3 was added behind the damage.
    let gone = ideas_lost(cut);
    assert_eq!(gone.keys().collect::<Vec<_>>(), ["idea-003"]);
    assert_eq!(gone["idea-003"], (json!("done"), Value::Null));
    let last = seq + loses["events"].as_u64().unwrap() - 1;
    sandbox.swarm(CUT).ok();
    let repaired = sandbox.swarm(&["events", "--json", "--kind", "stateRepaired"]);
    let event: Value = serde_json::from_str(repaired.ok().trim()).unwrap();
    assert_eq!(event["seq"], seq);
    assert_eq!(event["data"]["lost"], json!({"from": seq, "to": last}));
    assert_eq!(event["data"]["landed"][0]["idea"], "idea-002");
    let copy = event["data"]["copy"].as_str().unwrap();
    let old = sandbox.dot_swarm("state").join(copy).join("old");
    let kept = fs::read_to_string(old.join("ideas.jsonl")).unwrap();
    assert!(kept.contains("write c.txt"), "{kept}");
    assert_eq!(sandbox.idea_status("idea-002"), "done");
    assert_repaired(&sandbox);
}

/// The line that added it cannot be read, and no snapshot has it.
#[test]
fn an_idea_that_was_lost_in_the_middle_is_named_by_the_list() {
    let sandbox = with_history();
    let (path, at) = find(
        &sandbox,
        "\"kind\":\"ideaAdded\",\"data\":{\"id\":\"idea-003\"",
    );
    change(&path, |bytes| bytes[at] ^= 0x01);
    for name in ["snapshot.json", "snapshot.prev.json"] {
        fs::remove_file(sandbox.dot_swarm("state").join(name)).unwrap();
    }
    assert_named(&sandbox, &["repair `cut`", "write c.txt x"]);
    let found = damage(&sandbox);
    let cut = way(&found, "cut").unwrap();
    assert_eq!(cut["recommended"], true, "{cut}");
    let gone = ideas_lost(cut);
    assert_eq!(gone["idea-003"].0, "done", "{gone:?}");
    sandbox.swarm(CUT).ok();
    assert_repaired(&sandbox);
}

/// Flips a bit in the second event of this kind: the one of idea 2.
fn flip_second(sandbox: &Sandbox, kind: &str) {
    let text = format!("\"kind\":\"{kind}\"");
    let mut seen = 0;
    for path in segments(sandbox) {
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len().saturating_sub(text.len()) {
            if bytes[at..].starts_with(text.as_bytes()) {
                seen += 1;
                if seen == 2 {
                    return change(&path, |bytes| bytes[at + 9] ^= 0x01);
                }
            }
        }
    }
    panic!("no second {kind}");
}

#[test]
fn wherever_the_work_on_an_idea_is_cut_off_it_does_not_land_again() {
    for kind in [
        "ideaClaimed",
        "worktreeReady",
        "iterationStarted",
        "runEnded",
        "attemptSealed",
        "mergeQueued",
        "mergeBuilt",
    ] {
        println!("{kind}");
        let sandbox = with_history();
        flip_second(&sandbox, kind);
        assert_named(&sandbox, &["repair `cut`", "idea-002 is on main already"]);
        sandbox.swarm(CUT).ok();
        assert_eq!(sandbox.idea_status("idea-002"), "done");
        assert_repaired(&sandbox);
    }
}

#[test]
fn a_zeroed_block_is_named_and_the_good_beginning_goes_on() {
    let sandbox = with_history();
    zero(&sandbox);
    assert_named(&sandbox, &["512 zero bytes", "repair `cut`"]);
    sandbox.swarm(CUT).ok();
    assert_repaired(&sandbox);
}

#[test]
fn a_missing_segment_is_named_and_the_good_beginning_goes_on() {
    let sandbox = with_history();
    lose_a_segment(&sandbox);
    assert_named(&sandbox, &["are missing", "repair `cut`"]);
    sandbox.swarm(CUT).ok();
    assert_repaired(&sandbox);
}

#[test]
fn a_lost_end_is_named_and_what_is_left_goes_on() {
    let sandbox = with_history();
    lose_the_end(&sandbox);
    assert_named(&sandbox, &["was taken after event", "repair `cut`"]);
    sandbox.swarm(CUT).ok();
    assert_eq!(sandbox.idea_status("idea-003"), "done");
    assert_repaired(&sandbox);
}

#[test]
fn a_damaged_first_event_leaves_an_empty_log_that_repeats_no_number() {
    let sandbox = with_history();
    lose_the_beginning(&sandbox);
    assert_named(
        &sandbox,
        &["where event 1 should be", "the log starts over"],
    );
    sandbox.swarm(CUT).ok();
    assert!(sandbox.ideas().is_empty());
    assert_repaired(&sandbox);
}

#[test]
fn damage_with_both_snapshots_damaged_is_repaired_from_the_lines_and_git() {
    let sandbox = with_history();
    flip_and_lose_both_snapshots(&sandbox);
    assert_named(
        &sandbox,
        &["snapshot.json", "snapshot.prev.json", "repair `cut`"],
    );
    sandbox.swarm(CUT).ok();
    assert_repaired(&sandbox);
}

#[test]
fn a_damaged_snapshot_alone_is_a_warning() {
    let sandbox = with_history();
    change(&sandbox.dot_swarm("state/snapshot.json"), |bytes| {
        bytes[40] ^= 1;
    });
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(doctor.ok().contains("snapshot.json"), "{doctor}");
    let before = Fingerprint::of(&sandbox.repo());
    sandbox.swarm(CUT).ok();
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "a repair of nothing");
    assert_repaired(&sandbox);
}

#[test]
fn a_newer_format_has_no_way_out_but_the_newer_version() {
    let sandbox = with_history();
    let path = sandbox.dot_swarm("state/events.jsonl");
    change(&path, |bytes| {
        bytes.extend(b"{\"v\":3,\"sum\":\"0\"}\n{\"v\":3,\"sum\":\"1\"}\n");
    });
    let before = Fingerprint::of(&sandbox.repo());
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    assert!(doctor.stdout.contains("newer swarm"), "{doctor}");
    assert!(!doctor.stdout.contains("repair `"), "{doctor}");
    sandbox.swarm(CUT).refused(1, &["not available"]);
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "doctor");
}

#[test]
fn nothing_is_repaired_under_a_daemon() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(doctor.ok().contains("running (pid"), "{doctor}");
    sandbox.swarm(CUT).refused(1, &["daemon", "swarm stop"]);
    daemon.stop();
}

/// What the ideas are, whatever the log is.
pub fn ideas(sandbox: &Sandbox) -> String {
    sandbox.swarm(&["idea", "list", "--json"]).ok().to_owned()
}

#[test]
fn with_a_snapshot_behind_the_damage_nothing_of_the_state_is_lost() {
    let kinds: [(&str, Harm); 5] = [
        ("a flipped bit", flip),
        ("a zeroed block", zero),
        ("a missing segment", lose_a_segment),
        ("a lost end", lose_the_end),
        ("a lost beginning", lose_the_beginning),
    ];
    for (kind, damage_it) in kinds {
        println!("{kind}");
        let sandbox = with_history();
        let whole = ideas(&sandbox);
        damage_it(&sandbox);
        assert_named(
            &sandbox,
            &["repair `snapshot` (recommended)", "repair `cut`"],
        );
        let found = damage(&sandbox);
        let loses = &way(&found, "snapshot").unwrap()["loses"];
        assert_eq!(loses["events"], 0);
        assert_eq!(loses["ideas"], json!([]));
        assert_eq!(loses["landedUnknown"], json!([]));
        sandbox.swarm(SNAPSHOT).ok();
        assert_eq!(ideas(&sandbox), whole);
        // No snapshot helps the one who reads the log.
        assert!(!sandbox.dot_swarm("state/snapshot.json").exists());
        assert_repaired(&sandbox);
    }
}

#[test]
fn a_log_that_begins_with_a_state_is_a_log_like_any_other() {
    let sandbox = damaged();
    sandbox.swarm(SNAPSHOT).ok();
    let events = sandbox.swarm(&["events", "--json", "--since", "0"]);
    let first: Value = serde_json::from_str(events.ok().lines().next().unwrap()).unwrap();
    assert_eq!(first["kind"], "stateRestored");
    let seq = first["seq"].as_u64().unwrap();
    sandbox
        .swarm(&["replay", "--at", "3"])
        .refused(1, &["event 3 is gone"]);
    let at = sandbox.swarm(&["replay", "--at", &seq.to_string()]);
    assert_eq!(at.json()["ideas"]["idea-002"]["status"], "done");
    assert_repaired(&sandbox);
    let offline = sandbox.swarm(&["events", "--json"]);
    let daemon = sandbox.start();
    let online = sandbox.swarm(&["events", "--json"]);
    assert!(online.ok().starts_with(offline.ok()), "{online}");
    daemon.stop();
    sandbox.configure(&json!({"retention": {"runsDays": 0}}));
    sandbox.swarm(&["clean"]).ok();
    sandbox.swarm(&["replay", "--verify"]).ok();
    // It is damaged once more, behind the last snapshots.
    for name in ["snapshot.json", "snapshot.prev.json"] {
        let _ = fs::remove_file(sandbox.dot_swarm("state").join(name));
    }
    let (path, at) = find(
        &sandbox,
        "\"kind\":\"ideaLanded\",\"data\":{\"id\":\"idea-004\"",
    );
    change(&path, |bytes| bytes[at + 12] ^= 0x01);
    assert_named(&sandbox, &["repair `cut` (recommended)"]);
    sandbox.swarm(CUT).ok();
    assert_eq!(sandbox.idea_status("idea-004"), "done");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.swarm(&["replay", "--verify"]).ok();
    let landings = operations(&sandbox).len();
    assert_eq!(landings, 4, "landed twice");
}

#[test]
fn a_state_that_the_log_begins_with_is_believed_only_when_it_is_whole() {
    let sandbox = damaged();
    sandbox.swarm(SNAPSHOT).ok();
    let state = fs::read_dir(sandbox.dot_swarm("state")).unwrap();
    let mut names = state.map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| path.to_str().unwrap().contains("/restored-");
    let restored = names.find(is_it).unwrap();
    let whole = fs::read(&restored).unwrap();
    change(&restored, |bytes| bytes[40] ^= 0x01);
    sandbox.swarm(&["start"]).refused(75, &["restored-"]);
    assert_eq!(sandbox.swarm(&["doctor"]).code, 1);
    fs::remove_file(&restored).unwrap();
    sandbox
        .swarm(&["start"])
        .refused(75, &["restored-", "missing"]);
    assert_eq!(sandbox.swarm(&["doctor"]).code, 1);
    fs::write(&restored, whole).unwrap();
    assert_repaired(&sandbox);
}

#[test]
fn damage_behind_the_snapshots_cannot_be_repaired_by_one() {
    let sandbox = with_history();
    sandbox.idea("write d.txt x; say COMPLETE");
    sandbox.idea("write e.txt x; say COMPLETE");
    let (path, at) = find(
        &sandbox,
        "\"kind\":\"ideaAdded\",\"data\":{\"id\":\"idea-004\"",
    );
    change(&path, |bytes| bytes[at + 12] ^= 0x01);
    // With other damage before the snapshots, too.
    for both in [false, true] {
        if both {
            flip(&sandbox);
        }
        assert_named(&sandbox, &["repair `cut` (recommended)"]);
        assert!(way(&damage(&sandbox), "snapshot").is_none());
        sandbox
            .swarm(SNAPSHOT)
            .refused(1, &["not available", "cut"]);
    }
    sandbox.swarm(CUT).ok();
    assert_eq!(sandbox.idea("write f.txt x; say COMPLETE"), "idea-006");
}

#[test]
fn nothing_is_repaired_under_an_agent_that_is_still_at_work() {
    let sandbox = Sandbox::ready();
    sandbox.idea("hold a; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("a");
    daemon.kill();
    drop(daemon);
    let (path, at) = find(&sandbox, "\"kind\":\"ideaClaimed\"");
    change(&path, |bytes| bytes[at + 10] ^= 0x01);
    // What the daemon left behind goes: that is harmless.
    assert_eq!(sandbox.swarm(&["doctor", "--fix"]).code, 1);
    let doctor = assert_named(&sandbox, &["still running: r0001-", "repair `cut`"]);
    assert!(doctor.stdout.contains("leaseMinutes"), "{doctor}");
    let before = Fingerprint::of(&sandbox.dot_swarm("state"));
    sandbox.swarm(CUT).refused(1, &["r0001-", "still running"]);
    before.assert_same(&Fingerprint::of(&sandbox.dot_swarm("state")), "the refusal");
    sandbox.release("a");
    sandbox.assert_nothing_runs();
    sandbox.swarm(CUT).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status("idea-001"), "done");
    let runs = sandbox.notes("runs");
    assert_eq!(runs.len(), 2, "{runs:?}");
    sandbox.swarm(&["replay", "--verify"]).ok();
}

#[test]
fn without_a_usable_log_the_state_is_put_together_and_waits_for_a_person() {
    for kind in [
        lose_the_beginning_and_both_snapshots as Harm,
        lose_all_state,
    ] {
        let sandbox = with_work_under_way();
        kind(&sandbox);
        let doctor = sandbox.swarm(&["doctor"]);
        assert_eq!(doctor.code, 1, "{doctor}");
        let words = ["repair `rebuild` (recommended)", "idea-005", "swarm resume"];
        for word in words {
            assert!(doctor.stdout.contains(word), "`{word}`: {doctor}");
        }
        let before = numbers(&sandbox);
        assert_eq!(before.ideas.len(), 6);
        sandbox.swarm(REBUILD).ok();
        assert_eq!(sandbox.swarm(&["doctor"]).code, 0);
        sandbox.swarm(&["replay", "--verify"]).ok();
        let status = |id: &str| sandbox.idea_status(id);
        assert_eq!(status("idea-003"), "done");
        assert_eq!(status("idea-004"), "blocked");
        assert_eq!(
            (&*status("idea-005"), &*status("idea-006")),
            ("pending", "pending")
        );
        let daemon = sandbox.start();
        let paused = sandbox.wait_status("the pause", |status| status["phase"] == "paused");
        assert_eq!(paused["slots"]["used"], 0, "{paused}");
        assert_eq!(sandbox.notes("runs").len(), before.runs.len());
        sandbox.swarm(&["resume"]).ok();
        sandbox.swarm(&["idea", "retry", "idea-004"]).ok();
        let new = sandbox.idea("write new.txt x; say COMPLETE");
        // The event that cannot be read may have given a number.
        assert!(["idea-007", "idea-008"].contains(&&*new), "{new}");
        for id in ["idea-004", "idea-005", "idea-006", &new] {
            sandbox.wait_idea(id, "done");
        }
        daemon.stop();
        let landed = sandbox.landings("HEAD~7", "main");
        let landed: BTreeSet<&str> = landed.iter().map(|(_, idea)| idea.as_str()).collect();
        assert_eq!(landed.len(), 7, "landed twice, or not at all: {landed:?}");
        let runs: Vec<String> = sandbox.notes("runs");
        let run = |note: &String| note.split(' ').nth(4).unwrap().to_owned();
        let distinct: BTreeSet<String> = runs.iter().map(run).collect();
        assert_eq!(distinct.len(), runs.len(), "{runs:#?}");
        let operations = operations(&sandbox);
        let distinct: BTreeSet<&String> = operations.iter().collect();
        assert_eq!(distinct.len(), operations.len(), "{operations:?}");
        sandbox.swarm(&["replay", "--verify"]).ok();
        sandbox.assert_repository_clean();
    }
}

#[test]
fn checkpoints_are_known_again_when_the_state_is_put_together() {
    let sandbox = with_history();
    sandbox.swarm(&["checkpoint", "create", "mine"]).ok();
    let listed = || sandbox.swarm(&["checkpoint", "list", "--json"]).json();
    let (before, first) = (listed(), sandbox.idea("write last.txt x; say COMPLETE"));
    sandbox.swarm(&["start", "--until-idle"]).ok();
    assert_eq!(sandbox.idea_status(&first), "done");
    lose_all_state(&sandbox);
    sandbox.swarm(REBUILD).ok();
    assert_eq!(listed(), before);
    // Which branch is the target is in the configuration.
    let early = sandbox.swarm(&["rollback", "mine", "--yes"]);
    assert_eq!(early.code, 1, "{early}");
    assert!(early.stderr.contains("swarm start"), "{early}");
    sandbox.start().stop();
    sandbox.swarm(&["rollback", "mine", "--yes"]).ok();
    assert_eq!(sandbox.idea_status(&first), "pending", "it came later");
    assert!(!sandbox.repo().join("last.txt").exists());
    let operations = operations(&sandbox);
    let distinct: BTreeSet<&String> = operations.iter().collect();
    assert_eq!(distinct.len(), operations.len(), "{operations:?}");
    assert_eq!(sandbox.swarm(&["doctor"]).code, 0);
}

#[test]
fn landings_that_no_list_of_ideas_knows_yet_are_found_when_the_state_is_put_together() {
    let sandbox = with_history();
    let view = fs::read_to_string(sandbox.dot_swarm("ideas.jsonl")).unwrap();
    let mut stale = String::new();
    for line in view.lines() {
        let mut idea: Value = serde_json::from_str(line).unwrap();
        if idea["id"] == "idea-003" {
            idea["status"] = json!("merging");
            idea["commit"] = Value::Null;
        }
        stale.push_str(&idea.to_string());
        stale.push('\n');
    }
    lose_all_state(&sandbox);
    fs::write(sandbox.dot_swarm("ideas.jsonl"), stale).unwrap();
    sandbox.swarm(REBUILD).ok();
    let idea = sandbox.show("idea-003");
    assert_eq!(idea["status"], "done", "{idea}");
    assert_eq!(idea["commit"], sandbox.head("main"));
    sandbox.swarm(&["replay", "--verify"]).ok();
}

#[test]
fn a_removed_log_is_not_replaced_while_ideas_are_listed() {
    let sandbox = with_history();
    lose_all_state(&sandbox);
    let list = fs::read(sandbox.dot_swarm("ideas.jsonl")).unwrap();
    for args in [
        &["start"][..],
        &["idea", "add", "more"],
        &["clean"],
        &["status"],
    ] {
        let words = ["is empty or gone", "swarm doctor", "mv .swarm/ideas.jsonl"];
        sandbox.swarm(args).refused(75, &words);
        assert_eq!(fs::read(sandbox.dot_swarm("ideas.jsonl")).unwrap(), list);
    }
    let doctor = sandbox.swarm(&["doctor"]).stdout;
    assert!(!doctor.contains("the first start creates it"), "{doctor}");
    // Whoever wants that says so, by what is told.
    let list = sandbox.dot_swarm("ideas.jsonl");
    fs::rename(list, sandbox.path("ideas-before.jsonl")).unwrap();
    let daemon = sandbox.start();
    assert_eq!(sandbox.ideas().len(), 0);
    daemon.stop();
}

#[test]
fn a_repository_that_was_never_started_has_nothing_to_put_together() {
    let sandbox = Sandbox::ready();
    let doctor = sandbox.swarm(&["doctor", "--json"]).json();
    assert_eq!(
        (&doctor["ways"], &doctor["damage"]),
        (&json!([]), &Value::Null)
    );
    sandbox.swarm(REBUILD).ok();
    assert!(!sandbox.dot_swarm("state/events.jsonl").exists());
}

/// Everything in the state but times, sums and the lock.
fn shape(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let state = sandbox.dot_swarm("state");
    let mut found = BTreeMap::new();
    let mut open = vec![state.clone()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&state).unwrap().to_str().unwrap();
            let name = match name.strip_prefix("doctor-") {
                Some(rest) => format!(
                    "doctor{}",
                    rest.split_once('/').map_or("", |(_, rest)| rest)
                ),
                None => name.to_owned(),
            };
            if let Some(rest) = name.strip_prefix("restored-") {
                assert_eq!(rest.len(), 64 + ".json".len());
                found.insert("restored".into(), restored(&path));
            } else if path.is_dir() {
                open.push(path);
                found.insert(name, "a folder".into());
            } else if name == "events.jsonl" {
                found.insert(name, facts(&path));
            } else if name != "lock" {
                found.insert(name, format!("{:?}", fs::read(&path).unwrap()));
            }
        }
    }
    found
}

fn restored(file: &Path) -> String {
    let mut state: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    state["swarm"]["lastEventAt"].take();
    for idea in state["ideas"].as_object_mut().unwrap().values_mut() {
        for entry in idea["audit"].as_array_mut().unwrap() {
            entry["at"].take();
        }
    }
    state.to_string()
}

fn facts(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap();
    let fact = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["ts"].take();
        line["crc"].take();
        for key in ["copy", "sha256"] {
            if let Some(value) = line["data"].get_mut(key) {
                value.take();
            }
        }
        format!("{line}\n")
    };
    text.lines().map(fact).collect()
}

fn copied(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    let mut copy = Command::new("cp");
    assert!(copy.arg("-a").args([from, to]).status().unwrap().success());
}

/// Runs a repair of this sandbox, to be killed at a point; the exit code.
fn killed_at(sandbox: &Sandbox, way: &[&str], point: &str) -> i32 {
    let mut command = sandbox.swarm_command(way);
    command.env(crash::VARIABLE, point);
    sandbox.spawn(command).wait_exit(crate::harness::PATIENCE)
}

/// The points that an undisturbed repair visits, each as often as it does.
fn points(sandbox: &Sandbox, way: &[&str]) -> Vec<String> {
    let visits = sandbox.path("out/doctor-visits");
    let mut command = sandbox.swarm_command(way);
    command.env(crash::VISITS, &visits);
    assert_eq!(
        sandbox.spawn(command).wait_exit(crate::harness::PATIENCE),
        0
    );
    let text = fs::read_to_string(visits).unwrap();
    let mut counts = BTreeMap::<&str, u32>::new();
    let mut points = Vec::new();
    for line in text.lines() {
        let (_, label) = line.split_once(' ').unwrap();
        if label.starts_with("doctor.") {
            let count = counts.entry(label).or_default();
            *count += 1;
            points.push(format!("{label}#{count}"));
        }
    }
    points
}

#[test]
fn a_cut_that_is_killed_anywhere_and_done_again_ends_as_an_undisturbed_one() {
    assert_repaired(&survives_kills(CUT, flip));
}

#[test]
fn a_snapshot_put_in_place_that_is_killed_anywhere_and_done_again_ends_as_an_undisturbed_one() {
    assert_repaired(&survives_kills(SNAPSHOT, flip));
}

#[test]
fn a_rebuilding_that_is_killed_anywhere_and_done_again_ends_as_an_undisturbed_one() {
    let sandbox = survives_kills(REBUILD, lose_the_beginning_and_both_snapshots);
    for id in ["idea-001", "idea-002", "idea-003"] {
        assert_eq!(sandbox.idea_status(id), "done");
    }
    sandbox.swarm(&["replay", "--verify"]).ok();
}

fn survives_kills(way: &[&str], harm: Harm) -> Sandbox {
    let sandbox = with_history();
    harm(&sandbox);
    let (state, saved) = (sandbox.dot_swarm("state"), sandbox.path("saved"));
    let (list, saved_list) = (sandbox.dot_swarm("ideas.jsonl"), sandbox.path("saved-list"));
    copied(&state, &saved);
    fs::copy(&list, &saved_list).unwrap();
    let points = points(&sandbox, way);
    let wanted = shape(&sandbox);
    for label in crash::LABELS
        .iter()
        .filter(|label| label.starts_with("doctor."))
    {
        let of_label = |point: &&String| point.starts_with(&format!("{label}#"));
        assert!(points.iter().any(|point| of_label(&point)), "{label}");
    }
    let mut interrupted = 0;
    for point in &points {
        copied(&saved, &state);
        fs::copy(&saved_list, &list).unwrap();
        assert_eq!(killed_at(&sandbox, way, point), 137, "{point}");
        if state.join("repair.json").exists() {
            interrupted += 1;
            let words = &["a repair was interrupted", "swarm doctor --fix"];
            sandbox.swarm(&["start"]).refused(75, words);
            sandbox.swarm(&["idea", "add", "x"]).refused(75, words);
            sandbox.swarm(&["idea", "list"]).refused(75, words);
            let doctor = sandbox.swarm(&["doctor"]);
            assert_eq!(doctor.code, 1, "{doctor}");
            assert!(doctor.stdout.contains("interrupted"), "{doctor}");
            // No way has to be named again.
            sandbox.swarm(&["doctor", "--fix"]).ok();
        } else {
            sandbox.swarm(way).ok();
        }
        assert_eq!(shape(&sandbox), wanted, "killed at {point}");
    }
    assert!(interrupted > 4, "{points:?}");
    sandbox
}

#[test]
fn an_unreadable_intention_is_refused_and_nothing_is_changed() {
    let sandbox = damaged();
    assert_eq!(killed_at(&sandbox, CUT, "doctor.intended"), 137);
    let intention = sandbox.dot_swarm("state/repair.json");
    let good = fs::read_to_string(&intention).unwrap();
    let elsewhere = good.replacen("events.jsonl", "../../precious", 1);
    assert_ne!(elsewhere, good);
    for bad in ["", "{}", &good[..good.len() / 2], &elsewhere] {
        fs::write(&intention, bad).unwrap();
        let before = Fingerprint::of(&sandbox.repo());
        let fix = sandbox.swarm(&["doctor", "--fix"]);
        assert_eq!(fix.code, 1, "{fix}");
        assert!(fix.stdout.contains("cannot be used"), "{fix}");
        before.assert_same(&Fingerprint::of(&sandbox.repo()), "doctor --fix");
    }
    fs::write(&intention, good).unwrap();
    sandbox.swarm(&["doctor", "--fix"]).ok();
    assert_repaired(&sandbox);
}

#[test]
fn programs_are_looked_for_where_the_daemon_would() {
    let sandbox = Sandbox::ready();
    // Not in the checkout, whose programs agents do not get by `PATH`.
    sandbox.write("../bin/only-here", "#!/bin/sh\ncat >/dev/null\n");
    let program = sandbox.path("bin/only-here");
    fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let here = json!({"adapter": "command", "command": ["only-here"]});
    sandbox.configure(&json!({"agents": {"profile": "here", "profiles": {"here": here}}}));
    let missing = sandbox.swarm(&["doctor"]);
    assert_eq!(missing.code, 1, "{missing}");
    assert!(missing.stdout.contains("only-here"), "{missing}");
    let mut start = sandbox.swarm_command(&["start"]);
    let bin = sandbox.path("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    start.env("PATH", path);
    let daemon = sandbox.spawn(start);
    daemon.wait_ready();
    let found = sandbox.swarm(&["doctor"]);
    assert!(found.stdout.contains("profile `here` runs"), "{found}");
    daemon.stop();
}

#[test]
fn a_clock_that_went_back_is_named() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x");
    let now = sandbox.swarm(&["doctor"]);
    assert!(now.ok().contains("not behind the last event"), "{now}");
}
