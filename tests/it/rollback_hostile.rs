//! What an agent has done to its worktree, and what lies in the place of files of ours, makes no
//! rollback impossible, and nothing waits for it.

use std::fs;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

use crate::harness::{Daemon, Sandbox};

/// Ways to make the files of a worktree such that git cannot keep them.
const SABOTAGE: &[(&str, &str)] = &[
    ("HEAD is garbage", "echo garbage >$g/HEAD"),
    (
        "branch and log are gone",
        "git update-ref -d refs/heads/$SWARM_BRANCH; rm -f $g/logs/HEAD",
    ),
    (
        "a link to a device for .gitignore",
        "ln -sf /dev/zero .gitignore",
    ),
    (
        "attributes that git refuses",
        "echo '* working-tree-encoding=UTF-16' >.gitattributes",
    ),
    (".git is a pipe", "rm .git; mkfifo .git"),
    ("HEAD is a pipe", "rm $g/HEAD; mkfifo $g/HEAD"),
    ("the index is a pipe", "rm $g/index; mkfifo $g/index"),
    (
        ".gitignore is a pipe",
        "rm -f .gitignore; mkfifo .gitignore",
    ),
    (
        "a pipe for a tracked file",
        "rm README.md; mkfifo README.md",
    ),
];

fn sabotaged<'a>(sandbox: &'a Sandbox, sabotage: &str) -> Daemon<'a> {
    sandbox.configure(&json!({"agents": {"maxParallel": 2}, "checkpoints": {"periodic": 0}}));
    sandbox.write("README.md", "hello\n");
    sandbox.commit("Set up");
    let daemon = sandbox.start();
    sandbox.idea(&format!(
        "write mine.txt x; hold bad.$SWARM_ATTEMPT; if attempt 1; then g=$(git rev-parse \
        --git-dir); write later.txt precious; {sabotage}; hold done; fi; write end.txt x; commit; \
        say COMPLETE"
    ));
    sandbox.idea("write good.txt one; hold good.$SWARM_ATTEMPT; commit; say COMPLETE");
    sandbox.wait_held("bad.1");
    sandbox.wait_held("good.1");
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    sandbox.release("bad.1");
    sandbox.wait_held("done");
    daemon
}

/// Whether anything has the file that no checkpoint had: a folder of a worktree, or a commit that
/// is kept.
fn is_somewhere(sandbox: &Sandbox) -> bool {
    let mut open = vec![sandbox.worktrees()];
    while let Some(folder) = open.pop() {
        // A worktree that is given back goes meanwhile.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.ends_with("later.txt") {
                return true;
            }
            if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                open.push(path);
            }
        }
    }
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/swarm"]);
    let mut commits = refs
        .lines()
        .filter(|name| !name.contains("/checkpoint-files/"));
    commits.any(|name| {
        let found = sandbox.git(&["ls-tree", "--name-only", name, "later.txt"]);
        !found.is_empty()
    })
}

fn endure(what: &str, sabotage: &str) {
    println!("{what}");
    let sandbox = Sandbox::ready();
    let daemon = sabotaged(&sandbox, sabotage);
    // Who asks for a checkpoint is told whose work it is.
    let made = sandbox.swarm(&["checkpoint", "create", "more"]);
    if made.code != 0 {
        made.refused(1, &["ed-001", "idea-001"]);
    }
    let words = ["rollback", "mid", "--yes", "--pause", "--json"];
    let answer = sandbox.swarm(&words).json();
    assert_eq!(sandbox.status()["phase"], "paused", "{what}");
    assert!(
        is_somewhere(&sandbox),
        "{what}: what was not committed is gone"
    );
    if made.code != 0 {
        let shown = sandbox.swarm(&[
            "checkpoint",
            "show",
            answer["safety"].as_str().unwrap(),
            "--json",
        ]);
        let shown = shown.json();
        let both = [&shown["agentStates"], &shown["keptWork"]];
        let mut all = both.iter().flat_map(|some| some.as_array().unwrap());
        let of = all.find(|one| one["id"] == "ed-001").unwrap();
        assert!(of["problem"].as_str().is_some(), "{what}: {shown}");
    }
    sandbox.swarm(&["resume"]).ok();
    for (held, id) in [("bad.2", "idea-001"), ("good.2", "idea-002")] {
        sandbox.release(held);
        sandbox.wait_idea(id, "done");
    }
    assert_eq!(sandbox.file_at("main", "mine.txt"), "x");
    assert!(
        is_somewhere(&sandbox),
        "{what}: what was not committed is gone at the end"
    );
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn no_agent_makes_a_rollback_impossible() {
    for (what, sabotage) in SABOTAGE {
        endure(what, sabotage);
    }
}

fn problems(sandbox: &Sandbox) -> Vec<Value> {
    let list = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
    let list = list.as_array().unwrap().iter();
    list.filter(|one| one["problem"].is_string())
        .cloned()
        .collect()
}

#[test]
fn a_pipe_in_the_place_of_a_checkpoints_file_holds_up_nobody() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(&["checkpoint", "create", "one"]).ok();
    let daemon = sandbox.start();
    let file = sandbox.dot_swarm("checkpoints/one.json");
    fs::remove_file(&file).unwrap();
    mkfifo(&file, Mode::S_IRWXU).unwrap();
    assert_eq!(problems(&sandbox), Vec::<Value>::new());
    sandbox.swarm(&["rollback", "one", "--yes"]).ok();
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
    for name in ["two.json", ".three.json.tmp"] {
        mkfifo(
            &sandbox.dot_swarm(&format!("checkpoints/{name}")),
            Mode::S_IRWXU,
        )
        .unwrap();
    }
    sandbox.swarm(&["checkpoint", "create", "two"]).ok();
    sandbox.swarm(&["checkpoint", "create", "three"]).ok();
    sandbox.swarm(&["rollback", "three", "--yes"]).ok();
    sandbox.swarm(&["checkpoint", "delete", "one"]).ok();
    assert_eq!(problems(&sandbox), Vec::<Value>::new());
    daemon.stop();
}

#[test]
fn a_file_of_another_checkpoint_is_not_shown_as_this_one() {
    let sandbox = Sandbox::ready();
    for name in ["one", "two"] {
        sandbox.swarm(&["checkpoint", "create", name]).ok();
    }
    let file = |name: &str| format!("refs/swarm/checkpoint-files/{name}");
    sandbox.git(&["update-ref", &file("one"), &file("two")]);
    let list = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
    let names: Vec<&Value> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(problems(&sandbox).len(), 1);
    let shown = sandbox
        .swarm(&["checkpoint", "show", "one", "--json"])
        .json();
    assert!(
        shown["problem"].as_str().unwrap().contains(&file("one")),
        "{shown}"
    );
}
