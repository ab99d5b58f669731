//! The worktrees lie outside the checkout, in a folder that is chosen once.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::harness::{PATIENCE, Sandbox};

fn folder_of(repo: &Path) -> PathBuf {
    let path = fs::read_to_string(repo.join(".git/swarm/worktrees")).unwrap();
    PathBuf::from(path.trim_end())
}

#[test]
fn an_agent_does_not_find_what_lies_in_the_checkout_and_the_checkout_holds_no_worktree() {
    let sandbox = Sandbox::ready();
    fs::create_dir_all(sandbox.repo().join("node_modules/left-pad")).unwrap();
    let daemon = sandbox.start();
    sandbox.idea(
        "p=$PWD; while [ \"$p\" != / ]; do p=$(dirname \"$p\"); [ -e \"$p/node_modules\" ] && \
        note found $p; done; note place $PWD; hold look; write a.txt x; say COMPLETE",
    );
    sandbox.wait_held("look");
    assert_eq!(sandbox.notes("found"), Vec::<String>::new());
    let worktree = sandbox.worktrees().join("w01");
    assert_eq!(worktree, sandbox.path_of("ed-001"));
    assert_eq!(worktree, sandbox.path_of("idea-001"));
    let state = fs::canonicalize(sandbox.path("home/.local/state/swarm")).unwrap();
    assert_eq!(sandbox.worktrees().parent(), Some(state.as_path()));
    let found = sandbox.shell("find . -name .git");
    assert_eq!(found.ok(), "./.git\n");
    sandbox.release("look");
    sandbox.wait_idea("idea-001", "done");
    sandbox
        .swarm(&["path", "idea-001"])
        .refused(1, &["idea-001 has no worktree now"]);
    daemon.stop();
}

#[test]
fn the_folder_is_chosen_once_whatever_the_environment_says_later() {
    let sandbox = Sandbox::ready();
    let folder = sandbox.worktrees();
    sandbox.idea("note where $PWD; write a.txt x; say COMPLETE");
    let mut command = sandbox.swarm_command(&["start", "--until-idle"]);
    command.env("XDG_STATE_HOME", sandbox.path("elsewhere"));
    assert_eq!(sandbox.spawn(command).wait_exit(PATIENCE), 0);
    assert_eq!(sandbox.worktrees(), folder);
    let place = folder.join("w01");
    assert_eq!(
        sandbox.notes("where"),
        [format!("idea-001 {}", place.display())]
    );
    assert!(!sandbox.path("elsewhere").exists());
}

#[test]
fn without_a_home_init_refuses_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.swarm_command(&["init", "--yes", "--agent", "command"]);
    command.env_remove("HOME");
    let ran = sandbox.run(&mut command, b"", PATIENCE);
    ran.refused(
        1,
        &["HOME", "XDG_STATE_HOME=DIR swarm init", "worktree.root"],
    );
    assert!(!sandbox.dot_swarm("").exists());
    assert!(!sandbox.repo().join(".git/swarm/worktrees").exists());
}

#[test]
fn worktree_root_says_where_the_folder_is_made() {
    let sandbox = Sandbox::ready();
    let root = json!({"worktree": {"root": "../trees"}}).to_string();
    fs::write(sandbox.dot_swarm("config.local.json"), root).unwrap();
    sandbox.idea("note where $PWD; write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let parent = fs::canonicalize(sandbox.path("trees")).unwrap();
    assert_eq!(sandbox.worktrees().parent(), Some(parent.as_path()));
    assert!(sandbox.notes("where")[0].contains("/trees/repo-"));
}

#[test]
fn a_copy_has_a_folder_of_its_own_and_both_swarms_work() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let copy = sandbox.path("copy");
    let line = format!("cp -a '{}' '{}'", sandbox.repo().display(), copy.display());
    sandbox.shell(&line).ok();
    let own = sandbox.worktrees();
    // Without a daemon, nothing of the copy touches what is the original's.
    let cleaned = sandbox.swarm_in(&copy, &["clean", "--json"]).json();
    assert_eq!(cleaned["removed"], json!([]), "{cleaned}");
    assert!(own.join(".pool-w01").exists());
    sandbox
        .swarm_in(
            &copy,
            &["idea", "add", "x\n\nDO: write b.txt y; say COMPLETE"],
        )
        .ok();
    let ran = sandbox.swarm_in(&copy, &["start", "--until-idle"]);
    ran.ok();
    let its = folder_of(&copy);
    assert_ne!(its, own);
    let status = sandbox.swarm_in(&copy, &["status", "--json"]).json();
    let warnings = status["warnings"].to_string();
    assert!(warnings.contains("is a copy of"), "{warnings}");
    sandbox.idea("write c.txt z; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.worktrees(), own);
    assert_eq!(sandbox.warnings(), Vec::<serde_json::Value>::new());
    for (repo, file) in [(&copy, "b.txt"), (&sandbox.repo(), "c.txt")] {
        let landed = sandbox.git_in(repo, &["ls-tree", "--name-only", "main"]);
        assert!(landed.contains(file), "{landed}");
        sandbox.git_in(repo, &["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn after_a_folder_was_removed_its_idea_goes_on_from_its_last_commit_in_another() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea(
        "[ -e half.txt ] && { write whole.txt x; say COMPLETE; } || { write half.txt x; commit; \
        hold busy; }",
    );
    sandbox.wait_held("busy");
    daemon.kill_everything();
    let folder = sandbox.worktrees();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_ne!(sandbox.worktrees(), folder);
    for file in ["half.txt", "whole.txt"] {
        assert_eq!(sandbox.file_at("main", file), "x");
    }
    let said = sandbox.warnings().iter().any(|warning| {
        let text = warning.to_string();
        text.contains("was gone") && text.contains(folder.to_str().unwrap())
    });
    assert!(said, "{:?}", sandbox.warnings());
    sandbox.assert_repository_clean();
}

#[test]
fn a_worktree_that_is_removed_beside_its_agent_costs_nothing_that_was_committed() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea("write a.txt x; commit; hold busy; say COMPLETE");
    sandbox.wait_held("busy");
    let worktree = sandbox.path_of("idea-001");
    sandbox.git(&["worktree", "remove", "--force", worktree.to_str().unwrap()]);
    sandbox.release("busy");
    sandbox.wait_idea("idea-001", "done");
    assert_eq!(sandbox.file_at("main", "a.txt"), "x");
    assert_eq!(sandbox.logged("iterationStarted").len(), 1, "paid once");
    daemon.stop();
}

#[test]
fn a_worktree_that_git_forgets_beside_its_agent_keeps_its_files() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea("write a.txt x; commit; write half.txt y; hold busy; say COMPLETE");
    sandbox.wait_held("busy");
    let (folder, aside) = (sandbox.worktrees(), sandbox.path("aside"));
    fs::rename(&folder, &aside).unwrap();
    sandbox.git(&["worktree", "prune"]);
    fs::rename(&aside, &folder).unwrap();
    sandbox.release("busy");
    sandbox.wait_idea("idea-001", "done");
    assert_eq!(sandbox.file_at("main", "half.txt"), "y");
    daemon.stop();
}

#[test]
fn a_start_that_is_killed_while_it_registers_a_worktree_again_loses_none_of_its_files() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let doing = "iteration 1 && write half.txt y && hold busy; say COMPLETE";
    sandbox.idea(doing);
    sandbox.wait_held("busy");
    daemon.kill_everything();
    let (folder, aside) = (sandbox.worktrees(), sandbox.path("aside"));
    fs::rename(&folder, &aside).unwrap();
    sandbox.git(&["worktree", "prune"]);
    fs::rename(&aside, &folder).unwrap();
    let mut command = sandbox.swarm_command(&["start"]);
    command.env(swarm::crash::VARIABLE, "git.rename.between#1");
    assert_eq!(sandbox.spawn(command).wait_exit(PATIENCE), 137);
    let mut left = fs::read_dir(&folder).unwrap().flatten();
    let is_trash = |name: std::ffi::OsString| name.to_string_lossy().starts_with(".trash-");
    assert!(left.any(|entry| is_trash(entry.file_name())));
    sandbox.release("busy");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.file_at("main", "half.txt"), "y");
    sandbox.assert_repository_clean();
}

/// Python would check a change with the bytecode of the one before, made within the same second.
#[test]
fn python_writes_no_bytecode_where_merges_are_verified() {
    let sandbox = Sandbox::ready();
    let check = "case $PWD in */verify) test \"$PYTHONDONTWRITEBYTECODE\" = 1;; esac";
    sandbox.configure(&json!({"qualityCommands": [check]}));
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status("idea-001"), "done");
}

/// Between any two steps of the choice.
#[test]
fn a_start_that_was_killed_while_it_chose_the_folder_goes_on() {
    for point in [
        "git.worktrees.written",
        "git.worktrees.made",
        "git.worktrees.owned",
    ] {
        let sandbox = Sandbox::ready();
        fs::remove_file(sandbox.repo().join(".git/swarm/worktrees")).unwrap();
        sandbox.idea("write a.txt x; say COMPLETE");
        let mut command = sandbox.swarm_command(&["start"]);
        command.env(swarm::crash::VARIABLE, format!("{point}#1"));
        assert_eq!(sandbox.spawn(command).wait_exit(PATIENCE), 137);
        let folder = sandbox.worktrees();
        assert_eq!(sandbox.run_until_idle(), 0, "{point}");
        // What was not finished is left empty, or not there at all.
        let is_whole = point == "git.worktrees.owned";
        assert_eq!(sandbox.worktrees() == folder, is_whole, "{point}");
        assert_eq!(folder.exists(), is_whole, "{point}");
    }
}
