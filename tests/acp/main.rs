//! The bridge to agents that speak the Agent Client Protocol, with an agent that behaves in many
//! ways: what the bridge says to it, what it writes, and how both end.

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[path = "../it/harness/required_tools.rs"]
mod required_tools;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use swarm::agents::adapter::StartedAs;
use swarm::agents::stream::{Conclusion, Said, text_of};
use swarm::agents::{AdapterKind, adapter};
use swarm::domain::observation::RunEndKind;
use swarm::domain::usage::{Tokens, Usage};
use swarm::domain::verdict::{Cause, Verdict};
use tempfile::TempDir;

const EXE: &str = env!("CARGO_BIN_EXE_swarm");
const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp/agent.py");

/// What came of one turn.
struct Turn {
    raw: String,
    said: Vec<Said>,
    conclusion: Conclusion,
    code: i32,
    /// What the agent was asked.
    asked: Vec<String>,
}

struct Lab {
    dir: TempDir,
}

impl Lab {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn start(&self, way: &str, options: &[&str]) -> Child {
        let mut child = Command::new(EXE)
            .arg("__acp")
            .args(options)
            .args(["--", "python3", AGENT, way])
            .arg(self.log())
            .current_dir(self.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"do it").unwrap();
        child
    }

    fn turn(&self, way: &str, options: &[&str]) -> Turn {
        self.over(self.start(way, options))
    }

    fn over(&self, mut child: Child) -> Turn {
        let mut raw = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut raw)
            .unwrap();
        let code = child.wait().unwrap().code().unwrap();
        let (said, conclusion) = read(&raw, code);
        let asked = fs::read_to_string(self.log()).unwrap_or_default();
        Turn {
            raw,
            said,
            conclusion,
            code,
            asked: asked.lines().map(str::to_owned).collect(),
        }
    }
}

fn read(raw: &str, code: i32) -> (Vec<Said>, Conclusion) {
    let mut reader = adapter(AdapterKind::Acp).reader(&StartedAs::new(AdapterKind::Acp));
    let mut said = Vec::new();
    reader.push(raw.as_bytes(), &mut said);
    reader.finish(&mut said);
    let conclusion = reader.conclude(&RunEndKind::Exited { code }, "");
    (said, conclusion)
}

fn failed(turn: &Turn) -> (Cause, String) {
    assert_eq!(turn.code, 1, "{}", turn.raw);
    match &turn.conclusion.verdict {
        Some(Verdict::Failed { cause, message }) => (cause.clone(), message.clone()),
        other => panic!("{other:?}: {}", turn.raw),
    }
}

#[test]
fn a_turn_is_told_from_its_prompt_to_its_end() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    let lab = Lab::new();
    let turn = lab.turn("works", &[]);
    assert_eq!(
        text_of(&turn.said),
        b"Now <swarm>COMPLETE</swarm>\nDone.",
        "{}",
        turn.raw
    );
    let call = Said::ToolCall {
        id: "c1".into(),
        tool: "shell".into(),
        input: "make".into(),
    };
    let result = Said::ToolResult {
        id: "c1".into(),
        output: "made".into(),
        ok: true,
    };
    assert!(
        turn.said.contains(&call) && turn.said.contains(&result),
        "{}",
        turn.raw
    );
    assert!(turn.said.contains(&Said::Thought("hm".into())));
    assert!(turn.said.contains(&Said::Answered));
    let usage = Usage {
        tokens: Some(Tokens {
            input: 600,
            cached: 400,
            cache_written: 0,
            output: 50,
        }),
        partial: true,
        ..Usage::default()
    };
    let expected = Conclusion {
        verdict: Some(Verdict::Complete),
        usage: Some(usage),
        session: Some("s-1".parse().unwrap()),
    };
    assert_eq!((turn.conclusion, turn.code), (expected, 0));
    let here = fs::canonicalize(lab.dir.path()).unwrap();
    let asked = [
        "client {\"fs\": {\"readTextFile\": false, \"writeTextFile\": false}, \"terminal\": false}"
            .to_owned(),
        format!("new {}", here.display()),
        "prompt do it".to_owned(),
        "allowed once".to_owned(),
        "file -32601".to_owned(),
        "closed".to_owned(),
    ];
    assert_eq!(turn.asked, asked);
}

#[test]
fn a_conversation_goes_on_without_what_was_said_before() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    for (way, asked) in [("works", "load s-1"), ("resumes", "resume s-1")] {
        let lab = Lab::new();
        let turn = lab.turn(way, &["--resume", "s-1"]);
        assert_eq!(
            text_of(&turn.said),
            b"Now <swarm>COMPLETE</swarm>\nDone.",
            "{}",
            turn.raw
        );
        assert!(
            turn.asked.iter().any(|line| line == asked),
            "{:?}",
            turn.asked
        );
    }
    for (way, session) in [("works", "gone"), ("forgets", "s-1")] {
        let lab = Lab::new();
        let turn = lab.turn(way, &["--resume", session]);
        assert_eq!(failed(&turn).0, Cause::Session, "{way}");
        assert!(!turn.asked.iter().any(|line| line.starts_with("prompt")));
    }
    // What cannot be taken up has no name.
    assert_eq!(Lab::new().turn("forgets", &[]).conclusion.session, None);
}

#[test]
fn a_model_is_asked_for_where_there_is_a_choice() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    let lab = Lab::new();
    let turn = lab.turn("models", &["--model", "big"]);
    assert_eq!(
        turn.conclusion.verdict,
        Some(Verdict::Complete),
        "{}",
        turn.raw
    );
    assert!(turn.asked.iter().any(|line| line == "option m big"));
    let (cause, message) = failed(&Lab::new().turn("models", &["--model", "none"]));
    assert_eq!(cause, Cause::Profile);
    assert!(
        message.contains("`none`") && message.contains("no such model"),
        "{message}"
    );
    let (_, message) = failed(&Lab::new().turn("works", &["--model", "big"]));
    assert!(message.contains("no choice of a model"), "{message}");
}

#[test]
fn an_agent_with_modes_gets_the_one_in_which_it_asks_nobody() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    for way in ["modes", "keeps-its-mode"] {
        let turn = Lab::new().turn(way, &[]);
        let complete = Some(Verdict::Complete);
        assert_eq!(turn.conclusion.verdict, complete, "{}", turn.raw);
        let asked = turn
            .asked
            .iter()
            .position(|line| line == "mode bypassPermissions");
        let prompt = turn.asked.iter().position(|line| line == "prompt do it");
        assert!(asked.is_some() && asked < prompt, "{:?}", turn.asked);
        let note = Said::Note("it refuses the mode bypassPermissions: not as root".into());
        assert_eq!(
            turn.said.contains(&note),
            way == "keeps-its-mode",
            "{}",
            turn.raw
        );
    }
    assert!(
        !Lab::new()
            .turn("works", &[])
            .asked
            .iter()
            .any(|line| line.starts_with("mode "))
    );
}

#[test]
fn each_session_gets_the_server_of_the_memory() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    let server = r#"{"name":"swarm","command":"/bin/swarm","args":["mcp"],
        "env":[{"name":"SWARM_RUN_ID","value":"r-1"}]}"#;
    for session in [&[][..], &["--resume", "s-1"]] {
        let options = [&["--mcp-server", server][..], session].concat();
        let turn = Lab::new().turn("works", &options);
        let complete = Some(Verdict::Complete);
        assert_eq!(turn.conclusion.verdict, complete, "{}", turn.raw);
        let told = turn.asked.iter().filter(|line| line.starts_with("server "));
        let told: Vec<&String> = told.collect();
        assert_eq!(told, ["server swarm /bin/swarm SWARM_RUN_ID"]);
    }
    let turn = Lab::new().turn("works", &[]);
    assert!(!turn.asked.iter().any(|line| line.starts_with("server ")));
}

#[test]
fn failures_say_what_was_to_blame() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    for (way, cause, words) in [
        ("not-logged-in", Cause::Login, "Authentication required"),
        ("limit", Cause::Limit { until: None }, "slow down"),
        ("overloaded", Cause::Overloaded, "503 Service Unavailable"),
        ("refuses", Cause::Other, "refused"),
        ("other-version", Cause::Profile, "version 7"),
        (
            "dies-first",
            Cause::Profile,
            "before its turn began (exit status: 3)",
        ),
    ] {
        let (found, message) = failed(&Lab::new().turn(way, &[]));
        assert_eq!(found, cause, "{way}");
        assert!(message.contains(words), "{way}: {message}");
    }
}

#[test]
fn an_agent_that_is_gone_in_the_middle_is_cut_off() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    for (way, status) in [
        ("dies", "exit status: 3"),
        ("leaves-a-child", "exit status: 4"),
    ] {
        let turn = Lab::new().turn(way, &[]);
        assert_eq!(
            (turn.conclusion.verdict, turn.code),
            (Some(Verdict::Cut), 1),
            "{}",
            turn.raw
        );
        assert_eq!(text_of(&turn.said), b"Now <swarm>COMP");
        let noted = |said: &Said| matches!(said, Said::Note(note) if note.contains(status));
        assert!(turn.said.iter().any(noted), "{}", turn.raw);
    }
}

#[test]
fn what_is_no_protocol_is_noted_and_no_failure() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    let turn = Lab::new().turn("garbage", &[]);
    assert_eq!(
        turn.conclusion.verdict,
        Some(Verdict::Complete),
        "{}",
        turn.raw
    );
    assert_eq!(text_of(&turn.said), b"Now <swarm>COMPLETE</swarm>\nDone.");
    assert!(
        turn.said.contains(&Said::Note("this is no JSON".into())),
        "{}",
        turn.raw
    );
}

#[test]
fn an_agent_that_does_not_leave_is_ended() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    let turn = Lab::new().turn("lingers", &[]);
    assert_eq!(
        (turn.conclusion.verdict, turn.code),
        (Some(Verdict::Complete), 0),
        "{}",
        turn.raw
    );
}

#[test]
fn an_agent_that_cannot_be_started_is_a_clear_failure() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    let output = Command::new(EXE)
        .args(["__acp", "--", "/no/such/agent"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let raw = String::from_utf8(output.stdout).unwrap();
    let (_, conclusion) = read(&raw, output.status.code().unwrap());
    let Some(Verdict::Failed { cause, message }) = conclusion.verdict else {
        panic!("{raw}");
    };
    assert_eq!(cause, Cause::Profile, "no work is to blame");
    assert!(
        message.contains("cannot start `/no/such/agent`"),
        "{message}"
    );
    let bad = Command::new(EXE).arg("__acp").output().unwrap();
    assert_eq!(bad.status.code(), Some(2));
}

#[test]
fn an_end_of_the_bridge_is_one_of_the_agent() {
    if required_tools::are_missing(&["python3"]) {
        return;
    }
    let lab = Lab::new();
    let mut child = lab.start("waits", &[]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // It is at work, and has said so.
    let at_work = |line: Result<String, _>| line.unwrap().contains("Now");
    assert!(lines.by_ref().any(at_work));
    while !fs::read_to_string(lab.log()).unwrap().contains("waits") {
        std::thread::yield_now();
    }
    kill(
        Pid::from_raw(i32::try_from(child.id()).unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(fs::read_to_string(lab.log()).unwrap().contains("signal 15"));
    // Nobody holds its output any more.
    assert_eq!(lines.count(), 0);
}
