//! A swarm of real programs that moves in the middle of their conversations: they go on in another
//! clone, under another home, with what their tools gave before.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Sandbox;
use crate::lab::{BOTH, Lab, WORK, commit};
use crate::stub::Asked;

/// An iteration with a tool call; one that stands still in its tool when the swarm stops; and the
/// rest, which needs what the first one left.
fn script(lab: &Lab, name: &str) -> Value {
    let first = format!("{name}.txt");
    let write = commit(&first, &format!("{name} did this"));
    let rest = commit(&format!("{name}-rest.txt"), "rest");
    json!([
        {"sh": format!("{write}; cat {first}"), "text": "I write it."},
        {"text": format!("Half of {name} is done.")},
        {"sh": format!("echo {name} > {name}-loose.txt; {}", lab.hold(name)), "text": "I wait."},
        {"sh": format!("cat {first} {name}-loose.txt && {rest}"), "text": "I go on."},
        {"text": "Done.", "say": "COMPLETE"},
    ])
}

/// Another clone under another path, set up for both programs, whose records lie elsewhere too.
fn clone_of(lab: &Lab) -> Sandbox {
    let clone = Sandbox::empty();
    fs::remove_dir(clone.repo()).unwrap();
    let (from, to) = (lab.sandbox.repo(), clone.repo());
    let words = ["clone", "-q", "--no-local", "--single-branch", "--no-tags"];
    let paths = [from.to_str().unwrap(), to.to_str().unwrap()];
    clone.git_in(&clone.path("home"), &[&words[..], &paths].concat());
    clone.git(&["remote", "remove", "origin"]);
    clone.swarm(&["init", "--yes", "--agent", "command"]).ok();
    let profile = |name: &str, variable: &str| {
        let records = clone.path(&format!("records of {name}"));
        fs::create_dir(&records).unwrap();
        let mut profile = lab.profile(name);
        profile["env"][variable] = records.to_str().unwrap().into();
        profile
    };
    clone.configure(&json!({"agents": {"profile": "claude", "profiles": {
        "claude": profile("claude", "CLAUDE_CONFIG_DIR"),
        "codex": profile("codex", "CODEX_HOME"),
    }}}));
    clone
}

/// Stops the swarm and packs it. The programs' records go, so that nothing else can be resumed.
fn depart(lab: &Lab, archive: &Path) {
    let archive = archive.to_str().unwrap();
    let export = ["snapshot", "export", archive, "--move"];
    lab.sandbox.swarm(&export).ok();
    for records in ["home/.claude", "codex"] {
        fs::remove_dir_all(lab.sandbox.path(records)).unwrap();
    }
}

fn asked_of(lab: &Lab, name: &str) -> Vec<Asked> {
    lab.stub.asked_for(&format!("{name}-rest.txt"))
}

#[test]
fn moved_conversations_go_on_in_another_clone() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    let first = lab.sandbox.head("main");
    let ideas = lab.ideas(|name| script(&lab, name));
    let daemon = lab.sandbox.start();
    lab.wait_both_held();
    lab.wait_recorded();
    daemon.stop();
    drop(daemon);
    let before = BOTH.map(|name| asked_of(&lab, name));
    for (idea, asked) in ideas.iter().zip(&before) {
        assert_eq!(lab.iterations(idea).len(), 2);
        let steps: Vec<usize> = asked.iter().map(|asked| asked.step).collect();
        assert_eq!(steps, [0, 1, 2], "{asked:#?}");
    }
    let archive = lab.sandbox.path("moved.swarm.tar.zst");
    depart(&lab, &archive);
    let clone = clone_of(&lab);
    let import = ["snapshot", "import", archive.to_str().unwrap(), "--json"];
    let result = clone.swarm(&[&import[..], &["--yes"]].concat()).json();
    assert_eq!(result["result"], "full", "{result:#}");
    assert_eq!(result["restored"]["unfinished"], 2, "{result:#}");
    lab.release_both();
    assert_eq!(clone.run_until_idle_within(WORK), 0);
    clone.assert_nothing_runs();
    for (name, before) in BOTH.into_iter().zip(&before) {
        assert_resumed(name, before, &asked_of(&lab, name));
        for file in ["", "-loose", "-rest"] {
            clone.file_at("main", &format!("{name}{file}.txt"));
        }
    }
    assert_landed_once(&clone, &first, &ideas);
    clone.assert_log_sound();
    // The clone that it left does nothing.
    lab.sandbox
        .swarm(&["start"])
        .refused(1, &["swarm snapshot reclaim"]);
    assert_eq!(lab.sandbox.head("main"), first);
}

/// The first request after the move holds what the tool gave before it, and nothing is done again.
fn assert_resumed(name: &str, before: &[Asked], all: &[Asked]) {
    let resumed = &all[before.len()];
    let given = resumed.results.first().map_or("", String::as_str);
    assert!(given.contains(&format!("{name} did this")), "{resumed:#?}");
    assert_eq!(resumed.results[0], before[2].results[0]);
    let told = resumed.prompts.last().unwrap();
    assert!(!told.contains("An idea of the test"), "{told}");
    assert!(
        all.iter().all(|asked| asked.session == before[0].session),
        "{all:#?}"
    );
    for step in [0, 1] {
        let asked = all.iter().filter(|asked| asked.step == step);
        assert_eq!(asked.count(), 1, "{all:#?}");
    }
}

fn assert_landed_once(clone: &Sandbox, first: &str, ideas: &[String; 2]) {
    for idea in ideas {
        assert_eq!(clone.idea_status(idea), "done");
    }
    let landings = clone.landings(first, "main").into_iter();
    let landed: Vec<String> = landings.map(|(_, idea)| idea).collect();
    let once: BTreeSet<&String> = landed.iter().collect();
    assert_eq!((landed.len(), once), (2, ideas.iter().collect()));
}
