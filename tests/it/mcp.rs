//! `swarm mcp` as an agent's program speaks with it: JSON lines on its standard input and output.
//! The tools of the memory; those of a person's own agent are in `person_tools`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Sandbox};

/// How long the server may take to end after its input did.
pub const END: Duration = Duration::from_secs(1);
/// Servers that write one fact at the same time, and how often each does; `SWARM_IT_INCREMENTS`
/// sets how often.
const WRITERS: usize = 16;
const INCREMENTS: usize = 10;

/// The tools of the memory, in the order of the list.
pub const TOOLS: [&str; 9] = [
    "memory_search",
    "fact_get",
    "memory_log",
    "scratch_get",
    "learn",
    "fact_write",
    "fact_confirm",
    "fact_dispute",
    "scratch_put",
];

/// A running server and its client.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
}

#[allow(clippy::needless_pass_by_value)] // callers write `json!` in place
impl Server {
    /// Starts it, without a word.
    pub fn spawn(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.swarm_command(&[&["mcp"], args].concat());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
            asked: 0,
        }
    }

    /// Starts it and shakes hands, as programs of the protocol's older era do.
    pub fn start(sandbox: &Sandbox) -> Self {
        Self::start_with(sandbox, &[])
    }

    /// The same, with these arguments.
    pub fn start_with(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut server = Self::spawn(sandbox, args);
        let answer = server.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "a-test", "version": "1"},
            }),
        );
        assert_eq!(answer["result"]["serverInfo"]["name"], "swarm", "{answer}");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    /// The answer to a request. Everything on standard output is the protocol.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let line = self.lines.recv_timeout(PATIENCE).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The result of a tool call as JSON, or as `Err` the error that it reports.
    pub fn call(&mut self, tool: &str, args: Value) -> Result<Value, Value> {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": args}));
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{tool}: {answer}"));
        let result: Value = serde_json::from_str(text).unwrap();
        if answer["result"]["isError"] == true {
            return Err(result["error"].clone());
        }
        Ok(result)
    }

    pub fn ok(&mut self, tool: &str, args: Value) -> Value {
        let result = self.call(tool, args.clone());
        result.unwrap_or_else(|error| panic!("{tool} {args}: {error:#}"))
    }

    /// The tools as it lists them.
    pub fn tools(&mut self) -> Vec<Value> {
        let answer = self.ask("tools/list", json!({}));
        answer["result"]["tools"].as_array().unwrap().clone()
    }

    /// Closes its input; how long it took to end.
    pub fn close(mut self) -> Duration {
        let start = Instant::now();
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
        let took = start.elapsed();
        assert!(self.lines.recv_timeout(PATIENCE).is_err(), "no more lines");
        took
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A repository with a daemon that starts nothing.
pub fn quiet() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    sandbox
}

/// The names of tools.
pub fn names(tools: &[Value]) -> Vec<&str> {
    let names = tools.iter().map(|tool| tool["name"].as_str());
    names.map(Option::unwrap).collect()
}

/// How many fields `format` there are, whose values some clients do not know.
pub fn formats(schema: &Value) -> usize {
    match schema {
        Value::Object(fields) => {
            let own = usize::from(fields.get("format").is_some_and(Value::is_string));
            own + fields.values().map(formats).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(formats).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[test]
fn the_tools_are_few_small_and_say_what_they_do() {
    let sandbox = quiet();
    let mut server = Server::start(&sandbox);
    let mut tools = server.tools();
    // The others are those of a person's own agent.
    tools.truncate(TOOLS.len());
    assert_eq!(names(&tools), TOOLS);
    let listed = Value::Array(tools.clone());
    let bytes = listed.to_string().len();
    assert!(bytes <= 6 * 1024, "{bytes} bytes");
    assert_eq!(formats(&listed), 0);
    for (number, tool) in tools.iter().enumerate() {
        let hints = &tool["annotations"];
        assert_eq!(hints["openWorldHint"], false, "{tool:#}");
        if number < 4 {
            assert_eq!(hints["readOnlyHint"], true, "{tool:#}");
        } else {
            assert_eq!(hints["readOnlyHint"], false, "{tool:#}");
            assert_eq!(hints["destructiveHint"], false, "{tool:#}");
            assert_eq!(hints["idempotentHint"], true, "{tool:#}");
        }
    }
    assert!(server.close() < END);
}

/// The metadata that each request of the protocol's newer era carries.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "a-test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn a_client_without_a_handshake_is_served() {
    let sandbox = quiet();
    let mut server = Server::spawn(&sandbox, &[]);
    let found = server.ask("server/discover", json!({"_meta": meta()}));
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28"), "{found}");
    let listed = server.ask("tools/list", json!({"_meta": meta()}));
    assert!(listed["result"]["tools"].as_array().unwrap().len() > TOOLS.len());
    let call = json!({
        "name": "fact_write", "_meta": meta(), "arguments": {
            "key": "api.port", "value": "8080", "expectedVersion": 0, "evidence": [],
        },
    });
    let written = server.ask("tools/call", call);
    let text = written["result"]["content"][0]["text"].as_str().unwrap();
    let result: Value = serde_json::from_str(text).unwrap();
    assert_eq!(result["version"], 1, "{written}");
    assert!(server.close() < END);
}

/// Uses each tool once and meets a conflict.
fn use_each_tool(server: &mut Server) {
    let args = json!({"content": "The build needs protoc", "paths": ["build.rs"]});
    let learned = server.ok("learn", args.clone());
    assert_eq!(learned["known"], false, "{learned}");
    let learning = learned["id"].clone();
    assert_eq!(server.ok("learn", args)["id"], learning);
    let write = |version: u64, value: &str| {
        json!({"key": "api.port", "value": value, "expectedVersion": version,
            "evidence": [learning], "paths": ["src/api.rs"]})
    };
    let written = server.ok("fact_write", write(0, "The API listens on 8080"));
    assert_eq!(written["version"], 1, "{written}");
    assert!(written["seq"].as_u64() > Some(0), "{written}");
    let conflict = server.call("fact_write", write(0, "9090")).unwrap_err();
    assert_eq!(conflict["code"], "FACT_CONFLICT", "{conflict:#}");
    assert_eq!(conflict["current"]["version"], 1, "{conflict:#}");
    assert_eq!(conflict["current"]["value"], "The API listens on 8080");
    let version = conflict["current"]["version"].as_u64().unwrap();
    assert_eq!(
        server.ok("fact_write", write(version, "9090"))["version"],
        2
    );
    let about = json!({"key": "api.port", "version": 2, "evidence": []});
    assert_eq!(server.ok("fact_confirm", about.clone())["status"], "active");
    let mut other = about;
    other["value"] = "7070".into();
    let disputed = server.ok("fact_dispute", other);
    assert_eq!(disputed["status"], "contradicted", "{disputed}");
    let fact = server.ok("fact_get", json!({"key": "api.port"}));
    assert_eq!(
        (&fact["version"], &fact["value"]),
        (&json!(3), &json!("9090"))
    );
    assert_eq!(fact["claims"][0]["value"], "7070", "{fact:#}");
    assert_eq!(fact["history"].as_array().unwrap().len(), 1, "{fact:#}");
    let hits = server.ok(
        "memory_search",
        json!({"query": "protoc build", "limit": 5}),
    );
    assert_eq!(hits["hits"][0]["ref"], learning, "{hits:#}");
    let log = server.ok("memory_log", json!({"kind": "factWritten"}));
    assert_eq!(log["events"].as_array().unwrap().len(), 2, "{log:#}");
    let later = server.ok("memory_log", json!({"since": log["next"]}));
    let kinds: Vec<&Value> = later["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| &event["kind"])
        .collect();
    // Whoever wrote the value adds no evidence by confirming it.
    assert_eq!(kinds, ["factDisputed"], "{later:#}");
    use_scratchpad(server);
}

fn use_scratchpad(server: &mut Server) {
    let put = json!({"key": "tasks/auth.md", "content": "1. tokens\n2. tests\n", "keep": true});
    let version = server.ok("scratch_put", put)["version"].clone();
    let note = server.ok("scratch_get", json!({"key": "tasks/auth.md"}));
    assert_eq!(
        note["notes"][0]["content"], "1. tokens\n2. tests\n",
        "{note:#}"
    );
    assert_eq!(note["notes"][0]["version"], version, "{note:#}");
    let listed = server.ok("scratch_get", json!({"prefix": "tasks/"}));
    assert_eq!(listed["notes"].as_array().unwrap().len(), 1, "{listed:#}");
    let stale = json!({"key": "tasks/auth.md", "content": "x", "expectedVersion": 1});
    let conflict = server.call("scratch_put", stale).unwrap_err();
    assert_eq!(conflict["code"], "NOTE_CONFLICT", "{conflict:#}");
    assert_eq!(conflict["current"]["version"], version, "{conflict:#}");
    server.ok(
        "scratch_put",
        json!({"key": "tasks/auth.md", "content": null}),
    );
    let gone = server.ok("scratch_get", json!({"prefix": ""}));
    assert_eq!(gone["notes"], json!([]), "{gone:#}");
}

#[test]
fn each_tool_works_with_a_daemon_and_without() {
    for with_daemon in [false, true] {
        let sandbox = quiet();
        let daemon = with_daemon.then(|| sandbox.start());
        let mut server = Server::start(&sandbox);
        use_each_tool(&mut server);
        assert!(server.close() < END);
        if let Some(daemon) = daemon {
            daemon.stop();
        }
        sandbox.assert_log_sound();
        sandbox.assert_nothing_runs();
    }
}

#[test]
fn a_person_sees_which_program_of_theirs_wrote() {
    let sandbox = quiet();
    let mut server = Server::start(&sandbox);
    server.ok("learn", json!({"content": "found without a daemon"}));
    let daemon = sandbox.start();
    server.ok("learn", json!({"content": "found with a daemon"}));
    let learned = sandbox.logged("learned");
    assert_eq!(learned.len(), 2);
    for event in learned {
        let author = &event.data["evidence"]["author"];
        assert_eq!(author["kind"], "mcp", "{author}");
        assert_eq!(author["client"], "a-test", "{author}");
    }
    assert!(server.close() < END);
    daemon.stop();
}

#[test]
fn what_cannot_be_done_is_an_answer_and_what_cannot_be_called_is_an_error() {
    let sandbox = quiet();
    let mut server = Server::start(&sandbox);
    let refused = server
        .call("fact_get", json!({"key": "no.such"}))
        .unwrap_err();
    assert_eq!(refused["code"], "FACT_UNKNOWN", "{refused:#}");
    let refused = server
        .call("fact_get", json!({"key": "No Such"}))
        .unwrap_err();
    assert_eq!(refused["code"], "KEY_INVALID", "{refused:#}");
    let local = json!({"content": "x", "local": true});
    let refused = server.call("learn", local).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("profile"));
    let unknown = server.ask("tools/call", json!({"name": "rollback", "arguments": {}}));
    let message = unknown["error"]["message"].as_str().unwrap();
    assert!(TOOLS.iter().all(|name| message.contains(name)), "{message}");
    let bad = json!({"name": "fact_get", "arguments": {"keys": "api.port"}});
    let bad = server.ask("tools/call", bad);
    let message = bad["error"]["message"].as_str().unwrap();
    assert!(message.contains("expected `key`"), "{message}");
    // It goes on after a line that is no message.
    writeln!(server.input.as_mut().unwrap(), "this is not JSON").unwrap();
    assert!(server.ask("tools/list", json!({}))["result"].is_object());
    assert!(server.close() < END);
}

#[test]
fn the_daemon_may_be_killed_and_started_between_two_calls() {
    let sandbox = quiet();
    let mut server = Server::start(&sandbox);
    for round in 0..3_u64 {
        let daemon = sandbox.start();
        let write = |version: u64| {
            json!({"key": "round", "value": format!("it is {version}"),
                "expectedVersion": version, "evidence": []})
        };
        assert_eq!(
            server.ok("fact_write", write(2 * round))["version"],
            2 * round + 1
        );
        daemon.kill();
        let written = server.ok("fact_write", write(2 * round + 1));
        assert_eq!(written["version"], 2 * round + 2);
    }
    assert!(server.close() < END);
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}

/// Adds one to the fact so often, by compare-and-swap alone; how many conflicts there were.
fn count_up(server: &mut Server, times: usize) -> usize {
    let (mut version, mut conflicts) = (0, 0);
    let mut done = 0;
    while done < times {
        let write = json!({"key": "count", "value": format!("{}", version + 1),
            "expectedVersion": version, "evidence": []});
        match server.call("fact_write", write) {
            Ok(written) => {
                version = written["version"].as_u64().unwrap();
                done += 1;
            }
            Err(conflict) => {
                assert_eq!(conflict["code"], "FACT_CONFLICT", "{conflict:#}");
                version = conflict["current"]["version"].as_u64().unwrap();
                let value = conflict["current"]["value"].as_str().unwrap();
                assert_eq!(value, version.to_string());
                conflicts += 1;
            }
        }
    }
    conflicts
}

#[test]
fn many_servers_count_one_fact_up_and_lose_nothing() {
    let times = std::env::var("SWARM_IT_INCREMENTS");
    let times = times.map_or(INCREMENTS, |times| times.parse().unwrap());
    let sandbox = quiet();
    let daemon = sandbox.start();
    let start = Instant::now();
    let conflicts: usize = thread::scope(|scope| {
        let count = || {
            let mut server = Server::start(&sandbox);
            let conflicts = count_up(&mut server, times);
            assert!(server.close() < 5 * END);
            conflicts
        };
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(count)).collect();
        writers.into_iter().map(|it| it.join().unwrap()).sum()
    });
    let total = WRITERS * times;
    println!(
        "{total} increments and {conflicts} conflicts in {:?}",
        start.elapsed()
    );
    let mut server = Server::start(&sandbox);
    let fact = server.ok("fact_get", json!({"key": "count"}));
    assert_eq!(fact["version"], total, "{fact:#}");
    assert_eq!(fact["value"], total.to_string(), "{fact:#}");
    assert!(server.close() < END);
    assert_eq!(sandbox.logged("factWritten").len(), total);
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn it_ends_with_its_input_and_when_nobody_reads() {
    let sandbox = quiet();
    assert!(Server::spawn(&sandbox, &[]).close() < END);
    // A client that died reads nothing any more: the next answer cannot be written.
    let mut command = sandbox.swarm_command(&["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    // Whether it has ended before all of this is written is its own matter.
    let _ = writeln!(input, "{ping}");
    let _ = writeln!(input, "{ping}");
    drop(input);
    sandbox.wait_within(PATIENCE, "the server to end", || child.try_wait().unwrap());
    sandbox.assert_nothing_runs();
}

#[test]
fn doctor_names_the_profiles_whose_agents_get_no_tools() {
    let sandbox = quiet();
    let line = "agents of profile `ed` reach the memory by the command line only";
    let ran = sandbox.swarm(&["doctor"]);
    assert!(ran.stdout.contains(line), "{ran}");
    // Whoever turned the tools off knows it.
    sandbox.configure(&json!({"mode": "semi-auto", "agents": {"mcp": false}}));
    let ran = sandbox.swarm(&["doctor"]);
    assert!(!ran.stdout.contains(line), "{ran}");
}
