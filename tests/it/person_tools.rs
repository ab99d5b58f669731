//! The tools that `swarm mcp` offers a person's own agent, and that nobody gets in a run.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::Sandbox;
use crate::mcp::{END, Server, TOOLS, formats, meta, names, quiet};

/// Those that change nothing, and the others.
const READING: [&str; 6] = [
    "status",
    "needs_you",
    "report",
    "idea_list",
    "idea_show",
    "agent_logs",
];
const CHANGING: [&str; 8] = [
    "idea_add",
    "idea_edit",
    "idea_assign",
    "idea_retry",
    "agent_say",
    "pause",
    "resume",
    "checkpoint_create",
];
/// Those of the memory that change nothing.
const MEMORY_READING: [&str; 4] = ["memory_search", "fact_get", "memory_log", "scratch_get"];
/// What a person types: it loses work, or decides what lands.
const NO_TOOLS: [&str; 12] = [
    "rollback",
    "undo",
    "idea_cancel",
    "agent_stop",
    "agent_redirect",
    "stop",
    "memory_retract",
    "retract",
    "merge_approve",
    "merge_reject",
    "checkpoint_delete",
    "shutdown",
];
/// Most bytes of an answer.
const MAX_ANSWER: usize = 24 * 1024;

/// What the scripted agent does for such an idea.
fn doing(what: &str) -> String {
    format!("An idea of the test\n\nDO: {what}")
}

/// What the command line prints.
fn typed(sandbox: &Sandbox, args: &str) -> Value {
    let args: Vec<&str> = args.split(' ').chain(["--json"]).collect();
    sandbox.swarm(&args).json()
}

/// The error of a call that the list of tools rules out.
fn not_a_tool(server: &mut Server, name: &str) -> String {
    let answer = server.ask("tools/call", json!({"name": name, "arguments": {}}));
    let message = answer["error"]["message"].as_str();
    message
        .unwrap_or_else(|| panic!("{name}: {answer}"))
        .to_owned()
}

#[test]
fn a_persons_agent_gets_more_tools_that_say_what_they_do() {
    let sandbox = quiet();
    let mut server = Server::start(&sandbox);
    let tools = server.tools();
    assert_eq!(
        names(&tools),
        [&TOOLS[..], &READING[..], &CHANGING[..]].concat()
    );
    let listed = Value::Array(tools.clone());
    let bytes = listed.to_string().len();
    assert!(bytes <= 12 * 1024, "{bytes} bytes");
    assert_eq!(formats(&listed), 0);
    for tool in &tools[TOOLS.len()..] {
        let (name, hints) = (tool["name"].as_str().unwrap(), &tool["annotations"]);
        assert_eq!(hints["openWorldHint"], false, "{tool:#}");
        let reads = READING.contains(&name);
        assert_eq!(hints["readOnlyHint"], reads, "{tool:#}");
        if !reads {
            assert_eq!(hints["destructiveHint"], false, "{tool:#}");
            let adds = ["idea_add", "agent_say"].contains(&name);
            assert_eq!(hints["idempotentHint"], !adds, "{tool:#}");
        }
    }
    for name in NO_TOOLS {
        let message = not_a_tool(&mut server, name);
        assert!(message.contains("there is no tool"), "{message}");
        assert!(message.contains("checkpoint_create"), "{message}");
    }
    assert!(server.close() < END);
}

/// Adds and changes ideas, and reads what the command line reads.
fn use_backlog(sandbox: &Sandbox, server: &mut Server) {
    let add = json!({
        "content": doing("hold work; seq 1 300; write a.txt a; say COMPLETE"),
        "tags": ["docs"], "priority": 4, "review": true,
    });
    assert_eq!(server.ok("idea_add", add)["id"], "idea-001");
    let second = json!({"content": doing("say BLOCKED:no"), "after": ["1"]});
    assert_eq!(server.ok("idea_add", second)["id"], "idea-002");
    let edit = json!({"id": "2", "after": [], "tags": ["quick-win"], "priority": -3});
    assert!(server.ok("idea_edit", edit)["seq"].is_u64());
    let shown = server.ok("idea_show", json!({"id": "idea-002"}));
    assert_eq!(shown, typed(sandbox, "idea show 2"));
    assert_eq!(shown["tags"], json!(["quick-win"]), "{shown:#}");
    assert_eq!(shown["after"], json!([]), "{shown:#}");
    assert_eq!(shown["priority"], -3, "{shown:#}");
    let first = server.ok("idea_show", json!({"id": "1"}));
    assert_eq!(first["review"], true, "{first:#}");
    let ideas = server.ok("idea_list", json!({"status": "pending"}));
    assert_eq!(ideas["ideas"].as_array().unwrap().len(), 2, "{ideas:#}");
    let none = server.ok("idea_list", json!({"status": "done"}));
    assert_eq!(none, json!({"ideas": []}));
    assert_eq!(server.ok("report", json!({})), typed(sandbox, "report"));
    let unknown = server.call("idea_edit", json!({"id": "9", "priority": 1}));
    assert_eq!(unknown.unwrap_err()["code"], "IDEA_UNKNOWN");
    let bad = server.call("report", json!({"since": "yesterday"}));
    assert_eq!(bad.unwrap_err()["code"], "USAGE");
}

/// Whoever wrote is in the log, before the events of each operation.
fn assert_all_by_the_client(sandbox: &Sandbox, operations: usize) {
    let taken = sandbox.logged("commandTaken");
    assert_eq!(taken.len(), operations, "{taken:?}");
    for event in taken {
        assert_eq!(event.data["by"]["kind"], "mcp", "{event:?}");
        assert_eq!(event.data["by"]["client"], "a-test", "{event:?}");
    }
}

#[test]
fn each_tool_works_with_a_daemon() {
    let sandbox = quiet();
    let daemon = sandbox.start();
    let mut server = Server::start(&sandbox);
    use_backlog(&sandbox, &mut server);
    let status = server.ok("status", json!({}));
    assert_eq!(status, typed(&sandbox, "status"));
    server.ok("idea_assign", json!({"id": "1"}));
    sandbox.wait_held("work");
    let say = json!({"id": "ed-001", "text": "use port 8080"});
    server.ok("agent_say", say);
    let agent = typed(&sandbox, "agent show 1");
    assert_eq!(agent["said"][0]["text"], "use port 8080", "{agent:#}");
    server.ok("pause", json!({"reason": "a release"}));
    let status = server.ok("status", json!({}));
    assert_eq!(status["pauseReason"], "a release", "{status:#}");
    server.ok("resume", json!({}));
    sandbox.release("work");
    sandbox.wait_needs_you("review");
    let needs = server.ok("needs_you", json!({}));
    assert_eq!(needs["needsYou"], sandbox.status()["needsYou"], "{needs:#}");
    let logs = server.ok("agent_logs", json!({"id": "1", "lines": 5}));
    let lines = logs["lines"].as_array().unwrap();
    assert_eq!((lines.len(), &logs["more"]), (5, &json!(true)), "{logs:#}");
    let all = typed(&sandbox, "agent logs 1 --lines 1000");
    let logs = server.ok("agent_logs", json!({"id": "ed-001", "lines": 1000}));
    assert_eq!(logs["more"], false, "{logs:#}");
    assert_eq!(logs["lines"], all["lines"]);
    server.ok("idea_assign", json!({"id": "2"}));
    sandbox.wait_idea("idea-002", "blocked");
    server.ok("idea_retry", json!({"id": "2"}));
    assert_eq!(sandbox.logged("ideaRetried").len(), 1);
    server.ok("checkpoint_create", json!({"name": "mine"}));
    let checkpoints = typed(&sandbox, "checkpoint list");
    assert!(
        checkpoints.to_string().contains("\"mine\""),
        "{checkpoints}"
    );
    assert!(server.close() < END);
    daemon.stop();
    assert_all_by_the_client(&sandbox, 10);
    sandbox.assert_log_sound();
}

#[test]
fn without_a_daemon_they_do_what_the_command_line_does() {
    let sandbox = quiet();
    let mut server = Server::start(&sandbox);
    use_backlog(&sandbox, &mut server);
    assert_eq!(server.ok("status", json!({})), typed(&sandbox, "status"));
    let needs = server.ok("needs_you", json!({}));
    assert_eq!(needs["needsYou"], json!([]), "{needs:#}");
    for (tool, args) in [
        ("pause", json!({})),
        ("resume", json!({})),
        ("agent_say", json!({"id": "ed-001", "text": "x"})),
    ] {
        let refused = server.call(tool, args).unwrap_err();
        assert_eq!(refused["code"], "NO_DAEMON", "{tool}: {refused:#}");
    }
    let unknown = server.call("agent_logs", json!({"id": "ed-001"}));
    assert_eq!(unknown.unwrap_err()["code"], "AGENT_UNKNOWN");
    let created = server.ok("checkpoint_create", json!({"name": "mine"}));
    assert!(created["seq"].is_u64(), "{created}");
    let again = server.call("checkpoint_create", json!({"name": "mine"}));
    assert_eq!(again.unwrap_err()["code"], "CHECKPOINT_TAKEN");
    server.ok("idea_assign", json!({"id": "2"}));
    assert!(server.close() < END);
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-002", "blocked");
    daemon.stop();
    drop(daemon);
    let mut server = Server::start(&sandbox);
    server.ok("idea_retry", json!({"id": "2"}));
    let logs = server.ok("agent_logs", json!({"id": "1"}));
    assert_eq!(logs["lines"], typed(&sandbox, "agent logs 1")["lines"]);
    assert!(server.close() < END);
    assert_all_by_the_client(&sandbox, 5);
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}

#[test]
fn long_answers_are_shortened_and_say_so() {
    let sandbox = quiet();
    let daemon = sandbox.start();
    let mut server = Server::start(&sandbox);
    let long = "a long idea ".repeat(200);
    for number in 0..40 {
        server.ok("idea_add", json!({"content": format!("{number} {long}")}));
    }
    for (tool, list) in [("idea_list", "ideas"), ("report", "waiting")] {
        let answer = server.ok(tool, json!({}));
        let bytes = answer.to_string().len();
        assert!(bytes < MAX_ANSWER + 100, "{tool}: {bytes} bytes");
        let shown = answer[list].as_array().unwrap().len();
        assert!(shown > 10, "{tool}: {shown}");
        assert_eq!(
            answer["more"][list],
            40 - shown,
            "{tool}: {}",
            answer["more"]
        );
        let text = answer[list][0]["content"].as_str().unwrap();
        assert!(text.ends_with(" more bytes)"), "{tool}: {text}");
    }
    let idea = server.ok("idea_show", json!({"id": "1"}));
    let content = idea["content"].as_str().unwrap();
    assert_eq!(content.trim_end(), format!("0 {}", long.trim_end()));
    assert!(server.close() < END);
    daemon.stop();
}

#[test]
fn with_allow_read_nothing_can_be_changed() {
    let sandbox = quiet();
    sandbox.swarm(&["idea", "add", "an idea"]).ok();
    let daemon = sandbox.start();
    let before = sandbox.log().len();
    let mut server = Server::start_with(&sandbox, &["--allow", "read"]);
    let tools = server.tools();
    assert_eq!(names(&tools), [&MEMORY_READING[..], &READING[..]].concat());
    for tool in &tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool:#}");
    }
    let changing = TOOLS.into_iter().filter(|it| !MEMORY_READING.contains(it));
    for name in changing.chain(CHANGING).chain(NO_TOOLS) {
        let message = not_a_tool(&mut server, name);
        let offered = message.split_once("; there are ").unwrap().1;
        assert!(offered.contains("idea_show"), "{message}");
        assert!(!offered.contains("idea_add"), "{message}");
        assert!(!offered.contains("learn"), "{message}");
    }
    assert_eq!(server.ok("idea_show", json!({"id": "1"}))["id"], "idea-001");
    assert_eq!(
        server.ok("scratch_get", json!({"prefix": ""}))["notes"],
        json!([])
    );
    assert_eq!(sandbox.log().len(), before);
    assert!(server.close() < END);
    let refused = sandbox.swarm(&["mcp", "--allow", "write"]);
    refused.refused(2, &["read"]);
    daemon.stop();
}

/// Writes what a client sends that lists the tools and then calls some; gives the command that has
/// a server answer it into a file of this name.
fn client(sandbox: &Sandbox) -> impl Fn(&str, &str) -> String {
    let call = |name: &str| json!({"name": name, "_meta": meta(), "arguments": {}});
    let lines = [
        ("tools/list", json!({"_meta": meta()})),
        ("tools/call", call("pause")),
        ("tools/call", call("status")),
        ("tools/call", call("idea_add")),
    ];
    let lines = lines.into_iter().enumerate().map(|(id, (method, params))| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
    });
    let asked = sandbox.path("out/asked");
    fs::write(&asked, lines.collect::<String>()).unwrap();
    let (bin, repo) = (env!("CARGO_BIN_EXE_swarm"), sandbox.repo());
    let out = sandbox.path("out");
    move |name, options| {
        let (asked, repo, out) = (asked.display(), repo.display(), out.display());
        format!(
            "{bin} -C {repo} mcp {options} <{asked} >{out}/{name}.part; \
            mv {out}/{name}.part {out}/{name}.answers"
        )
    }
}

/// What a server answered: the names of its tools, and its errors.
fn answered(sandbox: &Sandbox, name: &str) -> (Vec<String>, Vec<String>) {
    let path: PathBuf = sandbox.path("out").join(format!("{name}.answers"));
    sandbox.wait_for(&format!("{name} to be answered"), || {
        path.exists().then_some(())
    });
    let text = fs::read_to_string(path).unwrap();
    let answers: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let listed = answers.iter().find(|answer| answer["id"] == 0).unwrap();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let errors = answers
        .iter()
        .filter_map(|it| it["error"]["message"].as_str());
    (
        names(tools).into_iter().map(str::to_owned).collect(),
        errors.map(str::to_owned).collect(),
    )
}

#[test]
fn in_a_run_there_are_the_tools_of_the_memory_and_no_others() {
    let sandbox = Sandbox::ready();
    let client = client(&sandbox);
    sandbox.configure(&json!({"qualityCommands": [client("check", "")]}));
    let daemon = sandbox.start();
    let away = client("away", "");
    sandbox.idea(&format!(
        "{}; {}; (env -i setsid sh -c '({away}) &' &); \
        while [ ! -e {}/away.answers ]; do sleep 0.05; done; \
        hold alone; {}; write a.txt a; say COMPLETE",
        client("agent", ""),
        client("asks", "--profile ed"),
        sandbox.path("out").display(),
        client("offline", "")
    ));
    sandbox.wait_held("alone");
    sandbox.swarm(&["stop", "--keep-agents"]).ok();
    daemon.wait_exit(crate::harness::PATIENCE);
    sandbox.release("alone");
    let of_agent = ["agent", "asks", "away", "offline"];
    for name in of_agent {
        let (tools, errors) = answered(&sandbox, name);
        assert_eq!(tools, TOOLS, "{name}");
        assert_eq!(errors.len(), 3, "{name}: {errors:?}");
        assert!(
            errors
                .iter()
                .all(|error| error.contains("there is no tool"))
        );
    }
    let daemon = sandbox.start();
    let (tools, _) = answered(&sandbox, "check");
    assert_eq!(tools, TOOLS);
    sandbox.wait_idea("idea-001", "done");
    assert_eq!(sandbox.ideas().len(), 1);
    assert_eq!(sandbox.logged("commandTaken").len(), 0);
    daemon.stop();
    // The same words outside a run.
    sandbox.shell(&client("person", "")).ok();
    let (tools, errors) = answered(&sandbox, "person");
    assert_eq!(tools.len(), TOOLS.len() + READING.len() + CHANGING.len());
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("missing field `content`"), "{errors:?}");
}
