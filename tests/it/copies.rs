//! Repositories that were copied, or renamed with another now in their place: what is said in one is done there and nowhere else.

use serde_json::Value;

use crate::harness::Sandbox;

/// A sandbox whose repository has work and a checkpoint, and a copy of it under the name `name`.
fn copied(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let copy = sandbox.path(name);
    let line = format!("cp -a '{}' '{}'", sandbox.repo().display(), copy.display());
    sandbox.shell(&line).ok();
    copy
}

fn ideas_in(sandbox: &Sandbox, folder: &std::path::Path) -> Vec<Value> {
    let list = sandbox.swarm_in(folder, &["idea", "list", "--json"]).json();
    list.as_array().unwrap().clone()
}

#[test]
fn a_copy_of_a_repository_whose_daemon_runs_is_a_repository_of_its_own() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(&["checkpoint", "create", "mine"]).ok();
    let before = sandbox.head("main");
    let daemon = sandbox.start();
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.wait_idea("idea-001", "done");
    let after = sandbox.head("main");
    let copy = copied(&sandbox, "copy");
    let said = |args: &[&str]| sandbox.swarm_in(&copy, args);
    said(&["stop"]).refused(3, &["no daemon is running"]);
    said(&["idea", "add", "of the copy"]).ok();
    said(&["rollback", "mine", "--yes"]).ok();
    assert_eq!(sandbox.git_in(&copy, &["rev-parse", "main"]), before);
    assert_eq!(sandbox.head("main"), after);
    assert_eq!(sandbox.ideas().len(), 1);
    assert_eq!(ideas_in(&sandbox, &copy).len(), 2);
    daemon.stop();
}

#[test]
fn a_daemon_in_the_place_of_a_renamed_repository_is_not_its_own() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let renamed = copied(&sandbox, "other");
    daemon.kill();
    // As renaming does it: the folder keeps what it is known by, and another one gets its name.
    let (repo, aside) = (sandbox.repo(), sandbox.path("aside"));
    std::fs::rename(&repo, &aside).unwrap();
    std::fs::rename(&renamed, &repo).unwrap();
    let daemon = sandbox.start();
    let said = |args: &[&str]| sandbox.swarm_in(&aside, args);
    said(&["idea", "add", "of the renamed one"]).ok();
    said(&["stop"]).refused(3, &["no daemon is running"]);
    assert_eq!(sandbox.ideas(), Vec::<Value>::new());
    assert_eq!(ideas_in(&sandbox, &aside).len(), 1);
    daemon.stop();
}
