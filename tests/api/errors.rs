//! What is refused, and in which words.

use std::sync::atomic::Ordering;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::kit::{World, refused};

const COMMANDS: &str = "/api/v1/commands";

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap()
}

fn message(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap()
}

#[tokio::test]
async fn refusals_say_what_why_and_what_next() {
    let world = World::new().await;
    let client = world.client().await;
    let mut refusals = Vec::new();
    for (method, path, body) in [
        ("GET", "/api/v1/views/ideas/idea-009", ""),
        ("GET", "/api/v1/views/ideas/NO", ""),
        ("GET", "/api/v1/views/ideas/%ff", ""),
        ("GET", "/api/v1/views/ideas?status=lost", ""),
        ("GET", "/api/v1/views/ideas?state=done", ""),
        ("GET", "/api/v1/views/agents/ed-009", ""),
        ("GET", "/api/v1/agents/ed-009/logs", ""),
        ("GET", "/api/v1/events?kind=ideaAded", ""),
        ("GET", "/api/v1/events?since=99999", ""),
        ("GET", "/api/v1/nowhere", ""),
        ("GET", "/", ""),
        ("DELETE", "/api/v1/views/ideas", ""),
        ("POST", COMMANDS, ""),
        ("POST", COMMANDS, "{"),
        ("POST", COMMANDS, "[]"),
        ("POST", COMMANDS, r#"{"do":"addIdee","content":"a"}"#),
        ("POST", COMMANDS, r#"{"do":"addIdea"}"#),
        (
            "POST",
            COMMANDS,
            r#"{"do":"addIdea","content":"a","prio":1}"#,
        ),
        ("POST", COMMANDS, r#"{"do":"addIdea","content":" "}"#),
        (
            "POST",
            COMMANDS,
            r#"{"do":"addIdea","content":"a","after":["A"]}"#,
        ),
        (
            "POST",
            COMMANDS,
            r#"{"do":"addIdea","content":"a","after":["idea-009"]}"#,
        ),
        (
            "POST",
            COMMANDS,
            r#"{"do":"addIdea","content":"a","profile":"zed"}"#,
        ),
        (
            "POST",
            COMMANDS,
            r#"{"do":"addIdea","content":"a","inbox":{"name":"a.md","sha256":"0"}}"#,
        ),
        ("POST", COMMANDS, r#"{"do":"retryIdea","id":"idea-009"}"#),
        (
            "POST",
            COMMANDS,
            r#"{"do":"retryIdea","id":"idea-009","force":true}"#,
        ),
        ("POST", COMMANDS, r#"{"do":"stopAgent","id":"ed-009"}"#),
        (
            "POST",
            COMMANDS,
            r#"{"do":"sayToAgent","id":"ed-009","text":"a"}"#,
        ),
        ("POST", COMMANDS, r#"{"do":"retryMerge","id":"idea-009"}"#),
        ("POST", COMMANDS, r#"{"do":"resolveMerge","id":"idea-009"}"#),
        (
            "POST",
            COMMANDS,
            r#"{"do":"settleTarget","choice":"guess"}"#,
        ),
        ("POST", COMMANDS, r#"{"do":"loadSettings"}"#),
    ] {
        let (status, answer) = world.raw(method, path, body.as_bytes()).await;
        let error = &answer["error"];
        assert!(error["details"].is_string() && error["suggestions"].is_array());
        refusals.push(format!(
            "{}\n  {status} {}: {}",
            format!("{method} {path} {body}").trim_end(),
            code(&answer),
            message(&answer)
        ));
    }
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    GET /api/v1/views/ideas/idea-009
      404 IDEA_UNKNOWN: there is no idea `idea-009`
    GET /api/v1/views/ideas/NO
      400 BAD_REQUEST: the path is invalid: `NO` is not a valid idea id: use 1 to 64 lower-case letters, digits and `-`, starting with a letter or digit
    GET /api/v1/views/ideas/%ff
      400 BAD_REQUEST: the path is invalid: Invalid UTF-8 in `id`
    GET /api/v1/views/ideas?status=lost
      400 BAD_REQUEST: the query is invalid: status: unknown variant `lost`, expected one of `pending`, `active`, `merging`, `blocked`, `done`, `failed`, `timeout`, `cancelled`
    GET /api/v1/views/ideas?state=done
      400 BAD_REQUEST: the query is invalid: state: unknown field `state`, expected `status` or `openFirst`
    GET /api/v1/views/agents/ed-009
      404 AGENT_UNKNOWN: there is no agent `ed-009`
    GET /api/v1/agents/ed-009/logs
      404 AGENT_UNKNOWN: there is no agent `ed-009`
    GET /api/v1/events?kind=ideaAded
      400 BAD_REQUEST: `ideaAded` is not a kind of event
    GET /api/v1/events?since=99999
      400 BAD_REQUEST: there is no event 99999 yet; the last one is 4
    GET /api/v1/nowhere
      404 NOT_FOUND: there is nothing at `/api/v1/nowhere`
    GET /
      404 NOT_FOUND: there is nothing at `/`
    DELETE /api/v1/views/ideas
      405 METHOD_NOT_ALLOWED: `/api/v1/views/ideas` does not support DELETE
    POST /api/v1/commands
      400 BAD_REQUEST: the command is invalid: `do` must name the command
    POST /api/v1/commands {
      400 BAD_REQUEST: the body is invalid: EOF while parsing an object at line 1 column 1
    POST /api/v1/commands []
      400 BAD_REQUEST: the body must be a JSON object
    POST /api/v1/commands {"do":"addIdee","content":"a"}
      400 BAD_REQUEST: the command is invalid: there is no command `addIdee`; the commands are: addIdea, editIdea, retryIdea, cancelIdea, assignIdea, holdIdea, unholdIdea, stopAgent, redirectAgent, sayToAgent, pause, resume, retryMerge, approveMerge, rejectMerge, resolveMerge, settleTarget, createCheckpoint, deleteCheckpoint, rollBack, undo, approveHook, setMode, shutdown, shutdownNow, learn, writeFact, confirmFact, disputeFact, pinFact, retract, putNote, compactMemory, synthesize
    POST /api/v1/commands {"do":"addIdea"}
      400 BAD_REQUEST: the command is invalid: missing field `content`
    POST /api/v1/commands {"do":"addIdea","content":"a","prio":1}
      400 BAD_REQUEST: the command is invalid: unknown field `prio`, expected one of `content`, `after`, `tags`, `priority`, `profile`, `inbox`, `review`, `imported`
    POST /api/v1/commands {"do":"addIdea","content":" "}
      422 TEXT_EMPTY: the text of the idea is empty
    POST /api/v1/commands {"do":"addIdea","content":"a","after":["A"]}
      400 BAD_REQUEST: the command is invalid: `A` is not a valid idea id: use 1 to 64 lower-case letters, digits and `-`, starting with a letter or digit
    POST /api/v1/commands {"do":"addIdea","content":"a","after":["idea-009"]}
      404 IDEA_UNKNOWN: there is no idea `idea-009`
    POST /api/v1/commands {"do":"addIdea","content":"a","profile":"zed"}
      422 PROFILE_UNKNOWN: there is no agent profile `zed` in the configuration
    POST /api/v1/commands {"do":"addIdea","content":"a","inbox":{"name":"a.md","sha256":"0"}}
      400 BAD_REQUEST: `inbox` and `imported` are set by the daemon alone
    POST /api/v1/commands {"do":"retryIdea","id":"idea-009"}
      404 IDEA_UNKNOWN: there is no idea `idea-009`
    POST /api/v1/commands {"do":"retryIdea","id":"idea-009","force":true}
      400 BAD_REQUEST: the command is invalid: unknown field `force`, expected `id`
    POST /api/v1/commands {"do":"stopAgent","id":"ed-009"}
      404 AGENT_UNKNOWN: there is no agent `ed-009`
    POST /api/v1/commands {"do":"sayToAgent","id":"ed-009","text":"a"}
      404 AGENT_UNKNOWN: there is no agent `ed-009`
    POST /api/v1/commands {"do":"retryMerge","id":"idea-009"}
      404 IDEA_UNKNOWN: there is no idea `idea-009`
    POST /api/v1/commands {"do":"resolveMerge","id":"idea-009"}
      404 IDEA_UNKNOWN: there is no idea `idea-009`
    POST /api/v1/commands {"do":"settleTarget","choice":"guess"}
      400 BAD_REQUEST: the command is invalid: unknown variant `guess`, expected one of `redo`, `ignore`, `cancel`
    POST /api/v1/commands {"do":"loadSettings"}
      400 BAD_REQUEST: the command is invalid: there is no command `loadSettings`; the commands are: addIdea, editIdea, retryIdea, cancelIdea, assignIdea, holdIdea, unholdIdea, stopAgent, redirectAgent, sayToAgent, pause, resume, retryMerge, approveMerge, rejectMerge, resolveMerge, settleTarget, createCheckpoint, deleteCheckpoint, rollBack, undo, approveHook, setMode, shutdown, shutdownNow, learn, writeFact, confirmFact, disputeFact, pinFact, retract, putNote, compactMemory, synthesize
    "#);
    let cycle = {
        client
            .post("commands", &json!({"do": "addIdea", "content": "a"}))
            .await
            .unwrap();
        let after = json!({"do": "addIdea", "content": "b", "after": ["idea-001"]});
        client.post("commands", &after).await.unwrap();
        let edit = json!({"do": "editIdea", "id": "idea-001", "edit": {"after": ["idea-002"]}});
        refused(client.post("commands", &edit).await)
    };
    assert_eq!((cycle.0, cycle.1.as_str()), (409, "DEPENDENCY_CYCLE"));
    assert!(
        cycle.2.contains("idea-001 -> idea-002 -> idea-001"),
        "{}",
        cycle.2
    );
    world.end().await;
}

#[tokio::test]
async fn a_full_disk_and_an_ending_daemon_are_told_apart() {
    let world = World::new().await;
    let client = world.client().await;
    world.full.store(true, Ordering::Relaxed);
    let (status, code, message) = refused(client.post("commands", &json!({"do": "resume"})).await);
    assert_eq!((status, code.as_str()), (503, "DISK"));
    assert!(message.contains("no space left"), "{message}");
    world.actor.abort();
    let mut seq = world.handle.seq();
    while seq.changed().await.is_ok() {}
    let (status, code, _) = refused(client.post("commands", &json!({"do": "resume"})).await);
    assert_eq!((status, code.as_str()), (503, "ENDING"));
    world.end().await;
}

#[tokio::test]
async fn a_body_of_a_mebibyte_is_judged_and_a_longer_one_than_allowed_is_not_read() {
    let world = World::new().await;
    let long = json!({"do": "addIdea", "content": "x".repeat(1024 * 1024)}).to_string();
    let (status, answer) = world.raw("POST", COMMANDS, long.as_bytes()).await;
    assert_eq!((status, code(&answer)), (422, "TEXT_TOO_LONG"));
    let longer = vec![b' '; swarm::api::MAX_BODY_BYTES + 1];
    let (status, answer) = world.raw("POST", COMMANDS, &longer).await;
    assert_eq!((status, code(&answer)), (413, "BODY_TOO_LARGE"));
    world.end().await;
}

#[test]
fn no_body_and_no_path_makes_it_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let world = runtime.block_on(World::new());
    let paths = prop_oneof![
        Just(COMMANDS.to_owned()),
        Just("/api/v1/views/ideas".to_owned()),
        Just("/api/v1/clean".to_owned()),
        "/api/v1/(ideas|agents|merges)/[!-~]{0,30}",
        "/api/v1/events\\?[a-z=&%0-9]{0,20}",
        "/[!-~]{0,40}",
    ];
    let bodies = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        r#"\{"do":"(addIdea|editIdea|pause|settleTarget|writeFact)","(content|after|tags|priority|\
            reason|choice|edit|key)":[\[\]{}"a-z0-9,:.\\-]{0,40}\}"#
            .prop_map(String::into_bytes),
        (1_usize..200_000).prop_map(|depth| vec![b'['; depth]),
    ];
    let methods = prop::sample::select(vec!["GET", "POST", "PATCH"]);
    let mut runner = TestRunner::new(Config::with_cases(200));
    let tried = runner.run(&(methods, paths, bodies), |(method, path, body)| {
        let (status, body) = runtime.block_on(world.bytes(method, &path, &body));
        prop_assert!(status >= 200, "{} {} was not answered", method, path);
        if status >= 400 && !body.is_empty() {
            let answer: Value = serde_json::from_slice(&body).unwrap();
            prop_assert!(answer["error"]["code"].is_string());
        }
        prop_assert_ne!(status, 500);
        Ok(())
    });
    tried.unwrap();
    runtime.block_on(world.end());
}
