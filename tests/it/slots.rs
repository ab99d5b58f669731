//! Slots: each worktree has a number and ports of its own, and so has each daemon of a machine.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::harness::{Daemon, Sandbox};
use crate::hooks::hook;

/// What the setup, an agent and a check find in their environment.
const TELL: &str = "echo $SWARM_SLOT $SWARM_PORT_BASE $PORT $DATABASE";

/// A swarm whose processes tell which slot they have. The database's name is without what differs
/// from run to run.
fn telling() -> Sandbox {
    let sandbox = Sandbox::ready();
    let out = sandbox.path("out");
    let tell = |name: &str| format!("{TELL} >>'{}'", out.join(name).display());
    hook(
        &sandbox,
        "pre-start",
        &format!("#!/bin/sh\n{}\n", tell("hook")),
    );
    sandbox.configure(&json!({
        "worktree": {"setup": [tell("setup")], "env": {"PORT": "{port}", "DATABASE": "x{slot}"}},
        "qualityCommands": [tell("check")],
    }));
    sandbox
}

/// A daemon that got a block of ports, and the first of them. Tests that run beside this one may
/// have all of them for a moment.
fn with_ports(sandbox: &Sandbox) -> (Daemon<'_>, u64) {
    sandbox.wait_for("a free block of ports", || {
        let daemon = sandbox.start();
        let first = sandbox.status()["ports"]["first"].as_u64();
        if first.is_none() {
            daemon.stop();
        }
        Some((daemon, first?))
    })
}

#[test]
fn two_daemons_side_by_side_hand_out_different_ports() {
    let (one, two) = (Sandbox::ready(), Sandbox::ready());
    let (first, here) = with_ports(&one);
    let (second, there) = with_ports(&two);
    assert_ne!(here, there);
    assert!(here.abs_diff(there) >= 1_440);
    second.stop();
    first.stop();
}

#[test]
fn a_port_of_a_worktree_that_another_program_holds_charges_no_idea() {
    let sandbox = Sandbox::ready();
    let tell = format!("echo $PORT >>'{}'", sandbox.path("out/ports").display());
    let here = sandbox.path("out/held");
    let here = here.display();
    sandbox.configure(&json!({
        "worktree": {"setup": [tell], "env": {"PORT": "{port}"}},
        "qualityCommands": [format!(
            "test \"$PORT\" != \"$(cat '{here}')\" || {{ echo Address already in use; exit 1; }}"
        )],
        "checks": {"baseline": "require"},
    }));
    let (daemon, first) = with_ports(&sandbox);
    let port = u16::try_from(first + 20).unwrap();
    // A development server, say.
    let _held = TcpListener::bind(("127.0.0.1", port + 3)).unwrap();
    fs::write(sandbox.path("out/held"), port.to_string()).unwrap();
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.logged("iterationStarted").len(), 1);
    assert_eq!(sandbox.logged("gateExcused").len(), 1);
    assert_eq!(
        sandbox.logged("gateFailed").len() + sandbox.logged("gateDoubted").len(),
        0
    );
    let status = sandbox.status();
    let warnings: Vec<&str> = status["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|warning| warning["message"].as_str())
        .collect();
    let held = format!("port {} of the worktree w01 is held", port + 3);
    assert!(
        warnings.iter().any(|it| it.starts_with(&held)),
        "{warnings:?}"
    );
    let set_up = sandbox.notes("ports");
    assert!(
        set_up.contains(&(first + 20 * 67).to_string()),
        "{set_up:?}"
    );
    daemon.stop();
}

#[test]
fn setup_agent_checks_and_pre_start_hook_of_a_worktree_share_its_slot() {
    let sandbox = telling();
    let (daemon, first) = with_ports(&sandbox);
    let id = sandbox.idea(&format!("{TELL} >>$OUT/agent; write a.txt x; say COMPLETE"));
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    let told = |slot: u64| {
        let port = first + 20 * slot;
        format!("{slot} {port} {port} x{slot}")
    };
    for process in ["hook", "agent"] {
        assert_eq!(sandbox.notes(process), [told(1)], "{process}");
    }
    for process in ["setup", "check"] {
        assert_eq!(sandbox.notes(process), [told(1), told(65)], "{process}");
    }
    let shown: Value = sandbox.swarm(&["config", "show", "--json"]).json();
    assert_eq!(shown["config"]["worktree"]["env"]["PORT"], "<hidden>");
}
