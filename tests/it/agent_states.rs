//! `swarm agent export`: an agent's state on its own, of live and ended agents, with and without a
//! daemon.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::harness::{Daemon, Sandbox};

/// A made-up `claude`: reads a file, calls its shell, stands until it may go on, and then ends
/// within a line. Each run adds a line to its conversation.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in *--version*) echo '99.1.2 (Claude Code)'; exit ;; esac
while [ $# -gt 0 ]; do case $1 in --session-id|--resume) session=$2 ;; esac; shift; done
mkdir -p "$CLAUDE_CONFIG_DIR/projects/x"
echo '{"type":"user"}' >>"$CLAUDE_CONFIG_DIR/projects/x/$session.jsonl"
usage='{"input_tokens":20,"cache_read_input_tokens":5,"cache_creation_input_tokens":0,"output_tokens":7}'
say() {
    printf '{"type":"assistant","message":{"id":"%s","role":"assistant","model":"claude-test","content":[%s],"usage":%s},"parent_tool_use_id":null,"session_id":"%s"}\n' "$1" "$2" "$usage" $session
}
printf '{"type":"system","subtype":"init","session_id":"%s","model":"claude-test"}\n' $session
say m1 '{"type":"text","text":"I look."}'
say m1 '{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"README.md"}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"a project"}]}}'
say m2 '{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"make all"}}'
: >"$OUT/it.here"; while [ ! -e "$OUT/it.go" ]; do sleep 0.05; done
printf '{"type":"user","message":{"content":[{"type":"tool_res'
exit 1
"#;

fn put_an_agent_to_work(sandbox: &Sandbox) -> Daemon<'_> {
    let program = sandbox.path("claude");
    fs::write(&program, CLAUDE).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let secret = format!("--append-system-prompt=sk-ant-api03-{}", "a".repeat(93));
    let profile = json!({"adapter": "claude", "command": [program], "model": "claude-asked",
        "args": [secret],
        "env": {"OUT": sandbox.path("out"), "ANTHROPIC_API_KEY": "not-to-be-seen",
            "CLAUDE_CONFIG_DIR": sandbox.path("claude-home")}});
    sandbox.configure(&json!({
        "agents": {"profile": "cl", "profiles": {"cl": profile}, "crashRetries": 0},
        "budget": {"usdPerIdea": 5.0, "tokensPerIdea": 1000},
    }));
    fs::create_dir_all(sandbox.dot_swarm("rules")).unwrap();
    fs::write(sandbox.dot_swarm("rules/style.md"), "Write tests.\n").unwrap();
    sandbox
        .swarm(&["scratch", "put", "plan", "First the parser."])
        .ok();
    let daemon = sandbox.start();
    sandbox.swarm(&["idea", "add", "Build it"]).ok();
    sandbox.wait_for("the agent to stand", || {
        sandbox.path("out/it.here").exists().then_some(())
    });
    sandbox.wait_for("its usage", || {
        let agent = sandbox.swarm(&["agent", "show", "cl-001", "--json"]).json();
        (!agent["session"].is_null()).then_some(())
    });
    daemon
}

fn export(sandbox: &Sandbox) -> Value {
    sandbox.swarm(&["agent", "export", "cl-001"]).json()
}

/// Role and text of each message after the prompt.
fn said(state: &Value) -> Vec<(&str, &str)> {
    let messages = state["messageLog"].as_array().unwrap().iter().skip(1);
    messages
        .map(|it| (it["role"].as_str().unwrap(), it["text"].as_str().unwrap()))
        .collect()
}

const NO_RESULT: &str = "[no result: the run ended before; whether it took effect is not known]";

#[test]
fn a_live_agent_and_an_ended_one_are_told_whole() {
    let sandbox = Sandbox::ready();
    let daemon = put_an_agent_to_work(&sandbox);
    let live = export(&sandbox);
    assert_eq!(
        (&live["format"], &live["version"]),
        (&json!("swarm-agent"), &json!("1.0.0"))
    );
    let identity = &live["identity"];
    assert_eq!(identity["ideaText"], "Build it");
    assert_eq!(
        (&identity["name"], &identity["attempt"]),
        (&json!("cl"), &json!(1))
    );
    let model = &live["model"];
    assert_eq!(
        (&model["adapter"], &model["asked"], &model["used"]),
        (
            &json!("claude"),
            &json!("claude-asked"),
            &json!(["claude-test"])
        )
    );
    assert_eq!(live["tokenBudget"], json!({"tokens": 1000, "usd": 5.0}));
    let prompt = live["messageLog"][0]["text"].as_str().unwrap();
    assert!(
        prompt.contains("Build it") && prompt.contains("Write tests."),
        "{prompt}"
    );
    let expected = [
        ("assistant", "I look."),
        ("tool", "a project"),
        ("assistant", ""),
        ("tool", NO_RESULT),
    ];
    assert_eq!(said(&live), expected);
    assert_eq!(live["messageLog"][1]["toolCalls"][0]["input"], "README.md");
    let contexts = &live["contexts"];
    let rules = contexts["rules"]["files"].as_array().unwrap();
    let own = rules.iter().find(|file| file["path"] == "rules/style.md");
    assert_eq!(own.unwrap()["text"], "Write tests.\n");
    assert_eq!(
        contexts["notes"]["items"][0]["content"],
        "First the parser."
    );
    assert_eq!(
        contexts["reads"]["files"],
        json!([{"path": "README.md", "via": "tool"}])
    );
    assert_eq!(
        contexts["worktree"]["tip"],
        sandbox.git(&["rev-parse", "HEAD"])
    );
    let conversation = &live["conversation"];
    let session = conversation["session"].as_str().unwrap();
    assert_eq!(conversation["file"], format!("{session}.jsonl"));

    sandbox.release("it");
    let agent = || sandbox.swarm(&["agent", "show", "cl-001", "--json"]).json();
    // It is told to go on, and ends in the same way.
    sandbox.wait_for("the next iteration", || {
        (agent()["iteration"].as_u64() >= Some(2)).then_some(())
    });
    sandbox.swarm(&["pause"]).ok();
    sandbox.wait_for("its end", || (agent()["phase"] == "backoff").then_some(()));
    sandbox.swarm(&["agent", "stop", "cl-001"]).ok();
    sandbox.wait_for("the agent to end", || {
        (!agent()["end"].is_null()).then_some(())
    });
    let ended = export(&sandbox);
    let iterations = ended["identity"]["iterations"].as_u64().unwrap();
    let all = said(&ended);
    assert_eq!(all.len() as u64, 5 * iterations - 1, "{all:#?}");
    assert_eq!(all[..4], expected);
    assert_eq!(all[all.len() - 4..], expected);
    let repairs = ended["repairs"].to_string();
    assert!(repairs.contains("a torn line was left out"), "{repairs}");
    assert_eq!(ended["conversation"]["session"], session);
    assert_eq!(ended["identity"]["uuid"], live["identity"]["uuid"]);
    daemon.stop();
    drop(daemon);
    // Without a daemon, and after it has written its last events.
    let alone = export(&sandbox);
    for part in [
        "identity",
        "messageLog",
        "repairs",
        "conversation",
        "tokenUsage",
    ] {
        assert_eq!(alone[part], ended[part], "{part}");
    }
    let text = alone.to_string();
    assert!(!text.contains("not-to-be-seen"), "{text}");
    assert!(!text.contains("sk-ant-api03"), "{text}");
    assert!(
        contexts["profile"]["envNames"]
            .to_string()
            .contains("ANTHROPIC_API_KEY")
    );
    assert_eq!(export(&sandbox), alone, "the same state, the same document");
}

#[test]
fn a_file_is_private_whole_and_never_over_another() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let agent = sandbox.swarm(&["agent", "list", "--json"]).json()[0]["id"].clone();
    let args = ["agent", "export", agent.as_str().unwrap(), "-o", "a.json"];
    fs::write(sandbox.repo().join("a.json.part"), "what a kill left").unwrap();
    let wrote = sandbox.swarm(&args);
    assert!(wrote.ok().contains("a.json"), "{wrote}");
    let file = sandbox.repo().join("a.json");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!sandbox.repo().join("a.json.part").exists());
    let state: Value = serde_json::from_str(&sandbox.read("a.json")).unwrap();
    assert_eq!(state["identity"]["id"], agent);
    assert_eq!(said(&state).last().unwrap().0, "assistant");
    fs::write(&file, "mine").unwrap();
    sandbox
        .swarm(&args)
        .refused(1, &["is there already", "nothing was written"]);
    assert_eq!(sandbox.read("a.json"), "mine");
    sandbox
        .swarm(&["agent", "export", "ed-099"])
        .refused(1, &["ed-099"]);
}
