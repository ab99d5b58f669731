//! The tools of `swarm mcp` in the hands of a client that is not ours: the inspector of the Model
//! Context Protocol lists them, judges their schemas, and calls each.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Ran, Sandbox};
use crate::programs;

/// Each tool with arguments that it accepts, in an order in which all succeed.
const CALLS: [(&str, &[&str]); 23] = [
    ("status", &[]),
    (
        "idea_add",
        &["content=DO: write b.txt b; say COMPLETE", "tags=[\"docs\"]"],
    ),
    ("idea_edit", &["id=idea-002", "priority=5"]),
    ("idea_list", &["status=pending"]),
    ("idea_show", &["id=idea-002"]),
    ("idea_assign", &["id=idea-002"]),
    ("agent_logs", &["id=ed-001", "lines=20"]),
    ("agent_say", &["id=ed-001", "text=go on"]),
    ("pause", &["reason=a release"]),
    ("resume", &[]),
    ("needs_you", &[]),
    ("report", &["since=12h"]),
    ("checkpoint_create", &["name=mine"]),
    ("learn", &["content=The build needs protoc"]),
    ("memory_search", &["query=protoc", "limit=5"]),
    (
        "fact_write",
        &[
            "key=api.port",
            "value=It is 8080",
            "expectedVersion=0",
            "evidence=[]",
        ],
    ),
    (
        "fact_confirm",
        &["key=api.port", "version=1", "evidence=[]"],
    ),
    (
        "fact_dispute",
        &["key=api.port", "version=1", "evidence=[]"],
    ),
    ("fact_get", &["key=api.port"]),
    ("memory_log", &["since=0"]),
    ("scratch_put", &["key=plan.md", "content=1. tokens"]),
    ("scratch_get", &["prefix=plan"]),
    ("idea_retry", &["id=idea-003"]),
];

/// Runs the inspector's command line on a server in this repository.
fn inspect(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let program = programs::folder_of_mcp().join("mcp-inspector");
    let mut command = sandbox.command(program);
    let swarm = env!("CARGO_BIN_EXE_swarm");
    command.args(["--cli", swarm, "mcp"]).args(args);
    sandbox.run(&mut command, b"", PATIENCE)
}

fn call(sandbox: &Sandbox, tool: &str, args: &[&str]) -> Value {
    let mut all = vec!["--method", "tools/call", "--tool-name", tool];
    if !args.is_empty() {
        all.push("--tool-arg");
        all.extend(args);
    }
    inspect(sandbox, &all).json()
}

#[test]
fn the_inspector_lists_and_calls_every_tool() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    // Without an error about a schema, or it would end with another code.
    let listed = inspect(&sandbox, &["--method", "tools/list", "--strict"]).json();
    let tools = listed["tools"].as_array().unwrap();
    let names: BTreeSet<&str> = tools.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, CALLS.iter().map(|(name, _)| *name).collect());
    // The agent of the first idea is there to be spoken to; the third idea can be tried again.
    sandbox.idea("hold alone; write a.txt a; say COMPLETE");
    sandbox.swarm(&["idea", "assign", "1"]).ok();
    sandbox.wait_held("alone");
    for (tool, args) in CALLS {
        let answer = call(&sandbox, tool, args);
        assert_ne!(answer["isError"], true, "{tool}: {answer:#}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        let text: Value = serde_json::from_str(text).unwrap();
        assert!(text.is_object(), "{tool}: {text}");
        if tool == "idea_add" {
            sandbox.idea("say BLOCKED:no");
            sandbox.swarm(&["idea", "assign", "3"]).ok();
            sandbox.wait_idea("idea-003", "blocked");
        }
    }
    sandbox.release("alone");
    sandbox.wait_idea("idea-001", "done");
    let learned = sandbox.logged("learned");
    let author = &learned[0].data["evidence"]["author"];
    assert_eq!(author["kind"], "mcp", "{author}");
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn the_inspector_sees_refusals_as_errors_of_a_tool() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let sandbox = Sandbox::ready();
    let unknown = [
        "--method",
        "tools/call",
        "--tool-name",
        "fact_get",
        "--tool-arg",
        "key=no.such",
    ];
    let ran = inspect(&sandbox, &unknown);
    assert_ne!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("FACT_UNKNOWN"), "{ran}");
}
