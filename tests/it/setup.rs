//! The setup of worktrees, and the local files that are copied into them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Sandbox};

/// Installs what the lock file names, and notes that it did.
const INSTALL: &str = "echo \"${SWARM_AGENT-merge} $SWARM_WORKTREE\" >>\"$NOTES/installed\"; \
    mkdir -p deps; cp lock.txt deps/";
/// Passes only where the present lock file is installed.
const CHECK: &str = "cmp lock.txt deps/lock.txt";

fn notes(sandbox: &Sandbox, command: &str) -> String {
    let out = sandbox.path("out");
    command.replace("$NOTES", &out.display().to_string())
}

/// A project whose dependencies an install script fetches.
fn project(changes: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("lock.txt", "one\n");
    sandbox.write(".gitignore", "/deps/\n/.env\n");
    sandbox.commit("A lock file");
    sandbox.set_up();
    configure(&sandbox, INSTALL, changes);
    sandbox
}

fn configure(sandbox: &Sandbox, install: &str, changes: &Value) {
    let mut config = json!({
        "worktree": {"setup": [notes(sandbox, install)], "setupInputs": ["lock.txt"]},
        "qualityCommands": [CHECK],
        "checks": {"baseline": "require"},
    });
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    sandbox.configure(&config);
}

fn iterations(sandbox: &Sandbox) -> usize {
    sandbox.logged("iterationStarted").len()
}

/// The worktree of the only agent.
fn worktree(sandbox: &Sandbox) -> PathBuf {
    let status = sandbox.status();
    sandbox
        .repo()
        .join(status["agents"][0]["worktree"].as_str().unwrap())
}

#[test]
fn worktrees_and_the_merged_tree_are_set_up_before_they_are_used() {
    let sandbox = project(&json!({}));
    let id = sandbox.idea("cmp lock.txt deps/lock.txt || exit 1; write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(iterations(&sandbox), 1);
    let installed = sandbox.notes("installed");
    assert!(
        installed.iter().any(|line| line.starts_with("ed-001 ")),
        "{installed:?}"
    );
    assert!(
        installed.iter().any(|line| line.starts_with("merge ")),
        "{installed:?}"
    );
    // Its output is a run like any other.
    let run = sandbox.logged("setupStarted")[0].data["run"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(sandbox.private("runs").join(run).join("exit.json").exists());
    sandbox.assert_log_sound();
}

#[test]
fn a_dependency_that_an_agent_adds_is_installed_before_its_checks() {
    let sandbox = project(&json!({}));
    let id = sandbox.idea("write lock.txt two; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(iterations(&sandbox), 1, "its check did not fail first");
    assert_eq!(sandbox.file_at("main", "lock.txt").trim(), "two");
    let of_agent = |line: &&String| line.starts_with("ed-001 ");
    let installed = sandbox.notes("installed");
    assert_eq!(
        installed.iter().filter(of_agent).count(),
        2,
        "{installed:?}"
    );
}

#[test]
fn a_dependency_that_cannot_be_installed_goes_back_to_its_agent() {
    let sandbox = project(&json!({}));
    let install = "grep -q broken lock.txt && { echo no such package >&2; exit 4; }; ";
    configure(&sandbox, &format!("{install}{INSTALL}"), &json!({}));
    let id = sandbox.idea(
        "if iteration 1; then write lock.txt broken; else grep -q 'no such package' \
        \"$SWARM_PROMPT_FILE\" || exit 9; write lock.txt two; fi; say COMPLETE",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(iterations(&sandbox), 2);
}

#[test]
fn a_setup_that_fails_costs_no_iteration() {
    let sandbox = project(&json!({}));
    configure(&sandbox, "echo no registry >&2; exit 3", &json!({}));
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    assert_eq!(daemon.wait_exit(PATIENCE), 6);
    let said = daemon.output();
    let words = "the setup command `echo no registry >&2; exit 3` fails on main";
    assert!(
        said.contains(words) && said.contains("no registry"),
        "{said}"
    );
    drop(daemon);
    // Where only the agent's worktree cannot be set up, the swarm pauses.
    configure(
        &sandbox,
        "case $PWD in */worktrees/.merge|*/verify) ;; *) no-such-program;; esac",
        &json!({
            "qualityCommands": ["true"],
        }),
    );
    let daemon = sandbox.start();
    let need = sandbox.wait_needs_you("paused");
    let why = need["message"].as_str().unwrap();
    assert!(
        why.contains("exit code 127") && why.contains("worktree.setup"),
        "{why}"
    );
    assert_eq!(iterations(&sandbox), 0);
    let loaded = sandbox.logged("settingsLoaded").len();
    configure(&sandbox, INSTALL, &json!({}));
    sandbox.wait_for("the new configuration", || {
        (sandbox.logged("settingsLoaded").len() > loaded).then_some(())
    });
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    assert_eq!(iterations(&sandbox), 1);
}

#[test]
fn a_killed_daemon_and_a_killed_runner_leave_a_setup_that_is_finished() {
    let sandbox = project(&json!({"checks": {"baseline": "off"}}));
    let wait = ": >\"$NOTES/here\"; until [ -e \"$NOTES/go\" ]; do sleep 0.05; done; ";
    configure(
        &sandbox,
        &format!("{wait}{INSTALL}"),
        &json!({"checks": {"baseline": "off"}}),
    );
    let id = sandbox.idea("cmp lock.txt deps/lock.txt || exit 1; write a.txt x; say COMPLETE");
    let here = sandbox.path("out").join("here");
    let begun = |sandbox: &Sandbox| {
        sandbox.wait_for("the setup", || here.exists().then_some(()));
        fs::remove_file(&here).unwrap();
    };
    // The daemon alone: the same run goes on.
    let daemon = sandbox.start();
    begun(&sandbox);
    daemon.kill();
    drop(daemon);
    let daemon = sandbox.start();
    assert_eq!(sandbox.logged("setupStarted").len(), 1);
    // The runner, too: it runs again.
    daemon.kill_everything();
    drop(daemon);
    let daemon = sandbox.start();
    begun(&sandbox);
    fs::write(sandbox.path("out").join("go"), "").unwrap();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    assert_eq!(iterations(&sandbox), 1);
    sandbox.assert_log_sound();
}

#[test]
fn a_stop_during_a_setup_ends_it() {
    let sandbox = project(&json!({"checks": {"baseline": "off"}}));
    configure(
        &sandbox,
        ": >\"$NOTES/here\"; sleep 600",
        &json!({"checks": {"baseline": "off"}}),
    );
    sandbox.idea("say COMPLETE");
    let daemon = sandbox.start();
    let here = sandbox.path("out").join("here");
    sandbox.wait_for("the setup", || here.exists().then_some(()));
    let agent = sandbox.status()["agents"][0].clone();
    assert_eq!(agent["phase"], "preparing", "{agent}");
    let logs = sandbox.swarm(&["agent", "logs", "ed-001"]);
    assert_eq!(logs.code, 0, "{}", logs.stderr);
    sandbox.swarm(&["agent", "stop", "ed-001"]).ok();
    sandbox.wait_status("the end of the agent", |status| {
        status["agents"]
            .as_array()
            .unwrap()
            .iter()
            .all(|it| it["id"] != "ed-001")
    });
    daemon.stop();
    sandbox.assert_nothing_runs();
}

#[test]
fn local_files_are_copied_with_their_mode_and_never_committed() {
    let sandbox = project(&json!({}));
    sandbox.write(".env", "TOKEN=sesame\n");
    let env = sandbox.repo().join(".env");
    fs::set_permissions(&env, fs::Permissions::from_mode(0o600)).unwrap();
    configure(
        &sandbox,
        INSTALL,
        &json!({
            "worktree": {"copy": [".env"]}, "qualityCommands": ["true"],
        }),
    );
    // The agent stops ignoring it, and leaves all of its work to swarm.
    let id = sandbox.idea(
        "grep -q TOKEN .env || exit 1; [ \"$(stat -c %a .env)\" = 600 ] || exit 2; write \
        .gitignore /deps/; write a.txt x; hold it; say COMPLETE",
    );
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    let copy = worktree(&sandbox).join(".env");
    assert_eq!(fs::read_to_string(copy).unwrap(), "TOKEN=sesame\n");
    sandbox.release("it");
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    let all = sandbox.git(&["log", "--all", "--name-only", "--format="]);
    assert!(
        all.contains("a.txt") && !all.lines().any(|line| line == ".env"),
        "{all}"
    );
    for file in ["state/events.jsonl", "logs/daemon.jsonl"] {
        let text = fs::read_to_string(sandbox.dot_swarm(file)).unwrap_or_default();
        assert!(!text.contains("sesame"), "{file} has the secret");
    }
}

/// What becomes of a project with such a file to copy.
fn refused(path: &str, prepare: impl Fn(&Path), words: &str) {
    let sandbox = project(&json!({}));
    sandbox.write(".gitignore", "/deps/\n.env\nlink\nfolder/\n");
    sandbox.commit("Ignore more");
    prepare(&sandbox.repo());
    sandbox.configure(&json!({"worktree": {"copy": [path]}}));
    sandbox.idea("say COMPLETE");
    let daemon = sandbox.start();
    let need = sandbox.wait_needs_you("paused");
    let why = need["message"].as_str().unwrap();
    assert!(why.contains(words) && why.contains(path), "{why}");
    daemon.stop();
    assert_eq!(iterations(&sandbox), 0);
}

#[test]
fn what_must_not_be_copied_is_refused() {
    refused("lock.txt", |_| {}, "git tracks it");
    refused(
        "new.txt",
        |repo| fs::write(repo.join("new.txt"), "x").unwrap(),
        ".gitignore",
    );
    refused(
        ".env",
        |repo| symlink("/etc/hostname", repo.join(".env")).unwrap(),
        "symbolic link",
    );
    refused(
        "folder",
        |repo| fs::create_dir(repo.join("folder")).unwrap(),
        "a directory",
    );
    refused(
        "link/secret",
        |repo| symlink("/etc", repo.join("link")).unwrap(),
        "symbolic link",
    );
}

#[test]
fn a_missing_file_is_a_standing_warning() {
    let sandbox = project(&json!({}));
    sandbox.configure(&json!({"worktree": {"copy": [".env"]}}));
    let first = sandbox.idea("write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_idea(&first, "done");
    let warned = |status: &Value| {
        status["warnings"]
            .to_string()
            .contains("`.env` of worktree.copy")
    };
    assert!(warned(&sandbox.status()), "{}", sandbox.status());
    sandbox.write(".env", "now\n");
    let second = sandbox.idea("grep -q now .env || exit 1; write b.txt x; say COMPLETE");
    sandbox.wait_idea(&second, "done");
    assert!(!warned(&sandbox.status()));
    daemon.stop();
}

#[test]
fn what_an_ended_idea_left_in_the_place_of_a_copy_is_replaced() {
    let sandbox = project(&json!({}));
    sandbox.write(".gitignore", "/deps/\n/.env\n/secret\n");
    sandbox.commit("Ignore more");
    sandbox.write(".env", "TOKEN=one\n");
    sandbox.write("secret/key", "two\n");
    sandbox.configure(&json!({"worktree": {"copy": [".env", "secret/key"]}}));
    let first =
        sandbox.idea("rm -r .env secret; mkdir .env; write secret x; write a.txt x; say COMPLETE");
    let second = sandbox.idea_with(
        "grep -q one .env || exit 1; grep -q two secret/key || exit 2; write b.txt x; say COMPLETE",
        &["--after", &first],
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&second), "done");
    assert_eq!(iterations(&sandbox), 2);
}

/// Git itself fails on such a path.
#[test]
fn a_copy_behind_a_link_of_the_branch_is_left_out() {
    let sandbox = project(&json!({}));
    sandbox.write(".gitignore", "/deps/\nkey\n");
    sandbox.write("elsewhere/file", "x\n");
    sandbox.commit("Ignore more");
    sandbox.write("secret/key", "two\n");
    sandbox.configure(&json!({
        "worktree": {"copy": ["secret/key"]}, "qualityCommands": ["true"],
    }));
    let id = sandbox.idea("rm -r secret; ln -s elsewhere secret; commit; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_status("the warning", |status| {
        let warnings = status["warnings"].to_string();
        warnings.contains("`secret/key`") && warnings.contains("is not a folder")
    });
    // Only the person's own file is still in the way of the link.
    fs::remove_dir_all(sandbox.repo().join("secret")).unwrap();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

#[test]
fn paths_that_leave_the_repository_are_refused_by_the_configuration() {
    let sandbox = project(&json!({}));
    for path in [
        "/etc/passwd",
        "../x",
        "a/../../x",
        ".git/config",
        ".swarm/state/token",
        "a//b",
    ] {
        sandbox.configure(&json!({"worktree": {"copy": [path]}}));
        let checked = sandbox.swarm(&["config", "check"]);
        checked.refused(1, &["worktree.copy[0]", "inside the repository", path]);
    }
    sandbox.configure(&json!({"worktree": {"setpu": []}}));
    let checked = sandbox.swarm(&["config", "check"]);
    checked.refused(1, &["did you mean `setup`?"]);
}

#[test]
fn init_lets_a_workspace_be_built_before_its_tests_where_git_ignores_what_is_built() {
    let sandbox = Sandbox::new();
    let root = r#"{"workspaces":["p/*"],"scripts":{"build":"tsc","test":"node --test"}}"#;
    sandbox.write("package.json", root);
    sandbox.write("p/a/package.json", r#"{"main":"./dist/index.js"}"#);
    let checks = || {
        sandbox.swarm(&["init", "--yes", "--agent", "demo"]).ok();
        let config: Value = serde_json::from_str(&sandbox.read(".swarm/config.json")).unwrap();
        fs::remove_dir_all(sandbox.dot_swarm("")).unwrap();
        config["qualityCommands"].clone()
    };
    assert_eq!(checks(), json!(["npm test"]));
    sandbox.write(".gitignore", "dist/\n");
    assert_eq!(checks(), json!(["npm run build", "npm test"]));
}

#[test]
fn a_lock_file_that_git_ignores_is_copied_for_the_setup() {
    let sandbox = Sandbox::new();
    sandbox.write("package.json", r#"{"scripts":{"test":"node --test"}}"#);
    sandbox.write(".gitignore", "package-lock.json\n");
    sandbox.commit("A project");
    sandbox.write("package-lock.json", "{}");
    sandbox.swarm(&["init", "--yes", "--agent", "demo"]).ok();
    let config: Value = serde_json::from_str(&sandbox.read(".swarm/config.json")).unwrap();
    assert_eq!(config["worktree"]["copy"], json!(["package-lock.json"]));
}

#[test]
fn init_proposes_the_setup_and_the_local_files() {
    let sandbox = Sandbox::new();
    sandbox.write("package.json", r#"{"scripts":{"test":"node --test"}}"#);
    sandbox.write("package-lock.json", "{}");
    sandbox.write(".gitignore", ".env\n");
    sandbox.commit("A project");
    sandbox.write(".env", "TOKEN=sesame\n");
    let ran = sandbox.swarm(&["init", "--yes", "--agent", "demo"]);
    ran.ok();
    for words in [
        "set up by       npm ci  (from package-lock.json)",
        "copied          .env  (in your checkout, ignored by git)",
        "`npm ci` fills node_modules, which git does not ignore",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    let config: Value = serde_json::from_str(&sandbox.read(".swarm/config.json")).unwrap();
    assert_eq!(
        config["worktree"],
        json!({"setup": ["npm ci"], "setupInputs": ["package-lock.json", "package.json"],
            "copy": [".env"]})
    );
}

#[test]
fn after_a_failed_setup_the_idea_begins_again_from_the_mended_target() {
    let changes = json!({"checks": {"baseline": "off"}});
    let sandbox = project(&changes);
    let install = format!("grep -q broken lock.txt && exit 127; {INSTALL}");
    configure(&sandbox, &install, &changes);
    sandbox.write("lock.txt", "broken\n");
    sandbox.commit("Break the lock file");
    let id = sandbox.idea("cmp lock.txt deps/lock.txt || exit 1; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_needs_you("paused");
    sandbox.write("lock.txt", "two\n");
    sandbox.commit("Mend the lock file");
    sandbox.swarm(&["resume"]).ok();
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!((iterations(&sandbox), &idea["retryCount"]), (1, &json!(0)));
    let ended = sandbox.swarm(&["agent", "show", "ed-001"]);
    assert!(ended.stdout.contains("its setup failed"), "{ended}");
    let log = sandbox.swarm(&["log"]);
    assert!(
        log.stdout
            .contains("could not start; its idea is now pending: "),
        "{log}"
    );
    daemon.stop();
    sandbox.assert_repository_clean();
}

/// Fills the disk of the runs at its first use by an agent, and leaves half a file behind. Later it
/// keeps what is there, as many installers do.
const FILLS_THE_DISK: &str = "mkdir -p deps; if [ -n \"$SWARM_AGENT\" ] && ! [ -e \
    '$NOTES/filled' ]; then : >'$NOTES/filled'; echo half >deps/lock.txt; head -c 100m /dev/zero \
    >\"$SWARM_REPO/.git/swarm/runs/filler\"; exit 1; fi; [ -e deps/lock.txt ] || cp lock.txt deps/";

#[test]
fn what_a_setup_left_on_a_full_disk_is_gone_before_it_runs_again() {
    if crate::harness::required_tools::mounts_are_forbidden() {
        return;
    }
    let sandbox = project(&json!({}));
    configure(&sandbox, FILLS_THE_DISK, &json!({}));
    let runs = sandbox.private("runs");
    fs::create_dir_all(&runs).unwrap();
    let daemon = sandbox.start_on_disk(&runs, "16m");
    daemon.wait_ready();
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.wait_for("a full disk", || {
        (!sandbox.logged("roomAwaited").is_empty()).then_some(())
    });
    let mut free = daemon.beside("rm");
    sandbox
        .run(free.arg(runs.join("filler")), b"", PATIENCE)
        .ok();
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.logged("gateDoubted").len(), 0);
    assert_eq!(sandbox.logged("gateFailed").len(), 0);
    daemon.stop();
}
