//! A virtual environment of the checkout that is active where swarm starts: with it, checks in a
//! worktree would test the checkout.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::harness::{Daemon, Sandbox};

/// A check that passes only without the tool, and one that passes only with it.
const WITHOUT: &str = "test -z \"$VIRTUAL_ENV\" && ! command -v tool-of-the-checkout";
const WITH: &str = "test -n \"$VIRTUAL_ENV\" && command -v tool-of-the-checkout";

fn sandbox(check: &str, pass: &[&str]) -> Sandbox {
    let sandbox = Sandbox::ready();
    let bin = sandbox.repo().join(".venv/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(sandbox.repo().join(".venv/.gitignore"), "*\n").unwrap();
    let tool = bin.join("tool-of-the-checkout");
    fs::write(&tool, "#!/bin/sh\n").unwrap();
    fs::set_permissions(tool, Permissions::from_mode(0o755)).unwrap();
    sandbox.configure(&json!({
        "agents": {"passEnv": pass},
        "qualityCommands": [check],
        "checks": {"baseline": "require"},
    }));
    sandbox
}

/// Starts as from a shell in which the environment is active.
fn start(sandbox: &Sandbox) -> Daemon<'_> {
    let own = sandbox.repo().join(".venv");
    let path = std::env::var("PATH").unwrap();
    let mut command = sandbox.swarm_command(&["start", "--plain"]);
    command
        .env("VIRTUAL_ENV", &own)
        .env("PATH", format!("{}:{path}", own.join("bin").display()));
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    daemon
}

#[test]
fn agents_and_checks_do_not_get_what_points_into_the_checkout() {
    let sandbox = sandbox(WITHOUT, &[]);
    let daemon = start(&sandbox);
    let id = sandbox.idea(
        "test -z \"${VIRTUAL_ENV:-}\" || exit 1; command -v tool-of-the-checkout && exit 1; write \
        a.txt x; say COMPLETE",
    );
    sandbox.wait_idea(&id, "done");
    let said = daemon.output();
    assert!(said.contains("of VIRTUAL_ENV"), "{said}");
    assert!(said.contains("a check would test your checkout"), "{said}");
    daemon.stop();
}

#[test]
fn what_a_person_passes_reaches_agents_and_checks() {
    let sandbox = sandbox(WITH, &["VIRTUAL_ENV", "PATH"]);
    let daemon = start(&sandbox);
    let id = sandbox.idea("command -v tool-of-the-checkout || exit 1; write a.txt x; say COMPLETE");
    sandbox.wait_idea(&id, "done");
    let said = daemon.output();
    assert!(!said.contains("a check would test your checkout"), "{said}");
    daemon.stop();
}
