//! Agents that misuse git: what is theirs is kept, what is the person's is untouched, the others go
//! on, and it always comes to an end.

use std::fs;

use serde_json::json;

use crate::harness::Sandbox;

/// Runs one idea that misuses git beside one that does not; the status that the first one came to.
fn beside_a_good_one(doing: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({
        "completion": {"maxIterations": 4},
        "qualityCommands": ["test -e README.md"],
    }));
    let bad = sandbox.idea(doing);
    let good = sandbox.idea("write good.txt x; commit; say COMPLETE");
    let code = sandbox.run_until_idle();
    assert_eq!(sandbox.idea_status(&good), "done");
    let status = sandbox.idea_status(&bad);
    assert_eq!(
        code,
        if status == "done" { 0 } else { 5 },
        "{}",
        sandbox.show(&bad)
    );
    if status != "done" {
        let why = sandbox.show(&bad)["lastError"].clone();
        assert!(
            !why.as_str().unwrap_or_default().is_empty(),
            "no reason is given"
        );
    }
    assert_eq!(sandbox.file_at("main", "good.txt"), "x");
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(
        sandbox.git(&["status", "--porcelain", "--", ".", ":!.swarm"]),
        ""
    );
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
    (sandbox, status)
}

#[test]
fn commits_on_a_detached_head_are_brought_back() {
    let (sandbox, status) =
        beside_a_good_one("git checkout -q --detach; write a.txt x; commit; say COMPLETE");
    assert_eq!(status, "done");
    assert_eq!(sandbox.file_at("main", "a.txt"), "x");
}

#[test]
fn a_branch_of_its_own_is_not_merged_in_place_of_the_claimed_one() {
    let (sandbox, status) =
        beside_a_good_one("git checkout -q -b mine; write a.txt x; commit; say COMPLETE");
    // Either it is told to bring its work back and fails at that, or its work is brought back; it
    // is never lost.
    let kept = sandbox.git(&["log", "--all", "--format=%H", "--", "a.txt"]);
    assert!(!kept.is_empty(), "the work is lost ({status})");
}

#[test]
fn a_deleted_branch_is_no_end_of_the_world() {
    beside_a_good_one(
        "write a.txt x; commit; git checkout -q --detach; git branch -q -D \"$SWARM_BRANCH\"; say \
        COMPLETE",
    );
}

#[test]
fn a_deleted_worktree_is_no_end_of_the_world() {
    beside_a_good_one("write a.txt x; commit; rm -rf \"$SWARM_WORKTREE\"; say COMPLETE");
}

#[test]
fn a_spoilt_index_is_no_end_of_the_world() {
    let (sandbox, status) = beside_a_good_one(
        "write a.txt x; echo nonsense >\"$(git rev-parse --git-dir)/index\"; say COMPLETE",
    );
    if status != "done" {
        sandbox.swarm(&["idea", "cancel", "idea-001"]).ok();
        assert_eq!(sandbox.run_until_idle(), 0);
    }
    sandbox.assert_sound();
}

#[test]
fn a_lock_that_was_left_behind_is_no_end_of_the_world() {
    let (sandbox, status) = beside_a_good_one(
        "write a.txt x; : >\"$(git rev-parse --git-dir)/index.lock\"; say COMPLETE",
    );
    assert_eq!(status, "done");
    assert_eq!(sandbox.file_at("main", "a.txt"), "x");
}

#[test]
fn a_merge_left_half_way_does_not_land() {
    let doing = "write README.md mine; commit; git checkout -q -b other HEAD~1; write README.md \
        other; commit; git checkout -q \"$SWARM_BRANCH\"; git merge -q other; say COMPLETE";
    let (sandbox, status) = beside_a_good_one(doing);
    assert_ne!(status, "done");
    assert!(!sandbox.file_at("main", "README.md").contains("<<<<"));
}

#[test]
fn a_nested_repository_does_not_land_as_a_broken_link() {
    let (sandbox, _) = beside_a_good_one(
        "git init -q nested; write nested/inner.txt x; git -C nested add -A; git -C nested commit \
        -q -m Inner; write a.txt x; say COMPLETE",
    );
    let tree = sandbox.git(&["ls-tree", "-r", "main"]);
    assert!(!tree.contains("160000"), "{tree}");
    kept_with_a_warning(&sandbox);
}

#[test]
fn a_nested_repository_that_its_agent_committed_as_a_link_is_kept_too() {
    let (sandbox, status) = beside_a_good_one(
        "git init -q nested; write nested/inner.txt x; git -C nested add -A; git -C nested commit \
        -q -m Inner; git add nested; write a.txt x; commit; say COMPLETE",
    );
    assert_eq!(status, "done");
    kept_with_a_warning(&sandbox);
}

/// The repository `nested` of an agent is whole; the warning names it until it is gone.
fn kept_with_a_warning(sandbox: &Sandbox) {
    let warned = || sandbox.status()["warnings"].to_string();
    let place = warned()
        .split(" kept in ")
        .nth(1)
        .and_then(|text| text.split(':').next())
        .expect("a warning that names the place")
        .to_owned();
    let nested = sandbox.repo().join(&place).join("nested");
    assert_eq!(fs::read_to_string(nested.join("inner.txt")).unwrap(), "x\n");
    fs::remove_dir_all(sandbox.repo().join(&place)).unwrap();
    sandbox.idea("write more.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(warned(), "[]");
}

#[test]
fn a_rewritten_branch_lands_as_it_is_now() {
    let (sandbox, status) = beside_a_good_one(
        "write a.txt x; commit One; write b.txt x; commit Two; git reset -q --hard HEAD~1; write \
        c.txt x; commit Three; say COMPLETE",
    );
    assert_eq!(status, "done");
    let files = sandbox.git(&["ls-tree", "--name-only", "main"]);
    assert!(
        files.contains("a.txt") && files.contains("c.txt") && !files.contains("b.txt"),
        "{files}"
    );
}

#[test]
fn an_agent_that_moves_the_target_itself_is_treated_like_a_person() {
    let sandbox = Sandbox::ready();
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    let base = sandbox.head("main");
    sandbox.idea(
        "write a.txt x; commit; git update-ref refs/heads/main HEAD; write b.txt x; \
        commit; say COMPLETE",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(
        sandbox.git(&["ls-tree", "--name-only", "main"]),
        "README.md\na.txt\nb.txt"
    );
    assert_eq!(
        sandbox.git(&[
            "rev-list",
            "--first-parent",
            "--merges",
            "--count",
            &format!("{base}..main")
        ]),
        "1"
    );
    sandbox.assert_log_sound();
}

#[test]
fn a_check_that_changes_the_tree_does_not_change_what_lands() {
    let sandbox = Sandbox::ready();
    sandbox.configure(
        &json!({"qualityCommands": ["echo changed >README.md; echo new >made-by-check.txt; true"]}),
    );
    let id = sandbox.idea("write a.txt x; commit; say COMPLETE");
    let code = sandbox.run_until_idle();
    let status = sandbox.idea_status(&id);
    assert_eq!(code, if status == "done" { 0 } else { 5 });
    // What was checked and what lands are the same tree, or nothing lands.
    if status == "done" {
        assert_eq!(
            sandbox.read("README.md"),
            sandbox.file_at("main", "README.md") + "\n"
        );
        assert_eq!(
            sandbox.git(&["status", "--porcelain", "--", ".", ":!.swarm"]),
            ""
        );
    }
    sandbox.assert_log_sound();
}
