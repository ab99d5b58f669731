//! A log that lost its end where nothing in it tells, at the end of a line or of a file: the list of ideas knows of more, so nothing starts
//! over what is gone.

use std::fs;

use crate::doctor::{CUT, SNAPSHOT, assert_repaired, find, ideas, segments, with_history};
use crate::harness::{Fingerprint, Sandbox};

/// Cuts the log off before the line that has this text. No snapshot proves that there was more.
fn lose_from(sandbox: &Sandbox, text: &str) {
    lose_lines_from(sandbox, text);
    for name in ["snapshot.json", "snapshot.prev.json"] {
        fs::remove_file(sandbox.dot_swarm("state").join(name)).unwrap();
    }
}

/// Cuts the log off before the line that has this text.
fn lose_lines_from(sandbox: &Sandbox, text: &str) {
    let (path, at) = find(sandbox, text);
    let bytes = fs::read(&path).unwrap();
    let line = bytes[..at].iter().rposition(|byte| *byte == b'\n');
    fs::write(&path, &bytes[..line.map_or(0, |end| end + 1)]).unwrap();
    let files = segments(sandbox);
    let behind = files.iter().position(|file| *file == path).unwrap();
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
    let words = [words, &["lost its end", "swarm doctor"]].concat();
    for args in [
        &["start"][..],
        &["idea", "add", "more"],
        &["status"],
        &["replay", "--verify"],
    ] {
        sandbox.swarm(args).refused(75, &words);
    }
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "refusals");
}

#[test]
fn an_idea_that_only_the_list_knows_is_named_and_its_number_is_not_given_again() {
    let sandbox = with_history();
    lose_from(
        &sandbox,
        "\"kind\":\"ideaAdded\",\"data\":{\"id\":\"idea-003\"",
    );
    assert_refused(&sandbox, &["a change of idea-003 at"]);
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    for words in ["a change of idea-003 at", "way `cut`", "write c.txt x"] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
    sandbox.swarm(CUT).ok();
    let list = fs::read_to_string(sandbox.dot_swarm("ideas.jsonl")).unwrap();
    assert!(!list.contains("idea-003"), "{list}");
    assert_repaired(&sandbox);
    assert_eq!(sandbox.idea_status("idea-004"), "done");
}

#[test]
fn an_idea_whose_landing_the_log_lost_does_not_land_again() {
    let sandbox = with_history();
    lose_from(
        &sandbox,
        "\"kind\":\"ideaClaimed\",\"data\":{\"id\":\"idea-003\"",
    );
    assert_refused(&sandbox, &["a change of idea-003 at"]);
    sandbox.swarm(CUT).ok();
    assert_eq!(sandbox.idea_status("idea-003"), "done");
    assert_repaired(&sandbox);
    assert_eq!(
        sandbox.notes("runs").len(),
        3 + 1,
        "only the one that was added then runs"
    );
}

#[test]
fn a_live_file_that_is_deleted_beside_rotated_ones_is_missed() {
    let sandbox = with_history();
    sandbox.idea("write d.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let live = sandbox.dot_swarm("state/events.jsonl");
    assert!(fs::metadata(&live).unwrap().len() > 0);
    fs::remove_file(&live).unwrap();
    for name in ["snapshot.json", "snapshot.prev.json"] {
        fs::remove_file(sandbox.dot_swarm("state").join(name)).unwrap();
    }
    assert_refused(&sandbox, &["idea-004"]);
    let landed = sandbox.git(&["rev-parse", "main"]);
    sandbox.swarm(CUT).ok();
    sandbox.swarm(&["doctor"]).ok();
    sandbox.swarm(&["replay", "--verify"]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), landed);
}

#[test]
fn a_snapshot_that_has_less_than_the_list_is_no_way_without_a_loss() {
    let sandbox = with_history();
    sandbox.idea("write d.txt x; say COMPLETE");
    fs::write(sandbox.dot_swarm("state/events.jsonl"), "").unwrap();
    let doctor = sandbox.swarm(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    for words in [
        "way `snapshot`",
        "ideas.jsonl tells of more",
        "idea-004: pending -> gone",
        "write d.txt x",
    ] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
    let fixed = sandbox.swarm(SNAPSHOT);
    assert!(fixed.ok().contains("the texts of all ideas"), "{fixed}");
    assert_repaired(&sandbox);
    assert_eq!(sandbox.idea_status("idea-005"), "done");
}

#[test]
fn an_edit_that_only_the_list_has_is_named() {
    let sandbox = with_history();
    let id = sandbox.idea("write d.txt x; say COMPLETE");
    sandbox
        .swarm(&["idea", "edit", &id, "--text", "something else"])
        .ok();
    lose_from(&sandbox, "\"kind\":\"ideaEdited\"");
    assert_refused(&sandbox, &["a change of idea-004 at"]);
    let doctor = sandbox.swarm(&["doctor"]);
    for words in [
        "only ideas.jsonl tells of",
        "idea-004: loses its edit  something else",
    ] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
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
        &format!("snapshot.json has the whole state after event {newer}, the last"),
        "nothing of the state is lost",
        ".jsonl ends at byte ",
        "found there: nothing: the file ends there",
    ] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
    for words in ["snapshot.prev.json", "every event after it", "line 0"] {
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
            "way `snapshot` (recommended): snapshot.prev.json has the whole state after event {kept}; but a snapshot was taken after event {known}"
        ),
        format!("loses {} events from event {} on", known - kept, kept + 1),
    ] {
        assert!(doctor.stdout.contains(&words), "{words}: {doctor}");
    }
    assert!(!doctor.stdout.contains("nothing of the state"), "{doctor}");
    sandbox.swarm(SNAPSHOT).ok();
    assert_repaired(&sandbox);
}

/// The wall clock was set back since: the times in the list have not come, and the number tells all the same.
#[test]
fn a_number_that_only_the_list_has_is_not_given_again_whatever_its_time() {
    let sandbox = with_history();
    let list = sandbox.dot_swarm("ideas.jsonl");
    let text = fs::read_to_string(&list).unwrap();
    let ahead = text.replace("\"updatedAt\":\"2", "\"updatedAt\":\"9");
    assert_ne!(ahead, text);
    fs::write(&list, ahead).unwrap();
    sandbox.swarm(&["status"]).ok();
    lose_from(
        &sandbox,
        "\"kind\":\"ideaAdded\",\"data\":{\"id\":\"idea-003\"",
    );
    assert_refused(&sandbox, &["no number above 2", "has idea-003"]);
    let doctor = sandbox.swarm(&["doctor"]);
    for words in ["has idea-003", "idea-003: done -> gone", "way `cut`"] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
    sandbox.swarm(CUT).ok();
    assert_repaired(&sandbox);
    assert_eq!(sandbox.idea_status("idea-004"), "done");
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
        "snapshot.prev.json has the whole state",
        "has landings that it does not know",
        "idea-003 is on main already",
    ] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor}");
    }
    assert!(!doctor.stdout.contains("nothing of the state"), "{doctor}");
    sandbox.swarm(SNAPSHOT).ok();
    assert_repaired(&sandbox);
    assert_eq!(sandbox.idea_status("idea-004"), "done");
}
