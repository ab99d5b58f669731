//! After a rollback nothing starts before a person says so.

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Sandbox, Terminal};

/// Two agents at work, and a checkpoint `mid`.
fn two_at_work() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 2}, "checkpoints": {"periodic": 0}}));
    for _ in 0..2 {
        sandbox.idea("hold $SWARM_IDEA_ID.$SWARM_ATTEMPT; say COMPLETE");
    }
    sandbox
}

fn wait_at_work(sandbox: &Sandbox, attempt: u32) {
    for idea in ["idea-001", "idea-002"] {
        sandbox.wait_held(&format!("{idea}.{attempt}"));
    }
}

fn assert_paused_by_rollback(status: &Value) {
    let reason = status["pauseReason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("rolled back to mid") && reason.contains("swarm resume"),
        "{status}"
    );
}

#[test]
fn a_rollback_pauses_and_the_preview_counts_what_waits() {
    let sandbox = two_at_work();
    let daemon = sandbox.start();
    wait_at_work(&sandbox, 1);
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    let preview = sandbox.swarm(&["rollback", "mid", "--dry-run", "--json"]);
    assert_eq!(preview.json()["ideasToStart"], 2);
    let told = sandbox.swarm(&["rollback", "mid", "--yes"]);
    for said in [
        "after `swarm resume`: 2",
        "undo it: ",
        "go on: swarm resume",
    ] {
        assert!(told.stderr.contains(said), "{said}: {told}");
    }
    let status = sandbox.wait_status("the pause", |status| status["phase"] == "paused");
    assert_paused_by_rollback(&status);
    daemon.kill();
    drop(daemon);
    let daemon = sandbox.start();
    let status = sandbox.wait_status("the pause", |status| status["phase"] == "paused");
    assert_paused_by_rollback(&status);
    assert_eq!(sandbox.notes("runs").len(), 2, "somebody has started");
    sandbox.swarm(&["resume"]).ok();
    wait_at_work(&sandbox, 2);
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn without_a_daemon_the_next_start_is_paused_too() {
    let sandbox = two_at_work();
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    let told = sandbox.swarm(&["rollback", "mid", "--yes"]);
    assert!(told.stderr.contains("swarm start"), "{told}");
    let daemon = sandbox.start();
    let status = sandbox.wait_status("the pause", |status| status["phase"] == "paused");
    assert_paused_by_rollback(&status);
    sandbox
        .swarm(&["rollback", "mid", "--yes", "--resume"])
        .ok();
    wait_at_work(&sandbox, 1);
    daemon.stop();
}

/// Killed right after its answer, and before it: the next start goes on, and once only.
#[test]
fn a_resume_that_was_accepted_survives_a_kill() {
    let sandbox = two_at_work();
    let daemon = sandbox.start();
    wait_at_work(&sandbox, 1);
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    sandbox.swarm(&["pause"]).ok();
    let resume = ["rollback", "mid", "--yes", "--resume"];
    sandbox.swarm(&resume).ok();
    daemon.kill();
    drop(daemon);
    assert_eq!(sandbox.logged("pauseLifted").len(), 1);
    let mut command = sandbox.swarm_command(&["start"]);
    command.env(swarm::crash::VARIABLE, "effect.check.begin");
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    assert_eq!(sandbox.status()["pauseReason"], Value::Null);
    sandbox.swarm(&["pause"]).ok();
    assert_ne!(sandbox.swarm(&resume).code, 0, "it was killed before");
    assert_eq!(daemon.wait_exit(PATIENCE), 137);
    drop(daemon);
    let daemon = sandbox.start();
    sandbox.wait_for("the end of the rollback", || {
        (sandbox.logged("rolledBack").len() == 2).then_some(())
    });
    sandbox.wait_status("work", |status| status["phase"] == "running");
    assert_eq!(sandbox.logged("pauseLifted").len(), 2);
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn on_a_terminal_a_second_yes_goes_on_at_once() {
    let sandbox = two_at_work();
    let daemon = sandbox.start();
    wait_at_work(&sandbox, 1);
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    let answer = |typed: &str| {
        let terminal = Terminal::open();
        terminal.type_in(typed);
        let mut asked = terminal.start(&sandbox.swarm_command(&["rollback", "mid"]));
        let status = sandbox.wait_for("its end", || asked.try_wait().unwrap());
        status.code()
    };
    assert_eq!(answer("n\n"), Some(1));
    assert_eq!(sandbox.logged("rollbackBegun").len(), 0);
    assert_eq!(answer("y\nn\n"), Some(0));
    assert_eq!(sandbox.status()["phase"], "paused");
    assert_eq!(answer("y\ny\n"), Some(0));
    wait_at_work(&sandbox, 2);
    assert_eq!(sandbox.logged("rolledBack").len(), 2);
    daemon.stop();
}
