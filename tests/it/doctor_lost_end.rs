//! A log that lost its end where nothing in it tells, at the end of a line or of a file: the list of ideas knows of more, so nothing starts
//! over what is gone.

use std::fs;

use crate::doctor::{CUT, assert_repaired, find, segments, with_history};
use crate::harness::{Fingerprint, Sandbox};

/// Cuts the log off before the line that has this text. No snapshot proves that there was more.
fn lose_from(sandbox: &Sandbox, text: &str) {
    let (path, at) = find(sandbox, text);
    let bytes = fs::read(&path).unwrap();
    let line = bytes[..at].iter().rposition(|byte| *byte == b'\n');
    fs::write(&path, &bytes[..line.map_or(0, |end| end + 1)]).unwrap();
    let files = segments(sandbox);
    let behind = files.iter().position(|file| *file == path).unwrap();
    for file in &files[behind + 1..] {
        fs::remove_file(file).unwrap();
    }
    for name in ["snapshot.json", "snapshot.prev.json"] {
        fs::remove_file(sandbox.dot_swarm("state").join(name)).unwrap();
    }
}

/// Nothing begins, and nothing is changed.
fn assert_refused(sandbox: &Sandbox, words: &[&str]) {
    let before = Fingerprint::of(&sandbox.repo());
    let words = [words, &["lost its end", "swarm doctor"]].concat();
    for args in [&["start"][..], &["idea", "add", "more"], &["status"]] {
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
