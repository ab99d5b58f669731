//! Repositories whose worktrees git cannot fill by itself: filters, and partial clones.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;

use crate::harness::{PATIENCE, Sandbox, required_tools};

/// A repository with a required filter that exchanges letters. Its program is a script of the test.
fn with_filter(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    put_program(&sandbox, script);
    let filter = program(&sandbox);
    let filter = filter.to_str().unwrap();
    for (key, value) in [("clean", filter), ("smudge", filter), ("required", "true")] {
        sandbox.git(&["config", &format!("filter.toy.{key}"), value]);
    }
    sandbox.write(".git/toy/key", "k");
    sandbox.write(".gitattributes", "*.toy filter=toy\n");
    sandbox.write("a.toy", "abc\n");
    sandbox.commit("Files that go through a filter");
    sandbox.set_up();
    sandbox
}

fn program(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("filter")
}

fn put_program(sandbox: &Sandbox, script: &str) {
    let path = program(sandbox);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

const ROT13: &str = "tr a-z n-za-m";
const WITH_KEY: &str = "[ -r \"$(git rev-parse --git-dir)/toy/key\" ] || \
    { echo no key >&2; exit 1; }\ntr a-z n-za-m";

#[test]
fn a_filter_that_fails_in_worktrees_blames_no_idea_and_the_named_folder_mends_it() {
    let sandbox = with_filter(WITH_KEY);
    let ids = ["one", "two", "three"].map(|name| {
        let doing = format!("grep -q abc a.toy || exit 1; write {name}.toy xyz; say COMPLETE");
        sandbox.idea(&doing)
    });
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    assert_eq!(daemon.wait_exit(PATIENCE), 6, "{}", daemon.output());
    for id in &ids {
        let idea = sandbox.show(id);
        assert_eq!(idea["status"], "pending", "{idea}");
        assert_eq!(idea["retryCount"], 0, "{idea}");
    }
    let need = sandbox.wait_needs_you("environment");
    let message = need["message"].as_str().unwrap();
    for part in ["no worktree can be made", "no key", "worktree.gitDirLinks"] {
        assert!(message.contains(part), "{message}");
    }
    // The command of the message, with the name of the folder.
    let set = ["config", "set", "worktree.gitDirLinks", "[\"toy\"]"];
    sandbox.swarm(&set).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    for id in &ids {
        assert_eq!(sandbox.idea_status(id), "done");
    }
    assert_eq!(sandbox.file_at("main", "one.toy").trim(), "klm");
    assert_eq!(sandbox.read("one.toy").trim(), "xyz");
    sandbox.assert_log_sound();
}

#[test]
fn work_goes_on_by_itself_when_a_filters_program_is_back() {
    let sandbox = with_filter(ROT13);
    put_program(&sandbox, "echo out of order >&2; exit 3");
    let id = sandbox.idea("write b.toy xyz; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_for("a worktree that cannot be made", || {
        (!sandbox.logged("worktreesHeld").is_empty()).then_some(())
    });
    put_program(&sandbox, ROT13);
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.show(&id)["retryCount"], 0);
    assert_eq!(sandbox.status()["needsYou"], json!([]));
    daemon.stop();
}

#[test]
fn the_doctor_names_a_filter_whose_program_is_missing() {
    let sandbox = with_filter(ROT13);
    let found = sandbox.swarm(&["doctor"]);
    assert!(found.stdout.contains("every filter"), "{found}");
    fs::remove_file(program(&sandbox)).unwrap();
    let found = sandbox.swarm(&["doctor"]);
    let path = program(&sandbox).display().to_string();
    let line = found.stdout.lines().find(|line| line.contains(&path));
    let line = line.unwrap_or_else(|| panic!("{found}"));
    assert!(line.contains("FAIL") && line.contains("toy"), "{found}");
}

#[test]
fn secrets_of_git_crypt_are_readable_for_agents_and_land_encrypted() {
    if required_tools::are_missing(&["git-crypt"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let init = sandbox.shell("git-crypt init");
    assert_eq!(init.code, 0, "{init}");
    sandbox.write(".gitattributes", "*.key filter=git-crypt diff=git-crypt\n");
    sandbox.write("a.key", "secret\n");
    sandbox.commit("A secret");
    sandbox.set_up();
    sandbox.configure(&json!({"qualityCommands": ["grep -q secret a.key"]}));
    // One committed by the agent, one left for swarm to commit.
    let id = sandbox.idea(
        "grep -q secret a.key || exit 1; write b.key one; commit; write c.key two; say COMPLETE",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    for (name, text) in [("b.key", "one"), ("c.key", "two")] {
        assert_eq!(sandbox.read(name).trim(), text);
        let show = sandbox.git_fed(&sandbox.repo(), &["show", &format!("main:{name}")], b"");
        assert!(show.stdout.starts_with("\0GITCRYPT"), "{name} is in clear");
    }
}

/// A sparse clone without blobs of a repository with these files.
fn partial_clone() -> Sandbox {
    let sandbox = Sandbox::empty();
    let up = sandbox.path("up");
    fs::create_dir(&up).unwrap();
    sandbox.git_in(&up, &["init", "-q", "-b", "main"]);
    sandbox.git_in(&up, &["config", "uploadpack.allowFilter", "true"]);
    sandbox.git_in(&up, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    for name in ["one", "two"] {
        fs::create_dir(up.join(name)).unwrap();
        fs::write(up.join(name).join("f"), format!("{name}\n")).unwrap();
    }
    fs::write(up.join("README.md"), "a project\n").unwrap();
    sandbox.git_in(&up, &["add", "-A"]);
    sandbox.git_in(&up, &["commit", "-q", "-m", "Begin"]);
    let from = format!("file://{}", up.display());
    let words = ["clone", "-q", "--filter=blob:none", "--sparse", &from, "."];
    sandbox.git(&words);
    sandbox.set_up();
    sandbox
}

#[test]
fn work_lands_in_a_partial_clone() {
    let sandbox = partial_clone();
    sandbox.configure(&json!({"qualityCommands": ["grep -q one one/f"]}));
    let id = sandbox.idea("grep -q two two/f || exit 1; write two/f new; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(sandbox.file_at("main", "two/f").trim(), "new");
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(doctor.stdout.contains("partial clone"), "{doctor}");
}

#[test]
fn a_partial_clone_without_its_remote_blames_no_idea_and_goes_on_with_it() {
    let sandbox = partial_clone();
    let (up, away) = (sandbox.path("up"), sandbox.path("away"));
    fs::rename(&up, &away).unwrap();
    let id = sandbox.idea("grep -q two two/f || exit 1; say COMPLETE");
    let daemon = sandbox.start();
    let need = sandbox.wait_needs_you("environment");
    let message = need["message"].as_str().unwrap();
    assert!(message.contains("promisor remote"), "{message}");
    assert_eq!(sandbox.idea_status(&id), "pending");
    fs::rename(&away, &up).unwrap();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}
