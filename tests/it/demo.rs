//! The first minute: `swarm demo` where nothing is set up.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Ran, Sandbox};

const MINUTE: Duration = Duration::from_secs(60);

/// Runs the demo in an empty home, outside of any repository, without an identity for git.
fn demo(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.swarm_command(&["demo", "--no-open"]);
    command.args(args).current_dir(sandbox.path("home"));
    sandbox.run(&mut command, b"", MINUTE)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The folder below `folder` that is set up for swarm.
fn repository_below(folder: &Path) -> PathBuf {
    let mut open = entries(folder);
    while let Some(path) = open.pop() {
        if path.join(".swarm").is_dir() {
            return path;
        }
        if path.is_dir() {
            open.extend(entries(&path));
        }
    }
    panic!("no repository below {}", folder.display());
}

#[test]
fn a_small_demo_leaves_nothing_behind() {
    let sandbox = Sandbox::empty();
    let ran = demo(&sandbox, &["--ideas", "3", "--agents", "2"]);
    let shown = format!("{}{}", ran.ok(), ran.stderr).to_lowercase();
    assert!(shown.contains("demo"), "{ran}");
    assert_eq!(entries(&sandbox.path("tmp")), [] as [PathBuf; 0]);
    assert_eq!(entries(&sandbox.path("home")), [] as [PathBuf; 0]);
    sandbox.assert_nothing_runs();
}

#[test]
fn the_demo_shows_a_refused_check_a_conflict_and_a_recovery() {
    let sandbox = Sandbox::empty();
    let ran = demo(&sandbox, &["--keep"]);
    ran.ok();
    sandbox.assert_nothing_runs();
    let kept = repository_below(&sandbox.path("tmp"));
    let shown = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        shown.contains(kept.to_str().unwrap()),
        "the kept place is not named: {ran}"
    );

    let ideas = sandbox.swarm_in(&kept, &["idea", "list", "--json"]).json();
    let ideas = ideas.as_array().unwrap();
    assert!(ideas.len() >= 3, "{ideas:?}");
    for idea in ideas {
        assert_eq!(idea["status"], "done", "{idea}");
    }
    let events = sandbox.swarm_in(&kept, &["events", "--json"]);
    let events: Vec<Value> = events
        .ok()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    for kind in [
        "gateFailed",
        "mergeConflicted",
        "conflictSettled",
        "ideaLanded",
    ] {
        assert!(kinds.contains(&kind), "no {kind} in {kinds:?}");
    }
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "ideaLanded").count(),
        ideas.len()
    );
    let recovered = ideas.iter().any(|idea| {
        let id = idea["id"].as_str().unwrap();
        let shown = sandbox
            .swarm_in(&kept, &["idea", "show", id, "--json"])
            .json();
        let history = shown["history"].as_array().unwrap().clone();
        history
            .iter()
            .any(|entry| entry["what"] == "crash_recovery")
    });
    assert!(recovered, "no idea was recovered");

    sandbox.git_in(&kept, &["fsck", "--strict"]);
    sandbox.swarm_in(&kept, &["replay", "--verify"]).ok();
    let mut check = sandbox.command("./check.sh");
    sandbox.run(check.current_dir(&kept), b"", MINUTE).ok();
    assert_eq!(sandbox.git_in(&kept, &["branch", "--list", "agent/*"]), "");
    fs::remove_dir_all(kept).unwrap();
}
