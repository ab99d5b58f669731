//! `swarm undo`: what a person did last is taken back, shown first, once, and across a kill.

use serde_json::{Value, json};

use crate::harness::{Daemon, PATIENCE, Sandbox};

const UNDO: [&str; 3] = ["undo", "--yes", "--json"];

fn preview(sandbox: &Sandbox) -> Value {
    sandbox.swarm(&["undo", "--dry-run", "--json"]).json()
}

fn nothing_left(sandbox: &Sandbox) {
    assert_eq!(preview(sandbox)["seq"], Value::Null);
    sandbox
        .swarm(&["undo", "--yes"])
        .refused(1, &["nothing left to take back", "swarm log"]);
}

/// An idea that was cancelled in the middle of its work: one commit, and a file beside it.
fn cancelled_at_work(sandbox: &Sandbox) -> Daemon<'_> {
    sandbox.idea(
        "if attempt 1; then write a.txt a; commit; write b.txt b; hold \
         first; else hold again; say COMPLETE; fi",
    );
    let daemon = sandbox.start();
    sandbox.wait_held("first");
    sandbox.swarm(&["idea", "cancel", "1"]).ok();
    sandbox.wait_idea("idea-001", "cancelled");
    daemon
}

#[test]
fn a_cancelled_idea_gets_its_work_back() {
    let sandbox = Sandbox::ready();
    let daemon = cancelled_at_work(&sandbox);
    sandbox.wait_status("the release of its worktree", |status| {
        status["rest"] == "idle"
    });
    let shown = preview(&sandbox);
    assert_eq!(shown["kind"], "cancel", "{shown}");
    sandbox
        .swarm(&["undo"])
        .refused(1, &["--yes", "nothing was changed"]);
    let told = sandbox.swarm(&["undo", "--yes"]);
    for said in [
        "cancellation of idea-001",
        "becomes pending again",
        "continues from its work",
    ] {
        assert!(told.stderr.contains(said), "{said}: {told}");
    }
    sandbox.wait_held("again");
    sandbox.release("again");
    sandbox.wait_idea("idea-001", "done");
    for (file, content) in [("a.txt", "a\n"), ("b.txt", "b\n")] {
        assert_eq!(sandbox.read(file), content, "{file}");
    }
    nothing_left(&sandbox);
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn without_a_daemon_each_undo_goes_one_step_back() {
    let sandbox = Sandbox::ready();
    for _ in 0..2 {
        sandbox.idea("write $SWARM_IDEA_ID.txt x; say COMPLETE");
    }
    nothing_left(&sandbox);
    sandbox.swarm(&["idea", "hold", "1"]).ok();
    sandbox.swarm(&["idea", "cancel", "1", "2"]).ok();
    let shown = preview(&sandbox);
    assert_eq!(shown["what"], "cancellation of idea-002", "{shown}");
    let first = shown["seq"].as_u64().unwrap();
    sandbox.swarm(&UNDO).ok();
    let status = |id: &str| sandbox.idea_status(id);
    assert_eq!(
        (status("idea-001"), status("idea-002")),
        ("cancelled".into(), "pending".into())
    );
    assert!(preview(&sandbox)["seq"].as_u64().unwrap() < first);
    sandbox.swarm(&UNDO).ok();
    assert_eq!(status("idea-001"), "pending");
    let held = sandbox.swarm(&["idea", "show", "1", "--json"]).json()["held"].clone();
    assert_eq!(held, true, "it was held before");
    nothing_left(&sandbox);
    // Who revives an idea has taken it back already.
    sandbox.swarm(&["idea", "cancel", "2"]).ok();
    sandbox.swarm(&["idea", "retry", "2"]).ok();
    nothing_left(&sandbox);
    sandbox.assert_log_sound();
}

/// Two landed ideas, and a rollback to before the second.
fn rolled_back() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"checkpoints": {"periodic": 0}}));
    sandbox.idea("write 1.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    sandbox.idea("write 2.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.swarm(&["rollback", "mid", "--yes"]).ok();
    assert_eq!(sandbox.idea_status("idea-002"), "pending");
    sandbox
}

#[test]
fn a_rollback_is_taken_back_and_swarm_stays_paused() {
    let sandbox = rolled_back();
    let shown = preview(&sandbox);
    assert_eq!(shown["kind"], "rollback", "{shown}");
    assert_eq!(
        shown["rollback"]["ideasReverted"][0]["to"], "done",
        "{shown}"
    );
    let told = sandbox.swarm(&["undo", "--yes"]);
    for said in [
        "rollback to mid",
        "go forward again: swarm rollback",
        "go on: swarm resume",
    ] {
        assert!(told.stderr.contains(said), "{said}: {told}");
    }
    assert_eq!(sandbox.idea_status("idea-002"), "done");
    assert_eq!(sandbox.read("2.txt"), "x\n");
    nothing_left(&sandbox);
    let daemon = sandbox.start();
    sandbox.wait_status("the pause", |status| status["phase"] == "paused");
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn an_undo_that_was_killed_is_finished_once() {
    let sandbox = rolled_back();
    let mut command = sandbox.swarm_command(&["start"]);
    command.env(swarm::crash::VARIABLE, "effect.check.begin");
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    assert_ne!(sandbox.swarm(&UNDO).code, 0, "it was killed before");
    assert_eq!(daemon.wait_exit(PATIENCE), 137);
    drop(daemon);
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-002", "done");
    assert_eq!(sandbox.logged("rolledBack").len(), 2);
    nothing_left(&sandbox);
    daemon.stop();
    let daemon = cancelled_at_work_again(&sandbox);
    sandbox.swarm(&UNDO).ok();
    daemon.kill();
    drop(daemon);
    assert_eq!(sandbox.logged("cancelUndone").len(), 1);
    let daemon = sandbox.start();
    assert_eq!(sandbox.idea_status("idea-003"), "pending");
    nothing_left(&sandbox);
    daemon.stop();
    sandbox.assert_log_sound();
}

/// A pending idea is cancelled while the swarm is paused.
fn cancelled_at_work_again(sandbox: &Sandbox) -> Daemon<'_> {
    let daemon = sandbox.start();
    sandbox.idea("say COMPLETE");
    sandbox.swarm(&["idea", "cancel", "3"]).ok();
    daemon
}

#[test]
fn a_redirected_agent_goes_back() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    let id = "$SWARM_IDEA_ID.$SWARM_ATTEMPT";
    for _ in 0..2 {
        sandbox.idea(&format!(
            "write $SWARM_IDEA_ID.txt x; hold {id}; say COMPLETE"
        ));
    }
    let daemon = sandbox.start();
    sandbox.wait_held("idea-001.1");
    sandbox
        .swarm(&["agent", "redirect", "1", "2", "--new-worktree"])
        .ok();
    sandbox.wait_held("idea-002.1");
    let told = sandbox.swarm(&["undo", "--yes"]);
    for said in [
        "redirect of ed-001 from idea-001 to idea-002",
        "ed-002 stops",
    ] {
        assert!(told.stderr.contains(said), "{said}: {told}");
    }
    sandbox.wait_held("idea-001.2");
    assert_eq!(sandbox.idea_status("idea-002"), "pending");
    nothing_left(&sandbox);
    for held in ["idea-001.2", "idea-002.2"] {
        sandbox.wait_held(held);
        sandbox.release(held);
    }
    for idea in ["idea-001", "idea-002"] {
        sandbox.wait_idea(idea, "done");
    }
    daemon.stop();
    sandbox
        .swarm(&["undo", "--yes"])
        .refused(1, &["nothing left"]);
    sandbox.assert_log_sound();
}

#[test]
fn what_cannot_be_taken_back_is_refused_with_the_way_out() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    sandbox.idea("if attempt 1; then hold one; fi; write 1.txt x; say COMPLETE");
    sandbox.idea("write 2.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("one");
    sandbox.swarm(&["agent", "redirect", "1", "2"]).ok();
    sandbox.wait_idea("idea-002", "done");
    sandbox.wait_idea("idea-001", "done");
    let refused = sandbox.swarm(&["undo", "--yes"]);
    refused.refused(
        1,
        &[
            "redirect of ed-001",
            "idea-002",
            "is done",
            "swarm idea show idea-001",
        ],
    );
    let shown = preview(&sandbox);
    assert!(
        shown["problem"].is_string() && shown["commands"][0].is_string(),
        "{shown}"
    );
    daemon.stop();
    let offline = sandbox.swarm(&["undo", "--yes"]);
    assert_eq!(offline.code, 1, "{offline}");
}

#[test]
fn an_approval_is_taken_back_before_it_lands_and_not_after() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"merge": {"autoMerge": false}}));
    let id = sandbox.idea("write a.txt a; commit; say COMPLETE");
    let night = || sandbox.swarm(&["start", "--until-idle"]).code;
    let other = sandbox.idea("write b.txt b; commit; say COMPLETE");
    let cancelled = sandbox.swarm(&["idea", "cancel", &other]);
    assert!(cancelled.stderr.contains("swarm undo"), "{cancelled}");
    assert_eq!(night(), 6);
    let base = sandbox.head("main");
    sandbox.swarm(&["merge", "approve", &id]).ok();
    assert_eq!(preview(&sandbox)["kind"], "approval");
    sandbox.swarm(&UNDO).ok();
    assert_eq!((night(), sandbox.head("main")), (6, base));
    sandbox.swarm(&["merge", "approve", &id]).ok();
    assert_eq!(night(), 0);
    sandbox.swarm(&UNDO).refused(1, &["has landed as"]);
    let page = sandbox.swarm(&["undo", "--dry-run"]);
    let commit = sandbox.head("main");
    let revert = format!("git revert -m 1 {}", &commit[..10]);
    assert!(page.stdout.contains(&revert), "{page}");
    let older = ["undo", "--skip-landed", "--yes"];
    sandbox.swarm(&older).ok();
    assert_eq!(sandbox.idea_status(&other), "pending");
    sandbox.shell(&revert).ok();
    assert!(!sandbox.repo().join("a.txt").exists());
}
