//! Money: what a hard stop sees of a run that goes on, and what is said where it sees nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::harness::{self, Sandbox};

/// A made-up `claude`: tells that it has used two million tokens, stands until it may go on, and
/// tells at its end what that cost.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in *--version*) echo '99.1.2 (Claude Code)'; exit ;; esac
name=$(sed -n 's/^DO: hold //p' "$SWARM_PROMPT_FILE" | head -n 1)
session=$(cat /proc/sys/kernel/random/uuid)
usage='{"input_tokens":2000000,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":100}'
model=claude-sonnet-4-5-20250929
printf '{"type":"system","subtype":"init","session_id":"%s","model":"%s"}\n' $session $model
printf '{"type":"assistant","message":{"id":"m1","role":"assistant","model":"%s","content":[{"type":"text","text":"At work."}],"usage":%s},"parent_tool_use_id":null,"session_id":"%s"}\n' $model "$usage" $session
: >"$OUT/$name.here"; while [ ! -e "$OUT/$name.go" ]; do sleep 0.05; done
printf '{"type":"result","subtype":"success","is_error":false,"result":"At work.","session_id":"%s","total_cost_usd":6.0,"usage":%s}\n' $session "$usage"
"#;

fn configure(sandbox: &Sandbox, pricing: &Value) {
    let program = sandbox.path("claude");
    let profile = json!({"adapter": "claude", "command": [program],
        "env": {"OUT": sandbox.path("out"), "ANTHROPIC_API_KEY": "k"}});
    sandbox.configure(&json!({
        "agents": {"profile": "cl", "profiles": {"cl": profile}},
        "budget": {"usdPerIdea": 5.0, "hardStop": true},
        "pricing": pricing,
    }));
}

/// What a person finds in `status` and in `report`.
fn warnings(sandbox: &Sandbox) -> Vec<String> {
    let status = sandbox.status();
    let report = sandbox.swarm(&["report", "--json"]).json();
    assert_eq!(status["warnings"], report["warnings"]);
    let all = harness::raised(&status).into_iter();
    all.map(|one| one["message"].as_str().unwrap().to_owned())
        .collect()
}

fn raised(sandbox: &Sandbox) -> usize {
    let raised = sandbox.logged("warningRaised").into_iter();
    raised
        .filter(|event| event.data["key"] == "unpriced-claude-sonnet-4-5")
        .count()
}

#[test]
fn a_hard_stop_for_dollars_needs_a_price_and_says_so() {
    let sandbox = Sandbox::ready();
    let program = sandbox.path("claude");
    fs::write(&program, CLAUDE).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    configure(&sandbox, &json!({}));
    let before = "budget.hardStop cannot stop a run of `cl` in the middle for budget.usdPerIdea";
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(doctor.ok().contains(before), "{doctor}");
    let daemon = sandbox.start();
    let said = daemon.output();
    assert!(said.contains(before), "{said}");

    // Six dollars of five are spent, and it works on: the end of the run is the first to tell.
    let one = sandbox.idea("hold one");
    sandbox.wait_status("the warning", |status| !harness::raised(status).is_empty());
    let said = warnings(&sandbox);
    let line = r#""pricing": {"claude-sonnet-4-5": {"input": N, "cached": N, "cacheWritten": N, "output": N}}"#;
    assert!(said.len() == 1 && said[0].contains(line), "{said:?}");
    assert_eq!(sandbox.idea_status(&one), "active");
    sandbox.release("one");
    let shown = sandbox.wait_idea(&one, "blocked");
    let why = shown["lastError"].as_str().unwrap();
    assert!(why.contains("$6.00 of $5.00 (budget.usdPerIdea)"), "{why}");

    // Once is enough, for the next run and for the next daemon.
    daemon.stop();
    let daemon = sandbox.start();
    let two = sandbox.idea("hold two");
    sandbox.wait_for("what it uses to be seen", || {
        let mut seen = sandbox.logged("usageSeen").into_iter();
        seen.find(|event| event.data["agent"] == "cl-002")
    });
    sandbox.release("two");
    sandbox.wait_idea(&two, "blocked");
    assert_eq!((warnings(&sandbox).len(), raised(&sandbox)), (1, 1));

    // With a price, under the name that people know, the run ends where it stands.
    configure(
        &sandbox,
        &json!({"claude-sonnet-4-5": {"input": 3.0, "output": 15.0}}),
    );
    sandbox.wait_status("the warning to go", |status| {
        harness::raised(status).is_empty()
    });
    let three = sandbox.idea("hold three");
    let shown = sandbox.wait_idea(&three, "blocked");
    let why = shown["lastError"].as_str().unwrap();
    assert!(why.contains("$6.00 of $5.00 (budget.usdPerIdea)"), "{why}");
    assert_eq!(raised(&sandbox), 1);
    daemon.stop();

    // What is left to say is about the profile that no idea gets without asking.
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(
        doctor
            .ok()
            .contains("runs of `ed` do not count towards budget.usdPerIdea"),
        "{doctor}"
    );
    let daemon = sandbox.start();
    let said = daemon.output();
    assert!(!said.contains("hardStop"), "{said}");
    daemon.stop();
}
