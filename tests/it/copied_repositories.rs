//! Repositories that were copied, or renamed with another now in their place: what is said in one
//! is done there and nowhere else.

use serde_json::Value;

use crate::harness::{PATIENCE, Sandbox};

/// A copy of the sandbox's repository under the name `name`. A daemon that runs in it may replace a
/// file while `cp` reads the folder; then `cp` fails, and the copy is made anew.
fn copied(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let copy = sandbox.path(name);
    let line = format!("cp -a '{}' '{}'", sandbox.repo().display(), copy.display());
    sandbox.wait_for("a copy during which no file was replaced", || {
        let ran = sandbox.shell(&line);
        if ran.code == 0 {
            return Some(copy.clone());
        }
        let replaced =
            |said: &str| said.contains(".tmp'") && said.ends_with(": No such file or directory");
        assert!(ran.stderr.lines().all(replaced), "{}", ran.stderr);
        std::fs::remove_dir_all(&copy).unwrap();
        None
    })
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

#[test]
fn a_copy_leaves_the_agents_of_the_original_alone_and_goes_on_from_what_they_had() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea(
        "write half.txt x; [ -e $OUT/both.go ] || hold both; write whole.txt x; say COMPLETE",
    );
    sandbox.wait_held("both");
    let copy = copied(&sandbox, "copy");
    let runs = sandbox.notes("runs");
    let mut command = sandbox.swarm_command(&["start", "--until-idle"]);
    let other = sandbox.spawn({
        command.current_dir(&copy);
        command
    });
    sandbox.wait_for("a run of the copy", || {
        (sandbox.notes("runs").len() > runs.len()).then_some(())
    });
    sandbox.release("both");
    assert_eq!(other.wait_exit(PATIENCE), 0);
    sandbox.wait_idea("idea-001", "done");
    assert_eq!(sandbox.notes("runs").len(), 2);
    for repo in [sandbox.repo(), copy] {
        let landed = sandbox.git_in(&repo, &["ls-tree", "--name-only", "main"]);
        assert!(
            landed.contains("half.txt") && landed.contains("whole.txt"),
            "{landed}"
        );
    }
    daemon.stop();
}

/// What an agent had not committed is where it was, under the repository's new name, and its next
/// attempt goes on from there.
fn renamed_at_work(stopped: bool) {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea(
        "[ -e half.txt ] && { write whole.txt x; say COMPLETE; } || { write half.txt x; \
        hold busy; }",
    );
    sandbox.wait_held("busy");
    if stopped {
        daemon.stop();
    } else {
        daemon.kill_everything();
    }
    let renamed = sandbox.path("renamed");
    std::fs::rename(sandbox.repo(), &renamed).unwrap();
    sandbox.swarm_in(&renamed, &["start", "--until-idle"]).ok();
    let landed = sandbox.git_in(&renamed, &["ls-tree", "--name-only", "main"]);
    assert!(
        landed.contains("half.txt") && landed.contains("whole.txt"),
        "{landed}"
    );
    assert_eq!(sandbox.notes("runs").len(), 2);
}

#[test]
fn a_repository_renamed_after_a_crash_keeps_what_agents_had_not_committed() {
    renamed_at_work(false);
}

#[test]
fn a_repository_renamed_after_a_stop_keeps_what_agents_had_not_committed() {
    renamed_at_work(true);
}

/// An attempt that waits at its boundary has its worktree already: nothing prepares it once more.
#[test]
fn an_attempt_that_goes_on_in_a_copy_commits_there_and_not_in_the_original() {
    let sandbox = Sandbox::ready();
    sandbox.idea(
        "if iteration 1; then write a.txt x; commit; say NEEDS_HUMAN:which; else write \
        b.txt x; commit; say COMPLETE; fi",
    );
    let daemon = sandbox.start();
    sandbox.wait_needs_you("question");
    daemon.stop();
    drop(daemon);
    let copy = copied(&sandbox, "copy");
    let refs = sandbox.git(&["for-each-ref"]);
    let mut command = sandbox.swarm_command(&["start"]);
    let other = sandbox.spawn({
        command.current_dir(&copy);
        command
    });
    sandbox.wait_for("the answer to be taken", || {
        let said = sandbox.swarm_in(&copy, &["agent", "say", "ed-001", "that one"]);
        (said.code == 0).then_some(())
    });
    sandbox.wait_for("the landing", || {
        let landed = sandbox.git_in(&copy, &["ls-tree", "--name-only", "main"]);
        (landed.contains("a.txt") && landed.contains("b.txt")).then_some(())
    });
    assert_eq!(sandbox.git(&["for-each-ref"]), refs);
    let subjects = sandbox.git_in(&copy, &["log", "--format=%s", "main"]);
    assert_eq!(subjects.lines().filter(|line| *line == "Work").count(), 2);
    sandbox.swarm_in(&copy, &["stop"]).ok();
    assert_eq!(other.wait_exit(PATIENCE), 0);
}

/// Killed when a run was written down and had not begun: its paths are those of the original.
#[test]
fn a_run_that_had_not_begun_begins_where_the_repository_is_now() {
    for way in ["cp -a", "mv"] {
        let sandbox = Sandbox::ready();
        sandbox.idea("write a.txt x; say COMPLETE");
        let mut command = sandbox.swarm_command(&["start"]);
        command.env(swarm::crash::VARIABLE, "run.prepared#1");
        assert_eq!(sandbox.spawn(command).wait_exit(PATIENCE), 137);
        let (repo, other) = (sandbox.repo(), sandbox.path("other"));
        let refs = |repo: &std::path::Path| sandbox.git_in(repo, &["for-each-ref"]);
        let before = refs(&repo);
        let line = format!("{way} '{}' '{}'", repo.display(), other.display());
        sandbox.shell(&line).ok();
        sandbox.swarm_in(&other, &["start", "--until-idle"]).ok();
        let landed = sandbox.git_in(&other, &["ls-tree", "--name-only", "main"]);
        assert!(landed.contains("a.txt"), "{way}: {landed}");
        if way == "cp -a" {
            assert_eq!(refs(&repo), before);
            assert_eq!(sandbox.run_until_idle(), 0);
            let landed = sandbox.git(&["ls-tree", "--name-only", "main"]);
            assert!(landed.contains("a.txt"), "{landed}");
        }
    }
}
