//! A night does not pay for what cannot succeed.

use std::fs;

use serde_json::json;

use crate::harness::Sandbox;

/// What the person is told about this idea.
fn reason(sandbox: &Sandbox, id: &str) -> String {
    let status = sandbox.status();
    let needs = status["needsYou"].as_array().unwrap();
    let need = needs.iter().find(|need| need["ideaId"] == id).unwrap();
    assert_eq!(need["kind"], "blocked", "{need}");
    need["message"].as_str().unwrap().to_owned()
}

#[test]
fn the_same_failure_three_times_blocks_the_idea_and_frees_the_slot() {
    let sandbox = Sandbox::ready();
    // What differs from run to run: a process id, a duration, a temporary folder.
    let check = "test ! -e bad.txt || { echo \"pid $$: 1 failed in $(date +%S).$$s\"; \
        echo \"see $(mktemp -d)/log.txt\" >&2; exit 3; }";
    sandbox.configure(&json!({"qualityCommands": [check], "agents": {"maxParallel": 1}}));
    let bad = sandbox.idea("append bad.txt $SWARM_ITERATION; say COMPLETE");
    let good = sandbox.idea("write good.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 5);
    assert_eq!(sandbox.idea_status(&good), "done");
    let idea = sandbox.show(&bad);
    assert_eq!(idea["status"], "blocked", "{idea}");
    let runs = sandbox.notes("runs");
    assert_eq!(
        runs.iter().filter(|run| run.starts_with(&bad)).count(),
        3,
        "{runs:?}"
    );
    let why = reason(&sandbox, &bad);
    for word in [
        "3 times in a row",
        "exit code 3",
        "1 failed in",
        "swarm agent logs ed-001",
    ] {
        assert!(why.contains(word), "{word:?} is not in {why:?}");
    }
    let kept = sandbox.repo().join(idea["keptWorktree"].as_str().unwrap());
    assert_eq!(
        fs::read_to_string(kept.join("bad.txt")).unwrap(),
        "1\n2\n3\n"
    );
    assert_eq!(sandbox.status()["slots"]["used"], 0);
    // A retry goes on in the same worktree, and its count begins anew.
    sandbox.swarm(&["idea", "retry", &bad]).ok();
    assert_eq!(sandbox.run_until_idle(), 5);
    assert_eq!(sandbox.notes("runs").len(), runs.len() + 3);
}

#[test]
fn failures_that_differ_are_tried_on() {
    let sandbox = Sandbox::ready();
    let check =
        "test \"$(wc -l <work.txt)\" -ge 5 || { echo \"$(wc -l <work.txt) of 5\"; exit 1; }";
    sandbox.configure(&json!({"qualityCommands": [check]}));
    let id = sandbox.idea("append work.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(sandbox.notes("runs").len(), 5);
}

#[test]
fn iterations_that_change_nothing_block_the_idea() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"completion": {"stuckThreshold": 3}}));
    // Uncommitted work is a change; from the third iteration on nothing happens.
    let id = sandbox
        .idea("echo busy; iteration 1 && write a.txt 1; iteration 2 && write a.txt 22; true");
    assert_eq!(sandbox.run_until_idle(), 5);
    assert_eq!(sandbox.idea_status(&id), "blocked");
    assert_eq!(sandbox.notes("runs").len(), 5);
    let why = reason(&sandbox, &id);
    assert!(
        why.contains("3 iterations in a row changed nothing"),
        "{why}"
    );
    assert!(why.contains("completion.stuckThreshold is 3"), "{why}");
}

#[test]
fn with_a_threshold_of_zero_only_the_limit_of_iterations_ends_it() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"completion": {"stuckThreshold": 0, "maxIterations": 7}}));
    let id = sandbox.idea("echo busy");
    assert_eq!(sandbox.run_until_idle(), 5);
    assert_eq!(sandbox.idea_status(&id), "timeout");
    assert_eq!(sandbox.notes("runs").len(), 7);
}

#[test]
fn a_check_that_cannot_run_holds_the_night_until_it_is_mended() {
    let sandbox = Sandbox::ready();
    // The project's tools are there until the first iteration is over.
    let tool = sandbox.path("tool");
    fs::write(&tool, "#!/bin/sh\ntest -e a.txt\n").unwrap();
    let check = format!("/bin/sh -c 'exec \"$0\"' {}", tool.display());
    sandbox.shell(&format!("chmod +x {}", tool.display())).ok();
    sandbox.configure(&json!({"qualityCommands": [check]}));
    let id = sandbox.idea("hold tools; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("tools");
    fs::rename(&tool, sandbox.path("gone")).unwrap();
    sandbox.release("tools");
    let need = sandbox.wait_needs_you("paused");
    let why = need["message"].as_str().unwrap();
    for word in [
        "exit code 127",
        "the worktree of idea-001",
        "Install the program",
        "swarm resume",
    ] {
        assert!(why.contains(word), "{word:?} is not in {why:?}");
    }
    assert_eq!(sandbox.idea_status(&id), "active");
    // A restart does not change that.
    daemon.kill();
    let daemon = sandbox.start();
    sandbox.wait_needs_you("paused");
    fs::rename(sandbox.path("gone"), &tool).unwrap();
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&id, "done");
    assert_eq!(
        sandbox.notes("runs").len(),
        1,
        "another iteration was paid for"
    );
    daemon.stop();
}

#[test]
fn an_agents_program_that_is_away_for_a_moment_costs_nothing() {
    let sandbox = Sandbox::ready();
    let (program, away) = (sandbox.path("program"), sandbox.path("away"));
    let script = sandbox.path("agent.sh");
    fs::write(
        &program,
        format!("#!/bin/sh\nexec sh {}\n", script.display()),
    )
    .unwrap();
    sandbox
        .shell(&format!("chmod +x {}", program.display()))
        .ok();
    let mut profile = sandbox.profile("agent.sh");
    profile["command"] = json!([program]);
    sandbox.configure(&json!({"agents": {"maxParallel": 1, "profiles": {"ed": profile}}}));
    let first = sandbox.idea("hold update; write a.txt x; say COMPLETE");
    let second = sandbox.idea("write b.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("update");
    fs::rename(&program, &away).unwrap();
    sandbox.release("update");
    let status = sandbox.wait_status("the profile to be held", |status| {
        status["accounts"][0]["held"] == "profile"
    });
    let held = &status["accounts"][0];
    assert_eq!(held["account"], "ed", "{held}");
    let text = sandbox.swarm(&["status"]);
    let text = text.ok();
    assert!(text.contains("ed: its program cannot begin"), "{text}");
    fs::rename(&away, &program).unwrap();
    for id in [&first, &second] {
        let idea = sandbox.wait_idea(id, "done");
        assert_eq!(
            (&idea["attempts"], &idea["retryCount"]),
            (&json!(1), &json!(0)),
            "{idea}"
        );
    }
    let status = sandbox.status();
    let held = status["accounts"].as_array();
    assert!(held.is_none_or(Vec::is_empty), "{status}");
    assert_eq!(sandbox.notes("runs").len(), 2);
    daemon.stop();
}
