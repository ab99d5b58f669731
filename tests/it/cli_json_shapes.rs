//! The shapes of what programs read: JSON documents and the lines of the log.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Sandbox;

/// The keys of an object, sorted.
fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

/// All of `expected` are keys of the value.
#[track_caller]
fn has_keys(value: &Value, expected: &[&str]) {
    let found = keys(value);
    for key in expected {
        assert!(found.contains(key), "`{key}` is missing in {value}");
    }
}

const IDEA: [&str; 12] = [
    "id",
    "status",
    "content",
    "tags",
    "priority",
    "after",
    "retryCount",
    "attempts",
    "commit",
    "lastError",
    "createdAt",
    "updatedAt",
];

fn is_time(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == "2026-01-01T00:00:00.000Z".len()
        && text.ends_with('Z')
        && text.as_bytes()[10] == b'T'
}

#[test]
fn json_has_the_shapes_of_the_contract() {
    let sandbox = Sandbox::ready();
    let first = sandbox.idea_with(
        "hold one; write a.txt x; say COMPLETE",
        &["--tag", "a", "--priority", "3"],
    );
    let second = sandbox.idea_with("say COMPLETE", &["--after", &first]);
    assert_eq!((first.as_str(), second.as_str()), ("idea-001", "idea-002"));
    let check = |sandbox: &Sandbox, stopped: bool| {
        let status = sandbox.status();
        has_keys(
            &status,
            &[
                "phase",
                "mode",
                "pid",
                "webUrl",
                "lastSeq",
                "target",
                "slots",
                "ideas",
                "agents",
                "mergeQueue",
                "needsYou",
                "warnings",
            ],
        );
        assert_eq!(keys(&status["target"]), ["branch", "commit"]);
        assert_eq!(keys(&status["slots"]), ["max", "used"]);
        let all = [
            "active",
            "blocked",
            "cancelled",
            "done",
            "failed",
            "merging",
            "pending",
            "timeout",
        ];
        assert_eq!(keys(&status["ideas"]), all);
        assert_eq!(status["pid"].is_null(), stopped);
        let ideas = sandbox.ideas();
        assert_eq!(ideas.len(), 2);
        for idea in &ideas {
            has_keys(idea, &IDEA);
            assert!(
                is_time(&idea["createdAt"]) && is_time(&idea["updatedAt"]),
                "{idea}"
            );
        }
        assert_eq!(
            (&ideas[0]["tags"], &ideas[0]["priority"], &ideas[1]["after"]),
            (&json!(["a"]), &json!(3), &json!(["idea-001"]))
        );
        has_keys(&sandbox.show("idea-001"), &IDEA);
        status
    };
    check(&sandbox, true);
    let daemon = sandbox.start();
    sandbox.wait_status("the process to be known", |status| {
        status["agents"][0]["pid"].is_i64()
    });
    let status = check(&sandbox, false);
    let agent = &status["agents"][0];
    has_keys(
        agent,
        &[
            "id",
            "ideaId",
            "phase",
            "attempt",
            "iteration",
            "pid",
            "worktree",
            "branch",
            "progress",
            "startedAt",
        ],
    );
    assert_eq!(
        (&agent["id"], &agent["ideaId"], &agent["phase"]),
        (&json!("ed-001"), &json!(first), &json!("working"))
    );
    let path = sandbox.worktrees().join("w01");
    assert_eq!(agent["worktree"], path.to_str().unwrap());
    assert_eq!(agent["branch"], "agent/ed-001/idea-001");
    let pid = i32::try_from(agent["pid"].as_i64().unwrap()).unwrap();
    assert!(crate::harness::processes::lives(pid));
    assert_eq!(
        status["target"],
        json!({"branch": "main", "commit": sandbox.head("main")})
    );
    let text = sandbox
        .swarm(&["idea", "list", "--json", "--status", "active"])
        .json();
    assert_eq!(text.as_array().unwrap().len(), 1);
    let added = sandbox
        .swarm(&["idea", "add", "x", "--after", "idea-001", "--json"])
        .json();
    assert_eq!(added["id"], "idea-003", "{added}");
    sandbox.swarm(&["idea", "cancel", "idea-003"]).ok();
    sandbox.release("one");
    sandbox.wait_idea(&second, "done");
    daemon.stop();
}

#[test]
fn each_line_of_the_log_has_the_form_of_the_contract() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let log = fs::read(sandbox.dot_swarm("state/events.jsonl")).unwrap();
    let mut chain = 0;
    let mut durable = 0;
    for (place, line) in log.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text = std::str::from_utf8(line)
            .unwrap()
            .strip_suffix('\n')
            .unwrap();
        let (body, suffix) = text.rsplit_once(",\"crc\":\"").unwrap();
        chain = crc32c::crc32c_append(chain, body.as_bytes());
        assert_eq!(suffix, format!("{chain:08x}\"}}"), "line {}", place + 1);
        let event: Value = serde_json::from_str(text).unwrap();
        assert_eq!((&event["v"], &event["seq"]), (&json!(1), &json!(place + 1)));
        assert!(is_time(&event["ts"]), "{event}");
        let dur = event["dur"].as_u64().unwrap();
        assert!(dur >= durable && dur < place as u64 + 1, "{event}");
        durable = dur;
    }
    let modes = [sandbox.dot_swarm("state"), sandbox.private("runs")].map(|folder| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(folder).unwrap().permissions().mode() & 0o777
    });
    assert_eq!(modes, [0o700, 0o700]);
}
