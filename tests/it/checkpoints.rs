//! Checkpoints: what the contract says of them, and those that come and go by themselves.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::harness::Sandbox;

const WORK: &str = "write $SWARM_IDEA_ID.txt x; commit; say COMPLETE";

/// The keys of an object.
fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// `checkpoint list --json`, each as reason and name, oldest first.
pub fn list(sandbox: &Sandbox) -> Vec<(String, String)> {
    let all = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    all.as_array()
        .unwrap()
        .iter()
        .map(|one| (text(one, "reason"), text(one, "name")))
        .collect()
}

/// The tags, files and names in the list are the same.
pub fn assert_complete(sandbox: &Sandbox) {
    let listed: BTreeSet<String> = list(sandbox).into_iter().map(|(_, name)| name).collect();
    let tags = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname:lstrip=3)",
        "refs/swarm/checkpoints",
    ]);
    let tags: BTreeSet<String> = tags.lines().map(str::to_owned).collect();
    let files = fs::read_dir(sandbox.dot_swarm("checkpoints"))
        .into_iter()
        .flatten();
    let files: BTreeSet<String> = files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.strip_suffix(".json").unwrap().to_owned())
        .collect();
    assert_eq!(listed, tags);
    assert_eq!(listed, files);
}

/// What the contract says of a checkpoint's file.
pub fn assert_as_promised(sandbox: &Sandbox, name: &str) -> Value {
    let path = sandbox.dot_swarm(&format!("checkpoints/{name}.json"));
    let mut file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let promised = [
        "name",
        "createdAt",
        "reason",
        "gitCommit",
        "gitRef",
        "target",
        "seq",
        "ideaStates",
        "agentStates",
        "stateSnapshot",
    ];
    assert!(keys(&file).is_superset(&BTreeSet::from(promised)), "{file}");
    let tag = format!("refs/swarm/checkpoints/{name}");
    assert_eq!(
        (&file["name"], &file["gitRef"]),
        (&json!(name), &json!(tag))
    );
    assert_eq!(file["gitCommit"], json!(sandbox.head(&tag)));
    assert_eq!(file["target"], "main");
    for agent in file["agentStates"].as_array().unwrap() {
        let promised = BTreeSet::from(["id", "ideaId", "iteration", "wipCommit"]);
        assert!(keys(agent).is_superset(&promised), "{agent}");
    }
    let seq = file["seq"].as_u64().unwrap();
    let then = sandbox
        .swarm(&["replay", "--at", &seq.to_string(), "--json"])
        .json();
    let snapshot = &file["stateSnapshot"];
    for part in ["ideas", "agents", "queue"] {
        assert_eq!(snapshot[part], then[part], "{part} at {seq}");
    }
    file.as_object_mut().unwrap().remove("stateSnapshot");
    let shown = sandbox
        .swarm(&["checkpoint", "show", name, "--json"])
        .json();
    // The log alone knows the number.
    file["number"] = shown["number"].clone();
    // What other documents call these, beside the names in the file.
    file["commit"] = file["gitCommit"].clone();
    file["branch"] = file["target"].clone();
    assert!(file["number"].as_u64() > Some(0), "{shown}");
    assert_eq!(shown, file);
    let all = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
    assert!(all.as_array().unwrap().contains(&file), "{all}");
    file
}

#[test]
fn one_is_made_listed_shown_and_deleted_with_a_daemon_and_without() {
    let sandbox = Sandbox::ready();
    let done = sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let waiting = sandbox.idea(WORK);
    for with_daemon in [false, true] {
        let daemon = with_daemon.then(|| sandbox.start());
        let before = sandbox.git(&["for-each-ref"]);
        sandbox.swarm(&["checkpoint", "create", "one"]).ok();
        sandbox
            .swarm(&["checkpoint", "create", "two", "--json"])
            .json();
        let file = assert_as_promised(&sandbox, "one");
        assert_eq!(file["reason"], "manual");
        assert_eq!(file["gitCommit"], json!(sandbox.head("main")));
        assert_eq!(
            file["ideaStates"],
            json!({&done: "done", &waiting: "pending"})
        );
        assert_complete(&sandbox);
        let names: Vec<String> = list(&sandbox).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["one", "two"]);
        let page = sandbox.swarm(&["checkpoint", "show", "one"]);
        assert!(page.ok().contains("refs/swarm/checkpoints/one"), "{page}");
        assert!(sandbox.swarm(&["checkpoint", "list"]).ok().contains("two"));
        for name in ["one", "two"] {
            sandbox.swarm(&["checkpoint", "delete", name]).ok();
        }
        assert_eq!(list(&sandbox), []);
        assert_complete(&sandbox);
        assert_eq!(sandbox.git(&["for-each-ref"]), before);
        // It did not begin to work because of that, and left nothing running.
        assert_eq!(sandbox.idea_status(&waiting), "pending");
        match daemon {
            Some(daemon) => daemon.stop(),
            None => sandbox.assert_nothing_runs(),
        }
    }
    sandbox.assert_log_sound();
}

#[test]
fn names_that_are_taken_bad_or_unknown_are_refused() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    sandbox
        .swarm(&["checkpoint", "show", "one"])
        .refused(1, &["one", "swarm checkpoint"]);
    for with_daemon in [false, true] {
        let daemon = with_daemon.then(|| sandbox.start());
        if daemon.is_none() {
            sandbox.swarm(&["checkpoint", "create", "one"]).ok();
        }
        sandbox
            .swarm(&["checkpoint", "create", "one"])
            .refused(1, &["one", "another name"]);
        for bad in ["One", "a b", "-", "../up", "", &"x".repeat(65)] {
            for verb in ["create", "show", "delete"] {
                let ran = sandbox.swarm(&["checkpoint", verb, "--", bad]);
                ran.refused(2, &[]);
            }
            sandbox
                .swarm(&["rollback", "--yes", "--", bad])
                .refused(2, &[]);
        }
        for words in [
            &["checkpoint", "show", "two"][..],
            &["checkpoint", "delete", "two"],
            &["rollback", "two", "--yes"],
            &["rollback", "two", "--dry-run"],
        ] {
            sandbox.swarm(words).refused(1, &["two", "one"]);
        }
        sandbox.swarm(&["rollback", "one"]).refused(1, &["--yes"]);
        assert_complete(&sandbox);
        if let Some(daemon) = daemon {
            daemon.stop();
        }
    }
}

/// A tag or a reference of that name that is somebody else's is never taken over.
#[test]
fn a_foreign_tag_or_reference_of_that_name_stays() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    sandbox.git(&["tag", "swarm/checkpoint/mine"]);
    sandbox.git(&["update-ref", "refs/swarm/checkpoints/theirs", "main"]);
    let daemon = sandbox.start();
    let refs = sandbox.git(&["for-each-ref"]);
    sandbox
        .swarm(&["checkpoint", "create", "mine", "--tag"])
        .refused(1, &["swarm/checkpoint/mine", "git tag -d"]);
    let refused = sandbox.swarm(&["checkpoint", "create", "theirs"]);
    refused.refused(1, &["refs/swarm/checkpoints/theirs", "git update-ref -d"]);
    assert_eq!(sandbox.git(&["for-each-ref"]), refs);
    assert_eq!(list(&sandbox), []);
    // Without a tag of its own, and with it once the name is free.
    sandbox.swarm(&["checkpoint", "create", "mine"]).ok();
    assert_as_promised(&sandbox, "mine");
    sandbox.swarm(&["checkpoint", "delete", "mine"]).ok();
    assert_eq!(
        sandbox.git(&["tag", "--list"]),
        "swarm/checkpoint/mine",
        "somebody else's tag"
    );
    sandbox.git(&["tag", "-d", "swarm/checkpoint/mine"]);
    sandbox
        .swarm(&["checkpoint", "create", "mine", "--tag"])
        .ok();
    daemon.stop();
}

#[test]
fn what_agents_have_not_committed_is_kept_without_touching_it() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id = sandbox.idea(
        "write a.txt one; commit Half; write a.txt two; write b.txt loose; git add a.txt; hold it; \
        commit; say COMPLETE",
    );
    sandbox.wait_held("it");
    let place = sandbox
        .repo()
        .join(sandbox.status()["agents"][0]["worktree"].as_str().unwrap());
    let before = sandbox.git_in(&place, &["status", "--porcelain"]);
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    assert_eq!(sandbox.git_in(&place, &["status", "--porcelain"]), before);
    let file = assert_as_promised(&sandbox, "mid");
    let agent = &file["agentStates"][0];
    assert_eq!(
        (&agent["id"], &agent["ideaId"], &agent["iteration"]),
        (&json!("ed-001"), &json!(id), &json!(1))
    );
    assert_eq!(file["ideaStates"], json!({&id: "active"}));
    let wip = agent["wipCommit"].as_str().unwrap();
    assert_eq!(sandbox.file_at(wip, "a.txt"), "two");
    assert_eq!(sandbox.file_at(wip, "b.txt"), "loose");
    assert_eq!(sandbox.file_at(&format!("{wip}^"), "a.txt"), "one");
    // Only that reference keeps it from git's own tidying.
    let refs = sandbox.git(&["for-each-ref", "--contains", wip, "--format=%(refname)"]);
    assert_eq!(refs, "refs/swarm/checkpoint-work/mid/ed-001");
    sandbox.release("it");
    sandbox.wait_idea(&id, "done");
    sandbox.swarm(&["checkpoint", "delete", "mid"]).ok();
    let left = sandbox.git(&["for-each-ref", "refs/swarm", "refs/tags"]);
    assert!(!left.contains("checkpoint"), "{left}");
    daemon.stop();
}

#[test]
fn a_checkpoint_waits_for_nobody_who_works() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id = sandbox.idea("hold it; write a.txt x; say COMPLETE");
    sandbox.wait_held("it");
    sandbox.swarm(&["pause"]).ok();
    sandbox.swarm(&["checkpoint", "create", "paused"]).ok();
    let file = assert_as_promised(&sandbox, "paused");
    // Nothing was done yet, so there is nothing to keep.
    assert_eq!(file["agentStates"][0]["wipCommit"], Value::Null);
    sandbox.swarm(&["resume"]).ok();
    sandbox.release("it");
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

#[test]
fn every_so_many_landings_make_one() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"checkpoints": {"periodic": 2}, "agents": {"maxParallel": 1}}));
    for _ in 0..5 {
        sandbox.idea(WORK);
    }
    assert_eq!(sandbox.run_until_idle(), 0);
    let found = list(&sandbox);
    assert_eq!(found.len(), 2, "{found:?}");
    for ((reason, name), idea) in found.iter().zip(["idea-002", "idea-004"]) {
        assert_eq!(reason, "periodic");
        assert!(name.starts_with(&format!("after-{idea}-2")), "{name}");
        let file = assert_as_promised(&sandbox, name);
        let done = file["ideaStates"].as_object().unwrap().values();
        let done = done.filter(|status| *status == "done").count();
        assert_eq!(done, if idea == "idea-002" { 2 } else { 4 });
        // Commit and state belong together.
        let landed = sandbox.landings(
            &sandbox.head("main~5"),
            &format!("refs/swarm/checkpoints/{name}"),
        );
        assert_eq!(landed.len(), done);
    }
    assert_complete(&sandbox);
    sandbox.assert_log_sound();
}

#[test]
fn none_comes_by_itself_where_that_is_switched_off() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"checkpoints": {"periodic": 0}}));
    for _ in 0..6 {
        sandbox.idea(WORK);
    }
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(list(&sandbox), []);
    assert_complete(&sandbox);
}

#[test]
fn one_is_there_before_autopilot_begins_and_once_only() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto", "checkpoints": {"beforeAutopilot": true}}));
    let first = sandbox.idea(WORK);
    let daemon = sandbox.start();
    assert_eq!(list(&sandbox), []);
    daemon.stop();
    let base = sandbox.head("main");
    sandbox.configure(&json!({"checkpoints": {"beforeAutopilot": true}}));
    let daemon = sandbox.start();
    sandbox.wait_idea(&first, "done");
    daemon.kill();
    let daemon = sandbox.start();
    let second = sandbox.idea(WORK);
    sandbox.wait_idea(&second, "done");
    let found = list(&sandbox);
    assert_eq!(found.len(), 1, "{found:?}");
    let (reason, name) = &found[0];
    assert_eq!(reason, "before-autopilot");
    assert!(name.starts_with("before-autopilot-2"), "{name}");
    let file = assert_as_promised(&sandbox, name);
    assert_eq!(file["gitCommit"], json!(base));
    assert_eq!(file["ideaStates"], json!({&first: "pending"}));
    daemon.stop();
}

#[test]
fn old_ones_go_and_those_that_a_person_made_stay() {
    let sandbox = Sandbox::ready();
    sandbox.configure(
        &json!({"checkpoints": {"periodic": 1, "keep": 2}, "agents": {"maxParallel": 1}}),
    );
    sandbox.swarm(&["checkpoint", "create", "mine"]).ok();
    for _ in 0..5 {
        sandbox.idea(WORK);
    }
    assert_eq!(sandbox.run_until_idle(), 0);
    let found = list(&sandbox);
    let reasons: Vec<&str> = found.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["manual", "periodic", "periodic"], "{found:?}");
    assert!(found[1].1.starts_with("after-idea-004-"), "{found:?}");
    assert!(found[2].1.starts_with("after-idea-005-"), "{found:?}");
    assert_complete(&sandbox);
    let refs = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/swarm/checkpoint-work",
        "refs/swarm/checkpoint-files",
    ]);
    let of_those = |line: &str| {
        found
            .iter()
            .any(|(_, name)| line.split('/').any(|part| part == name))
    };
    assert!(refs.lines().all(of_those), "{refs}");
    sandbox.assert_log_sound();
}

/// What an idea is to go on from outlives its checkpoint, but not its use.
#[test]
fn the_work_of_a_deleted_checkpoint_goes_when_nobody_needs_it_any_more() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"checkpoints": {"periodic": 0}}));
    let daemon = sandbox.start();
    let id = sandbox.idea(
        "if attempt 1; then write a.txt half; hold one; else hold two; fi; commit; say COMPLETE",
    );
    sandbox.wait_held("one");
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    let words = ["rollback", "mid", "--yes", "--pause", "--json"];
    let answer = sandbox.swarm(&words).json();
    for name in ["mid", answer["safety"].as_str().unwrap()] {
        sandbox.swarm(&["checkpoint", "delete", name]).ok();
    }
    let refs = || {
        let words = ["for-each-ref", "--format=%(refname)"];
        sandbox.git(&[words[0], words[1], "refs/swarm/checkpoint-work"])
    };
    assert!(
        refs().contains("refs/swarm/checkpoint-work/mid/ed-001"),
        "{}",
        refs()
    );
    daemon.stop();
    assert!(
        refs().contains("refs/swarm/checkpoint-work/mid/ed-001"),
        "{}",
        refs()
    );
    let daemon = sandbox.start();
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_held("two");
    sandbox.release("two");
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.file_at("main", "a.txt"), "half");
    sandbox.swarm(&["checkpoint", "create", "other"]).ok();
    daemon.stop();
    assert_eq!(refs(), "");
    sandbox.swarm(&["checkpoint", "show", "other"]).ok();
    sandbox.assert_sound();
    sandbox.assert_log_sound();
}

/// The last reference to what a rollback took away is never dropped by itself.
#[test]
fn what_a_rollback_took_away_stays_when_its_checkpoint_goes() {
    let sandbox = Sandbox::ready();
    sandbox
        .configure(&json!({"checkpoints": {"periodic": 0, "beforeAutopilot": false, "keep": 1}}));
    sandbox.swarm(&["checkpoint", "create", "base"]).ok();
    fs::write(sandbox.repo().join("mine.txt"), "mine").unwrap();
    sandbox.git(&["add", "mine.txt"]);
    sandbox.git(&["commit", "-qm", "Mine"]);
    let mine = sandbox.git(&["rev-parse", "main"]);
    // An agent's branch goes some day, and counts for nothing.
    sandbox.git(&["branch", "agent/ed-901/idea-901", &mine]);
    sandbox.start().stop();
    for _ in 0..3 {
        sandbox.swarm(&["rollback", "base", "--yes"]).ok();
    }
    // A daemon that ends at once leaves that to the next.
    sandbox.start().stop();
    assert_eq!(list(&sandbox).len(), 2, "the manual one and the newest");
    let having = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "--contains",
        mine.trim(),
    ]);
    assert!(
        having.contains("refs/swarm/rescue/checkpoint-before-rollback-"),
        "{having}"
    );
    sandbox.git(&["branch", "-q", "-D", "agent/ed-901/idea-901"]);
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(
        sandbox.git(&["show", &format!("{}:mine.txt", mine.trim())]),
        "mine"
    );
}
