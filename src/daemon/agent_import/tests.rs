//! Which files are refused and why, and what a prompt says of an accepted one.

use serde_json::{Value, json};

use super::brief::{self, brief};
use super::file::{self, MAX_BYTES};
use crate::daemon::error::DaemonError;
use crate::daemon::files::hash::sha256;
use crate::daemon::files::paths::Paths;
use crate::domain::testkit::transfer_samples::imported_agent;

const OID: &str = "0123456789012345678901234567890123456789";

/// A whole and right file.
fn document() -> Value {
    let message =
        |role: &str, text: &str| json!({"role": role, "run": "r0001-cl-001-i1", "text": text});
    let mut says = message("assistant", "I look.\n## Not a heading");
    says["toolCalls"] = json!([
        {"id": "a", "tool": "Bash", "input": "make all"},
        {"id": "b", "tool": "Read", "input": "README.md"},
    ]);
    let mut first = message("tool", "it failed");
    first["toolCallId"] = json!("a");
    first["ok"] = json!(false);
    let mut second = message("tool", "a project");
    second["toolCallId"] = json!("b");
    let token = format!("sk-ant-api03-{}", "a".repeat(93));
    let key = format!("The key is {token}.");
    json!({
        "format": "swarm-agent", "version": "1.0.0", "exportedAt": "2026-01-31T23:59:59.123Z",
        "source": {"swarmId": sha256(b"swarm"), "seq": 7, "logCrc": "0011aabb"},
        "identity": {"id": "cl-001", "uuid": null, "name": "cl", "ideaId": "idea-001",
            "ideaText": "Build it", "attempt": 1, "iterations": 1, "importedFrom": null},
        "model": {"adapter": "claude", "program": null, "asked": null, "used": []},
        "tokenBudget": {"tokens": null, "usd": 5.0},
        "tokenUsage": {"prompt": 1, "completion": 2, "total": 3, "usd": 0.1, "partial": false},
        "messageLog": [message("user", "Do it."), says, first, second, message("assistant", &key)],
        "repairs": [{"at": "r0001-cl-001-i1", "what": "a torn line was left out"}],
        "conversation": null,
        "contexts": {
            "rules": {"id": "rules", "files": []}, "profile": null,
            "learnings": {"id": "cl-001", "items": []},
            "reads": {"id": "cl-001", "files": [{"path": "README.md", "via": "tool"}]},
            "notes": {"id": "notes", "items": [
                {"key": "plan", "version": 1, "title": "The plan",
                    "content": "First the parser."}]},
            "recovery": null,
            "worktree": {"id": "w01", "branch": "agent/cl-001/idea-001", "base": OID, "tip": OID,
                "wip": null},
        },
    })
}

fn refusal(bytes: &[u8]) -> String {
    match file::check(bytes) {
        Err(error @ DaemonError::AgentFileRefused { .. }) => {
            assert_eq!(error.suggestions().len(), 1, "{error}");
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// The file with one value changed, or removed.
fn changed(pointer: &str, value: Option<Value>) -> Vec<u8> {
    let mut document = document();
    if let Some(value) = value {
        *document.pointer_mut(pointer).unwrap() = value;
    } else {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap();
        parent.as_object_mut().unwrap().remove(name).unwrap();
    }
    document.to_string().into_bytes()
}

#[test]
fn a_whole_file_is_accepted() {
    let state = file::check(document().to_string().as_bytes()).unwrap();
    assert_eq!(state.identity.idea_text, "Build it");
    assert_eq!(state.message_log.len(), 5);
    // A later minor version may say more.
    let mut later = document();
    later["version"] = json!("1.7.0");
    later["mood"] = json!("good");
    assert!(file::check(later.to_string().as_bytes()).is_ok());
}

#[test]
fn each_wrong_value_is_refused_with_its_reason() {
    let cases = [
        ("/format", Some(json!("other")), "its format is `other`"),
        ("/format", Some(json!(1)), "its format is not `swarm-agent`"),
        (
            "/format",
            Some(json!("swarm-export")),
            "archive of a whole swarm",
        ),
        ("/format", None, "its format is not"),
        (
            "/version",
            Some(json!("2.0.0")),
            "its version is 2.0.0; this version of swarm reads 1.x",
        ),
        (
            "/version",
            Some(json!("one")),
            "its version is not one such as",
        ),
        ("/version", None, "its version is not one such as"),
        (
            "/exportedAt",
            Some(json!("yesterday")),
            "a field is not what it must be",
        ),
        (
            "/source/swarmId",
            Some(json!("abc")),
            "`source.swarmId` is not a SHA-256",
        ),
        (
            "/source/seq",
            Some(json!(-1)),
            "a field is not what it must be",
        ),
        (
            "/identity/id",
            Some(json!("../../etc")),
            "a field is not what it must be",
        ),
        (
            "/identity/name",
            Some(json!("A b")),
            "a field is not what it must be",
        ),
        (
            "/identity/ideaText",
            Some(json!(" \n")),
            "`identity.ideaText` is empty",
        ),
        ("/identity/ideaText", None, "missing field `ideaText`"),
        (
            "/tokenUsage/total",
            Some(json!("3")),
            "a field is not what it must be",
        ),
        (
            "/messageLog",
            Some(json!({})),
            "a field is not what it must be",
        ),
        (
            "/messageLog/0/role",
            Some(json!("system")),
            "unknown variant `system`",
        ),
        (
            "/messageLog/0/run",
            Some(json!("a/b")),
            "a field is not what it must be",
        ),
        (
            "/messageLog/1/toolCalls",
            Some(json!([])),
            "message 2 is out of order",
        ),
        (
            "/messageLog/2/toolCallId",
            Some(json!("z")),
            "message 2 is out of order",
        ),
        (
            "/messageLog/0/role",
            Some(json!("assistant")),
            "message 0 is out of order",
        ),
        (
            "/repairs",
            Some(json!([1])),
            "a field is not what it must be",
        ),
        ("/contexts", Some(json!([])), "`contexts` is not an object"),
        (
            "/contexts/worktree/tip",
            Some(json!("main")),
            "`contexts.worktree.tip` is not the id",
        ),
        (
            "/contexts/worktree/base",
            Some(json!("--all")),
            "`contexts.worktree.base` is not the id",
        ),
        (
            "/contexts/notes/items",
            Some(json!("x")),
            "a field is not what it must be",
        ),
    ];
    for (pointer, value, why) in cases {
        let refused = refusal(&changed(pointer, value.clone()));
        assert!(refused.contains(why), "{pointer} {value:?}: {refused}");
        assert!(refused.contains("nothing was changed"), "{refused}");
    }
    let mut unknown = document();
    unknown["contexts"]["dreams"] = json!({});
    let refused = refusal(unknown.to_string().as_bytes());
    assert!(refused.contains("the context `dreams`"), "{refused}");
}

#[test]
fn what_is_no_such_file_at_all_is_refused() {
    let whole = document().to_string();
    let half = &whole.as_bytes()[..whole.len() / 2];
    let twice = format!("{{\"format\":\"x\",{}", &whole[1..]);
    let deep = format!("{{\"format\":{}", "[".repeat(100_000));
    let cases: [(&[u8], &str); 8] = [
        (b"", "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (half, "it ends too early"),
        (b"{\"format\":\"swarm-agent\"} x", "it is not JSON"),
        (&[0x28, 0xb5, 0x2f, 0xfd, 0, 1], "it is compressed"),
        (b"{\"format\":\"\xff\"}", "not UTF-8 text (byte 11)"),
        (deep.as_bytes(), "it is not JSON"),
        (twice.as_bytes(), "duplicate field"),
    ];
    for (bytes, why) in cases {
        let refused = refusal(bytes);
        assert!(refused.contains(why), "{why}: {refused}");
    }
    let long = vec![b' '; MAX_BYTES + 1];
    assert!(refusal(&long).contains("longer than 64 MiB"));
}

#[test]
fn a_prompt_says_what_the_agent_said_did_and_knew() {
    let state = file::check(document().to_string().as_bytes()).unwrap();
    let brief = brief(&state, true);
    assert_eq!(
        brief.log,
        [
            "I look.\n## Not a heading\n- Bash: make all (failed)\n- Read: README.md",
            "The key is [redacted:anthropic-key]."
        ]
    );
    assert_eq!(brief.files, ["README.md"]);
    assert_eq!(brief.notes, ["plan (The plan): First the parser."]);
    assert!(!brief.is_cut && brief.has_commits);
}

#[test]
fn a_file_that_is_gone_or_another_gives_no_brief() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::new(dir.path());
    let bytes = document().to_string().into_bytes();
    let mut imported = imported_agent(false);
    imported.sha256 = sha256(&bytes);
    assert!(brief::read(&paths, &imported).is_err());
    std::fs::create_dir_all(&paths.swarm).unwrap();
    super::keep::file(&paths, &imported.sha256, &bytes).unwrap();
    super::keep::file(&paths, &imported.sha256, &bytes).unwrap();
    assert!(brief::read(&paths, &imported).is_ok());
    let file = paths.imports().join(format!("{}.json", imported.sha256));
    std::fs::write(file, changed("/identity/ideaText", Some(json!("Other")))).unwrap();
    assert!(brief::read(&paths, &imported).is_err());
}
