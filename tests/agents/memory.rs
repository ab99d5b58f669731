//! The memory in the hands of real programs: each starts `swarm mcp` as it was told to. That no
//! server is left, `work_off` looks after.

use serde_json::{Value, json};

use crate::lab::{BOTH, Lab, commit};
use crate::stub::Asked;

fn step(tool: &str, args: &Value) -> Value {
    json!({"tool": tool, "args": args})
}

fn write(key: &str, value: &str, version: u64) -> Value {
    let args = json!({"key": key, "value": value, "expectedVersion": version, "evidence": []});
    step("fact_write", &args)
}

/// Learns, writes a fact, meets a conflict, and writes again on the version that it was told.
fn script(name: &str) -> Value {
    let key = format!("{name}.port");
    json!([
        step("learn", &json!({"content": format!("{name} found out something")})),
        write(&key, "8080", 0),
        step("fact_get", &json!({ "key": key })),
        write(&key, "9090", 0),
        write(&key, "9090", 1),
        {"sh": commit(&format!("{name}.txt"), name)},
        {"text": "Done.", "say": "COMPLETE"},
    ])
}

/// What its tools gave the agent, as its last request holds it.
fn results(lab: &Lab, name: &str) -> Vec<String> {
    let asked = lab.stub.asked_for(&format!("{name}.txt"));
    let last: &Asked = asked.last().unwrap();
    last.results.clone()
}

#[test]
fn real_agents_learn_write_and_settle_conflicts() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    let ideas = lab.ideas(script);
    lab.work_off();
    for (name, idea) in BOTH.into_iter().zip(ideas) {
        let given = results(&lab, name);
        assert_eq!(given.len(), 6, "{name}: {given:#?}");
        let has = |number: usize, words: &[&str]| {
            let text = given[number].replace('\\', "");
            for word in words {
                assert!(text.contains(word), "{name}, result {number}: {text}");
            }
        };
        has(0, &["learning-00", "\"known\":false"]);
        has(1, &["\"version\":1"]);
        has(2, &["\"value\":\"8080\"", "\"status\":\"active\""]);
        has(3, &["FACT_CONFLICT", "\"current\":", "8080"]);
        has(4, &["\"version\":2"]);
        let written = lab.sandbox.logged("factWritten");
        let key = format!("{name}.port");
        let own = written.iter().filter(|event| event.data["key"] == key);
        let authors: Vec<&Value> = own.map(|event| &event.data["evidence"]["author"]).collect();
        assert_eq!(authors.len(), 2, "{name}: {written:?}");
        for author in authors {
            assert_eq!(author["kind"], "agent", "{name}: {author}");
            assert_eq!(author["ideaId"], idea, "{name}: {author}");
            assert_eq!(author["id"].as_str().unwrap().split('-').next(), Some(name));
        }
    }
    lab.sandbox.assert_log_sound();
}

/// A server that cannot be started, and one that never says a word.
const BROKEN: [[&str; 2]; 2] = [["/no/such/program", "x"], ["tail", "-f/dev/null"]];

#[test]
fn an_agent_whose_server_is_broken_works_without_the_tools() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    for [program, arg] in BROKEN {
        let lab = Lab::new();
        let server = json!({"mcpServers": {"broken": {"command": program, "args": [arg]}}});
        let mut claude = lab.profile("claude");
        // Without a limit of its own it waits longer for such a server than the test may take.
        claude["args"] = json!(["--mcp-config", server.to_string()]);
        claude["env"]["MCP_TIMEOUT"] = "3000".into();
        let mut codex = lab.profile("codex");
        for setting in [
            format!("mcp_servers.swarm.command=\"{program}\""),
            format!("mcp_servers.swarm.args=[\"{arg}\"]"),
            "mcp_servers.swarm.startup_timeout_sec=3".to_owned(),
        ] {
            let args = codex["args"].as_array_mut().unwrap();
            args.extend(["-c".into(), setting.into()]);
        }
        lab.configure(&json!({"agents": {"profiles": {"claude": claude, "codex": codex}}}));
        lab.ideas(|name| {
            json!([
                {"sh": commit(&format!("{name}.txt"), name)},
                {"text": "Done.", "say": "COMPLETE"},
            ])
        });
        lab.work_off();
    }
}
