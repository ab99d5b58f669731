//! Checkpoints live in git: tools that format, clean or prune the checkout and its tags do not hurt
//! them, and they are seen by nobody who does not ask for them.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::checkpoints::{assert_as_promised, assert_complete, list};
use crate::harness::{Daemon, PATIENCE, Sandbox};

#[test]
fn checkpoints_change_neither_describe_nor_the_tags_unless_asked_to() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    sandbox.git(&["tag", "-a", "v1", "-m", "v1"]);
    let described = sandbox.git(&["describe", "--tags"]);
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "one"]).ok();
    assert_eq!(sandbox.git(&["describe", "--tags"]), described);
    assert_eq!(sandbox.git(&["tag", "--list"]), "v1");
    sandbox
        .swarm(&["checkpoint", "create", "two", "--tag"])
        .ok();
    assert_eq!(
        sandbox.head("refs/tags/swarm/checkpoint/two"),
        sandbox.head("refs/swarm/checkpoints/two")
    );
    sandbox.swarm(&["checkpoint", "delete", "two"]).ok();
    assert_eq!(sandbox.git(&["tag", "--list"]), "v1");
    daemon.stop();
    sandbox.configure(&json!({"checkpoints": {"tag": true}}));
    sandbox.swarm(&["checkpoint", "create", "three"]).ok();
    let tags = sandbox.git(&["tag", "--list"]);
    assert_eq!(tags, "swarm/checkpoint/three\nv1");
}

#[test]
fn a_checkpoint_whose_view_was_formatted_or_deleted_is_as_good_and_shown_again() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "one"]).ok();
    let path = sandbox.dot_swarm("checkpoints/one.json");
    let text = fs::read_to_string(&path).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let formatted = serde_json::to_string_pretty(&value).unwrap();
    let break_it: [&dyn Fn(); 3] = [
        &|| fs::write(&path, &formatted).unwrap(),
        &|| fs::write(&path, "{ damaged").unwrap(),
        &|| fs::remove_file(&path).unwrap(),
    ];
    for breaks in break_it {
        breaks();
        sandbox.swarm(&["rollback", "one", "--yes"]).ok();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    daemon.stop();
    fs::remove_file(&path).unwrap();
    let daemon = sandbox.start();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    daemon.stop();
}

/// The references of checkpoints, without their objects.
fn references(sandbox: &Sandbox) -> Vec<String> {
    let all = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    let all = all.lines().filter(|name| name.contains("/checkpoint"));
    all.map(str::to_owned).collect()
}

/// A repository with a remote on disk, which has its branch.
fn with_remote() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let remote = sandbox.path("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
    sandbox.git(&["push", "-q", "-u", "origin", "main"]);
    sandbox
}

#[test]
fn a_push_of_all_tags_pushes_no_checkpoint() {
    let sandbox = with_remote();
    sandbox.git(&["tag", "v1"]);
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "one"]).ok();
    sandbox.git(&["push", "-q", "--tags", "origin"]);
    sandbox.git(&["push", "-q", "--follow-tags", "origin", "main"]);
    let there = sandbox.git(&["ls-remote", "origin"]);
    assert!(there.contains("refs/tags/v1"), "{there}");
    assert!(!there.contains("swarm"), "{there}");
    daemon.stop();
}

/// With the tags that people ask for and without: the tags go, the checkpoints stay.
#[test]
fn tools_that_prune_tags_hurt_no_checkpoint() {
    let sandbox = with_remote();
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "plain"]).ok();
    let tagged = ["checkpoint", "create", "tagged", "--tag"];
    sandbox.swarm(&tagged).ok();
    let before = references(&sandbox);
    sandbox.git(&["fetch", "-q", "--prune", "--prune-tags", "origin"]);
    assert_eq!(sandbox.git(&["tag", "--list"]), "", "git prunes the tag");
    sandbox.git(&["tag", "v2"]);
    sandbox.shell("git tag --list | xargs git tag -d").ok();
    sandbox.git(&["pack-refs", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    let gone = "refs/tags/swarm/checkpoint/tagged".to_owned();
    let mut after = references(&sandbox);
    after.push(gone);
    after.sort();
    assert_eq!(after, before);
    for name in ["plain", "tagged"] {
        assert_as_promised(&sandbox, name);
        sandbox.swarm(&["rollback", name, "--yes"]).ok();
        sandbox.swarm(&["checkpoint", "delete", name]).ok();
    }
    assert_complete(&sandbox);
    daemon.stop();
    sandbox.assert_repository_clean();
}

/// Lays out each JSON file below the folder, as formatters do: in place, and only if it changes.
fn format_all(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_json = path.extension().is_some_and(|it| it == "json");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => format_all(&path),
            Ok(kind) if kind.is_file() && is_json => {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let Ok(value) = serde_json::from_str::<Value>(&text) else {
                    continue;
                };
                let formatted = format!("{value:#}\n\n");
                if formatted != text && path.exists() {
                    let _gone = fs::write(&path, formatted);
                }
            }
            Ok(_) | Err(_) => {}
        }
    }
}

#[test]
fn a_formatter_that_rewrites_swarms_files_all_the_time_hurts_no_checkpoint() {
    let sandbox = Sandbox::ready();
    let (over, passes) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        let end = Over(&over);
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                format_all(&sandbox.dot_swarm(""));
                passes.fetch_add(1, Ordering::SeqCst);
                thread::yield_now();
            }
        });
        let pass = |what: &str| {
            let seen = passes.load(Ordering::SeqCst);
            sandbox.wait_for(what, || {
                (passes.load(Ordering::SeqCst) > seen + 1).then_some(())
            });
        };
        pass("the first files are formatted");
        let daemon = sandbox.start();
        sandbox.swarm(&["pause"]).ok();
        sandbox.swarm(&["checkpoint", "create", "one"]).ok();
        let base = sandbox.head("main");
        pass("the checkpoint's file is formatted");
        sandbox.swarm(&["resume"]).ok();
        let idea = sandbox.idea("write a.txt x; say COMPLETE");
        sandbox.wait_idea(&idea, "done");
        assert_ne!(sandbox.head("main"), base);
        let listed = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
        assert!(listed[0].get("problem").is_none(), "{listed}");
        sandbox.swarm(&["rollback", "one", "--yes", "--pause"]).ok();
        assert_eq!(sandbox.head("main"), base);
        daemon.stop();
        drop(end);
    });
    sandbox.assert_log_sound();
}

/// Ends the formatter, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A daemon that dies at this point.
fn doomed<'a>(sandbox: &'a Sandbox, point: &str) -> Daemon<'a> {
    let mut command = sandbox.swarm_command(&["start"]);
    command.env(swarm::crash::VARIABLE, point);
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    daemon
}

/// Two agents' work is in the checkpoint. Its reference is the last thing that is made.
#[test]
fn killed_at_any_write_a_checkpoint_is_whole_after_the_next_start() {
    for point in [
        "effect.checkpoint.begin",
        "checkpoint.one-work-kept",
        "checkpoint.work-kept",
        "checkpoint.file-kept",
        "checkpoint.written",
        "checkpoint.tagged",
        "effect.checkpoint.done",
    ] {
        let sandbox = Sandbox::ready();
        for name in ["a", "b"] {
            sandbox.idea(&format!("write {name}.txt x; hold {name}; say COMPLETE"));
        }
        let daemon = doomed(&sandbox, point);
        for name in ["a", "b"] {
            sandbox.wait_held(name);
        }
        let create = ["checkpoint", "create", "one", "--tag"];
        let ran = sandbox.swarm(&create);
        assert_ne!(ran.code, 0, "{point}: {ran}");
        assert_eq!(daemon.wait_exit(PATIENCE), 137, "{point}");
        drop(daemon);
        let whole = [
            "refs/swarm/checkpoint-files/one",
            "refs/swarm/checkpoint-work/one/ed-001",
            "refs/swarm/checkpoint-work/one/ed-002",
            "refs/swarm/checkpoints/one",
            "refs/tags/swarm/checkpoint/one",
        ];
        let begun = references(&sandbox);
        assert!(
            begun == whole || !begun.iter().any(|name| name == whole[3]),
            "{point}: {begun:?}"
        );
        let daemon = sandbox.start();
        sandbox.wait_for("the checkpoint", || {
            (list(&sandbox).len() == 1).then_some(())
        });
        assert_eq!(references(&sandbox), whole, "{point}");
        let file = assert_as_promised(&sandbox, "one");
        assert_eq!(file["agentStates"].as_array().unwrap().len(), 2, "{point}");
        assert_eq!(sandbox.logged("checkpointMade").len(), 1, "{point}");
        assert_complete(&sandbox);
        daemon.stop();
    }
}

#[test]
fn killed_at_any_deletion_a_checkpoint_is_gone_after_the_next_start() {
    for point in [
        "effect.forget.begin",
        "checkpoint.tag-removed",
        "checkpoint.file-removed",
        "effect.forget.done",
    ] {
        let sandbox = Sandbox::ready();
        let daemon = sandbox.start();
        let create = ["checkpoint", "create", "one", "--tag"];
        sandbox.swarm(&create).ok();
        daemon.stop();
        drop(daemon);
        let daemon = doomed(&sandbox, point);
        let ran = sandbox.swarm(&["checkpoint", "delete", "one"]);
        assert_ne!(ran.code, 0, "{point}: {ran}");
        assert_eq!(daemon.wait_exit(PATIENCE), 137, "{point}");
        drop(daemon);
        let daemon = sandbox.start();
        sandbox.wait_for("the deletion", || list(&sandbox).is_empty().then_some(()));
        assert_eq!(references(&sandbox), [""; 0], "{point}");
        assert_complete(&sandbox);
        daemon.stop();
    }
}

/// A stopped swarm whose checkpoint `one` keeps the work of a running agent.
fn with_kept_work() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; hold it; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    sandbox.swarm(&["checkpoint", "create", "one"]).ok();
    daemon.stop();
    drop(daemon);
    sandbox
}

#[test]
fn a_deleted_reference_to_kept_work_is_told_at_once_and_put_back() {
    let sandbox = with_kept_work();
    let work = "refs/swarm/checkpoint-work/one/ed-001";
    let commit = sandbox.head(work);
    sandbox.git(&["update-ref", "-d", work]);
    for asked in [
        &["checkpoint", "list"][..],
        &["checkpoint", "show", "one"],
        &["doctor"],
    ] {
        let said = sandbox.swarm(asked);
        for words in [work, "swarm doctor --fix"] {
            assert!(said.stdout.contains(words), "{said}");
        }
    }
    let rollback = ["rollback", "one", "--yes"];
    sandbox
        .swarm(&rollback)
        .refused(1, &[work, "swarm doctor --fix"]);
    let fixed = sandbox.swarm(&["doctor", "--fix"]);
    assert!(fixed.stdout.contains(work), "{fixed}");
    assert_eq!(sandbox.head(work), commit);
    let list = sandbox.swarm(&["checkpoint", "list"]);
    assert!(!list.ok().contains(work), "{list}");
    sandbox.swarm(&rollback).ok();
}

/// What is left of the old one proves no loss of the new one's log, and its commits stay.
#[test]
fn a_new_swarm_begins_where_an_earlier_one_had_checkpoints() {
    let sandbox = with_kept_work();
    let work = sandbox.head("refs/swarm/checkpoint-work/one/ed-001");
    fs::remove_dir_all(sandbox.dot_swarm("")).unwrap();
    let init = ["init", "--yes", "--agent", "command", "--new"];
    sandbox.swarm(&init).ok();
    sandbox.swarm(&["status"]).ok();
    assert_eq!(
        sandbox.head("refs/swarm/rescue/checkpoint-one/ed-001"),
        work
    );
    assert!(!references(&sandbox).contains(&"refs/swarm/checkpoints/one".to_owned()));
}
