//! One path for an idea through all its attempts, and for the next idea after it.

use serde_json::json;

use crate::harness::Sandbox;

fn one_at_a_time(checks: &[&str]) -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.write(".gitignore", "build/\n");
    sandbox.git(&["add", ".gitignore"]);
    sandbox.git(&["commit", "-q", "-m", "Ignore what is built"]);
    sandbox.configure(&json!({"agents": {"maxParallel": 1}, "qualityCommands": checks}));
    sandbox
}

/// The idea of each attempt, with the name of the worktree that it was in.
fn places(sandbox: &Sandbox) -> Vec<String> {
    let name = |line: String| {
        let (idea, path) = line.split_once(' ').unwrap();
        format!("{idea} {}", path.rsplit('/').next().unwrap())
    };
    sandbox.notes("where").into_iter().map(name).collect()
}

/// The daemon stops in between.
#[test]
fn the_next_idea_builds_on_ignored_files_and_the_verification_worktree_never_has_them() {
    let check = "case $PWD in */verify) test ! -e build/poison && mkdir -p build && echo x \
        >>build/own;; esac";
    let sandbox = one_at_a_time(&[check]);
    sandbox.idea("note where $PWD; write build/poison 1; write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.idea("note where $PWD; test -e build/poison && write b.txt y && say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(places(&sandbox), ["idea-001 w01", "idea-002 w01"]);
    let own = std::fs::read_to_string(sandbox.worktrees().join("verify/build/own")).unwrap();
    assert!(own.lines().count() >= 2, "{own}");
    sandbox.assert_repository_clean();
    sandbox.swarm(&["clean"]).ok();
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn without_kept_ignored_files_the_next_idea_finds_none() {
    let sandbox = one_at_a_time(&[]);
    sandbox.configure(&json!({"worktree": {"keepIgnored": false}}));
    sandbox.idea("write build/old 1; write a.txt x; say COMPLETE");
    sandbox.idea("test ! -e build && write b.txt y && say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn an_idea_keeps_its_path_and_its_files_after_every_kind_of_end() {
    let sandbox = one_at_a_time(&[]);
    let id = sandbox.idea(
        "note where $PWD; write build/seen x; if attempt 1; then write left.txt y; say BLOCKED:no; \
        elif attempt 2; then exit 3; else test -e left.txt && say COMPLETE; fi",
    );
    assert_eq!(sandbox.run_until_idle(), 5);
    sandbox.idea("note where $PWD; write b.txt y; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 5);
    sandbox.swarm(&["idea", "retry", &id]).ok();
    assert_eq!(sandbox.run_until_idle(), 5);
    sandbox.swarm(&["idea", "retry", &id]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    let all = [
        "idea-001 w01",
        "idea-002 w02",
        "idea-001 w01",
        "idea-001 w01",
    ];
    assert_eq!(places(&sandbox), all);
    assert_eq!(sandbox.file_at("main", "left.txt"), "y");
}

#[test]
fn once_the_work_that_waited_for_review_has_landed_no_more_worktrees_stay_than_are_configured() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({
        "agents": {"maxParallel": 1},
        "worktree": {"keepIdle": 1},
        "merge": {"verify": false},
    }));
    let ideas: Vec<String> = (0..4)
        .map(|_| sandbox.idea_with("write $SWARM_IDEA_ID.txt x; say COMPLETE", &["--review"]))
        .collect();
    let daemon = sandbox.start();
    sandbox.wait_status("4 reviews", |status| {
        status["needsYou"]
            .as_array()
            .is_some_and(|it| it.len() == 4)
    });
    for idea in &ideas {
        sandbox.swarm(&["merge", "approve", idea]).ok();
        sandbox.wait_idea(idea, "done");
    }
    sandbox.wait_for("two idle worktrees", || {
        let list = sandbox.git(&["worktree", "list"]);
        (list.lines().count() == 1 + 2).then_some(())
    });
    daemon.stop();
}
