//! The programs alone, without swarm: that they and the scripted model understand each other, so
//! that a failure elsewhere is swarm's.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::lab::{BOTH, Lab, commit, dialect, prompt};
use crate::stub::End;

const LIMIT: Duration = Duration::from_secs(60);

/// The JSON lines of an output.
fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The program on its stream, as a person would start it.
pub fn program(lab: &Lab, name: &str) -> Command {
    let profile = lab.profile(name);
    let mut command = lab.command_of(&profile);
    if name == "claude" {
        command.args(["-p", "--output-format", "stream-json", "--verbose"]);
        command.args([
            "--dangerously-skip-permissions",
            "--model",
            "claude-sonnet-4-5",
        ]);
        return command;
    }
    command.args(["exec", "--json", "-m", "gpt-5"]);
    command.arg("--dangerously-bypass-approvals-and-sandbox");
    for arg in profile["args"].as_array().unwrap() {
        command.arg(arg.as_str().unwrap());
    }
    command.arg("-");
    command
}

#[test]
fn the_programs_and_the_stub_understand_each_other() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let script = json!([
        {"sh": commit("one.txt", "1"), "text": "I write it."},
        {"text": "Done.", "say": "COMPLETE"},
    ]);
    for name in BOTH {
        let lab = Lab::new();
        let ran = lab
            .sandbox
            .run(&mut program(&lab, name), prompt(&script).as_bytes(), LIMIT);
        let lines = lines(ran.ok());
        let usage = &lines.last().unwrap()["usage"];
        let served = lab.stub.served(dialect(name));
        // Codex counts what came from the cache as read, claude does not.
        let (input, cached) = match name {
            "claude" => (served.input, "cache_read_input_tokens"),
            _ => (served.input + served.cached, "cached_input_tokens"),
        };
        assert_eq!(usage["input_tokens"], input, "{ran}");
        assert_eq!(usage[cached], served.cached, "{ran}");
        assert_eq!(usage["output_tokens"], served.output, "{ran}");
        assert!(ran.stdout.contains("<swarm>COMPLETE</swarm>"), "{ran}");
        let asked = lab.stub.asked();
        assert!(
            asked.iter().all(|asked| asked.end == End::Served),
            "{asked:#?}"
        );
        assert_eq!(lab.sandbox.file_at("HEAD", "one.txt"), "1");
    }
}
