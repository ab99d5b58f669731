//! Finished work that waits for a review lends its worktree to the ideas after it.

use std::path::PathBuf;

use serde_json::json;

use crate::harness::Sandbox;

/// Each does something else when it is sent back; each notes how many worktrees there are.
const WORK: &str = "note trees $(git worktree list --porcelain | grep -c '^worktree '); if \
    iteration 1; then write $SWARM_IDEA_ID.txt x; else note again $PWD; write \
    more-$SWARM_IDEA_ID.txt y; fi; say COMPLETE";

/// The person's checkout and the tree in which merges are verified.
const OTHERS: usize = 2;

fn wait_reviews(sandbox: &Sandbox, ideas: &[String]) {
    sandbox.wait_status(&format!("{} to review", ideas.len()), |status| {
        let needs = status["needsYou"].as_array().unwrap();
        let waits = |id: &String| {
            let mut needs = needs.iter().filter(|need| need["kind"] == "review");
            needs.any(|need| need["ideaId"] == id.as_str())
        };
        ideas.iter().all(waits)
    });
}

fn trees(sandbox: &Sandbox) -> usize {
    let list = sandbox.git(&["worktree", "list", "--porcelain"]);
    let lines = list.lines();
    lines.filter(|line| line.starts_with("worktree ")).count()
}

#[test]
fn eight_ideas_for_review_have_four_worktrees_and_the_one_that_a_person_edited() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 2}, "worktree": {"keepIdle": 2}}));
    let daemon = sandbox.start();
    let add = |_| sandbox.idea_with(WORK, &["--review"]);
    let mut ideas: Vec<String> = (0..2).map(add).collect();
    wait_reviews(&sandbox, &ideas);
    let edited = sandbox.path_of(&ideas[0]);
    std::fs::write(edited.join("mine.txt"), "mine").unwrap();
    ideas.extend((2..8).map(add));
    wait_reviews(&sandbox, &ideas);

    let most = OTHERS + 4 + 1;
    let noted = sandbox.notes("trees");
    let counts = noted.iter().map(|line| line.split(' ').nth(1).unwrap());
    let counts: Vec<usize> = counts.map(|count| count.parse().unwrap()).collect();
    assert_eq!(counts.len(), 8);
    assert!(counts.iter().all(|count| *count <= most), "{counts:?}");
    assert!(trees(&sandbox) <= most);
    assert_eq!(sandbox.path_of(&ideas[0]), edited);
    assert_eq!(sandbox.logged("worktreeStays").len(), 1);
    let branch = format!("agent/ed-002/{}", ideas[1]);
    let elsewhere = format!("git worktree add --detach ../{} {branch}", ideas[1]);
    sandbox
        .swarm(&["path", &ideas[1]])
        .refused(1, &["lent to another idea", &branch, &elsewhere]);
    sandbox.shell(&elsewhere).ok();
    let looked = sandbox.path(&ideas[1]);
    assert!(looked.join(format!("{}.txt", ideas[1])).exists());
    sandbox.git(&["worktree", "remove", looked.to_str().unwrap()]);

    sandbox.swarm(&["merge", "approve", &ideas[1]]).ok();
    sandbox.wait_idea(&ideas[1], "done");
    sandbox
        .swarm(&["merge", "reject", &ideas[2], "one more file"])
        .ok();
    sandbox.wait_for("it to go on", || {
        (sandbox.notes("again").len() == 1).then_some(())
    });
    ideas.remove(1);
    wait_reviews(&sandbox, &ideas);
    assert!(trees(&sandbox) <= most);
    for id in &ideas {
        sandbox.swarm(&["merge", "approve", id]).ok();
        sandbox.wait_idea(id, "done");
    }
    for file in ["idea-001.txt", "idea-008.txt", "idea-002.txt"] {
        assert_eq!(sandbox.file_at("main", file), "x");
    }
    assert_eq!(sandbox.file_at("main", "more-idea-003.txt"), "y");
    let rescued = "refs/swarm/rescue/ed-001-idea-001";
    assert_eq!(sandbox.file_at(rescued, "mine.txt"), "mine");
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn a_person_resolves_a_conflict_of_lent_work_where_swarm_path_says() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({
        "agents": {"maxParallel": 1},
        "worktree": {"keepIdle": 0},
        "merge": {"conflictRetries": 0},
    }));
    let doing = "write same.txt $SWARM_IDEA_ID; say COMPLETE";
    let daemon = sandbox.start();
    let lent = sandbox.idea_with(doing, &["--review"]);
    wait_reviews(&sandbox, std::slice::from_ref(&lent));
    let other = sandbox.idea(doing);
    sandbox.wait_idea(&other, "done");
    sandbox
        .swarm(&["path", &lent])
        .refused(1, &["lent to another idea"]);
    sandbox.swarm(&["merge", "approve", &lent]).ok();
    sandbox.wait_needs_you("conflict");
    let tree = sandbox.wait_for("the conflict", || {
        let ran = sandbox.swarm(&["path", &lent]);
        let tree = (ran.code == 0).then(|| PathBuf::from(ran.ok().trim()))?;
        let status = sandbox.git_in(&tree, &["status", "--porcelain"]);
        status.contains("same.txt").then_some(tree)
    });
    std::fs::write(tree.join("same.txt"), "both\n").unwrap();
    sandbox.git_in(&tree, &["add", "--all"]);
    sandbox.git_in(&tree, &["commit", "-q", "-m", "Both"]);
    sandbox.swarm(&["merge", "resolve", &lent]).ok();
    // What was approved is another commit.
    wait_reviews(&sandbox, std::slice::from_ref(&lent));
    sandbox.swarm(&["merge", "approve", &lent]).ok();
    sandbox.wait_idea(&lent, "done");
    assert_eq!(sandbox.file_at("main", "same.txt"), "both");
    daemon.stop();
    sandbox.assert_log_sound();
}
