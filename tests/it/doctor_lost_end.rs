//! A log that lost its end at the end of a line or of a file, where nothing in it shows: snapshots
//! and checkpoints tell, and the list of ideas is never asked.

use std::fs;

use crate::doctor::{CUT, SNAPSHOT, assert_repaired, find, ideas, segments, with_history};
use crate::harness::{Fingerprint, Sandbox};

/// Cuts the log off before the line that has this text.
fn lose_lines_from(sandbox: &Sandbox, text: &str) {
    let (path, at) = find(sandbox, text);
    let bytes = fs::read(&path).unwrap();
    let line = bytes[..at].iter().rposition(|byte| *byte == b'\n');
    fs::write(&path, &bytes[..line.map_or(0, |end| end + 1)]).unwrap();
    let files = segments(sandbox);
    let behind = files.iter().position(|file| *file == path).unwrap();
    sandbox.lose_second_names();
    for file in &files[behind + 1..] {
        fs::remove_file(file).unwrap();
    }
}

/// The event that a snapshot was taken after.
fn taken_after(sandbox: &Sandbox, name: &str) -> u64 {
    let text = fs::read_to_string(sandbox.dot_swarm("state").join(name)).unwrap();
    let (_, seq) = text.split_once("\"seq\":").unwrap();
    let digits = seq.split(|other: char| !other.is_ascii_digit()).next();
    digits.unwrap().parse().unwrap()
}

/// Nothing begins, and nothing is changed.
fn assert_refused(sandbox: &Sandbox, words: &[&str]) {
    let before = Fingerprint::of(&sandbox.repo());
    for args in [
        &["start"][..],
        &["idea", "add", "more"],
        &["status"],
        &["replay", "--verify"],
    ] {
        sandbox.swarm(args).refused(75, words);
    }
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "refusals");
}

fn lose_the_snapshots(sandbox: &Sandbox) {
    for name in ["snapshot.json", "snapshot.prev.json"] {
        fs::remove_file(sandbox.dot_swarm("state").join(name)).unwrap();
    }
}

/// `ideas.jsonl` is a view: whatever somebody writes there, the log is whole.
#[test]
fn a_list_of_ideas_with_more_than_the_log_refuses_nothing() {
    let sandbox = with_history();
    let list = sandbox.dot_swarm("ideas.jsonl");
    let text = fs::read_to_string(&list).unwrap();
    let final_line = text.lines().last().unwrap();
    let more = final_line.replace("idea-003", "idea-099");
    let newer = text.replace("\"updatedAt\":\"2", "\"updatedAt\":\"9");
    for changed in [format!("{text}{more}\n"), newer] {
        assert_ne!(changed, text);
        fs::write(&list, changed).unwrap();
        sandbox.swarm(&["status"]).ok();
        sandbox.swarm(&["replay", "--verify"]).ok();
        sandbox.swarm(&["doctor"]).ok();
        assert_eq!(sandbox.run_until_idle(), 0);
    }
    assert_repaired(&sandbox);
    assert_eq!(sandbox.idea_status("idea-004"), "done");
}

#[test]
fn a_log_that_ends_before_a_checkpoint_is_refused_and_a_cut_repeats_no_number() {
    let sandbox = with_history();
    sandbox.swarm(&["checkpoint", "create", "mine"]).ok();
    lose_lines_from(
        &sandbox,
        "\"kind\":\"ideaAdded\",\"data\":{\"id\":\"idea-003\"",
    );
    lose_the_snapshots(&sandbox);
    let words = ["checkpoint `mine` was made after event", "swarm doctor"];
    assert_refused(&sandbox, &words);
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    for words in ["checkpoint `mine`", "repair `cut`", "write c.txt x"] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
    sandbox.swarm(CUT).ok();
    assert_repaired(&sandbox);
    assert_eq!(sandbox.idea_status("idea-004"), "done");
}

#[test]
fn a_log_that_was_removed_beside_a_checkpoint_is_refused_and_one_from_elsewhere_refuses_nothing() {
    let (sandbox, other) = (with_history(), Sandbox::ready());
    sandbox.swarm(&["checkpoint", "create", "mine"]).ok();
    sandbox.lose_state();
    fs::remove_file(sandbox.dot_swarm("ideas.jsonl")).unwrap();
    let words = ["ends at event 0", "checkpoint `mine`", "swarm doctor"];
    // The first refusal makes the folder, for the lock.
    sandbox.swarm(&["start"]).refused(75, &words);
    assert_refused(&sandbox, &words);
    sandbox.swarm(CUT).ok();
    assert_repaired(&sandbox);
    let file = sandbox.dot_swarm("checkpoints/mine.json");
    let blob = other.git(&["hash-object", "-w", "--no-filters", file.to_str().unwrap()]);
    other.git(&["update-ref", "refs/swarm/checkpoint-files/mine", &blob]);
    other.git(&["update-ref", "refs/swarm/checkpoints/mine", "main"]);
    other.swarm(&["status"]).ok();
    assert_eq!(other.run_until_idle(), 0);
}

#[test]
fn a_snapshot_that_has_less_than_the_list_is_no_way_without_a_loss() {
    let sandbox = with_history();
    sandbox.idea("write d.txt x; say COMPLETE");
    fs::write(sandbox.dot_swarm("state/events.jsonl"), "").unwrap();
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    for words in [
        "repair `snapshot`",
        "ideas.jsonl shows later changes",
        "idea-004 goes from pending to gone",
        "write d.txt x",
    ] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
    let fixed = sandbox.swarm(SNAPSHOT);
    assert!(fixed.ok().contains("a copy of ideas.jsonl"), "{fixed}");
    assert_repaired(&sandbox);
    assert_eq!(sandbox.idea_status("idea-005"), "done");
}

#[test]
fn of_two_snapshots_behind_the_damage_the_one_that_keeps_most_is_the_way() {
    let sandbox = with_history();
    let whole = ideas(&sandbox);
    let newer = taken_after(&sandbox, "snapshot.json");
    let older = taken_after(&sandbox, "snapshot.prev.json");
    lose_lines_from(
        &sandbox,
        "\"kind\":\"ideaClaimed\",\"data\":{\"id\":\"idea-001\"",
    );
    assert!(older < newer, "{older} {newer}");
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    for words in [
        &format!("snapshot.json has the complete state after event {newer}, the last"),
        "no state is lost",
        ".jsonl ends at byte ",
        "found there: nothing, the file ends there",
    ] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
    for words in ["snapshot.prev.json", "every later event", "line 0"] {
        assert!(!doctor.stdout.contains(words), "{words}: {doctor}");
    }
    sandbox.swarm(SNAPSHOT).ok();
    assert_eq!(ideas(&sandbox), whole);
    assert_repaired(&sandbox);
}

#[test]
fn a_snapshot_of_another_log_is_no_way_and_says_that_there_may_have_been_more() {
    let (sandbox, other) = (with_history(), with_history());
    other.idea("write d.txt x; say COMPLETE");
    assert_eq!(other.run_until_idle(), 0);
    let newest = "state/snapshot.json";
    fs::copy(other.dot_swarm(newest), sandbox.dot_swarm(newest)).unwrap();
    let known = taken_after(&sandbox, "snapshot.json");
    let kept = taken_after(&sandbox, "snapshot.prev.json");
    lose_lines_from(
        &sandbox,
        "\"kind\":\"ideaClaimed\",\"data\":{\"id\":\"idea-001\"",
    );
    let doctor = sandbox.swarm(&["doctor"]);
    for words in [
        format!(
            "repair `snapshot` (recommended): snapshot.prev.json has the complete state after \
            event {kept}; but a snapshot was taken after event {known}"
        ),
        format!("loses {} events, from event {} on", known - kept, kept + 1),
    ] {
        assert!(doctor.stdout.contains(&words), "{words}: {doctor}");
    }
    assert!(!doctor.stdout.contains("no state is lost"), "{doctor}");
    sandbox.swarm(SNAPSHOT).ok();
    assert_repaired(&sandbox);
}

#[test]
fn a_snapshot_that_does_not_know_a_landing_is_not_said_to_have_everything() {
    let sandbox = with_history();
    lose_lines_from(
        &sandbox,
        "\"kind\":\"ideaClaimed\",\"data\":{\"id\":\"idea-001\"",
    );
    for gone in ["state/snapshot.json", "ideas.jsonl"] {
        fs::remove_file(sandbox.dot_swarm(gone)).unwrap();
    }
    let doctor = sandbox.swarm(&["doctor"]);
    for words in [
        "snapshot.prev.json has the complete state",
        "has landings that it does not mention",
        "idea-003 is on main already",
    ] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
    assert!(!doctor.stdout.contains("no state is lost"), "{doctor}");
    sandbox.swarm(SNAPSHOT).ok();
    assert_repaired(&sandbox);
    assert_eq!(sandbox.idea_status("idea-004"), "done");
}
