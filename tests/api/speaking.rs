//! Who speaks: what agents and checks are refused, and an operation that is sent again.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use swarm::domain::effect::{Purpose, Run, TargetTree};
use swarm::domain::event::{EffectRequested, Event};
use swarm::domain::ids::{EffectId, RunId};
use swarm::domain::operation::Command;
use swarm::domain::settings::Mode;

use crate::kit::{World, settings, working_agent};

/// Has a run begin; its id.
async fn run_for(world: &World, number: u64, purpose: Purpose) -> RunId {
    let run = RunId::numbered(number, "of-the-test");
    let effect = Run {
        run: run.clone(),
        purpose,
        timeout_ms: 60_000,
    };
    let requested = EffectRequested {
        id: EffectId(number),
        effect: effect.into(),
    };
    world.facts(vec![Event::EffectRequested(requested)]).await;
    run
}

async fn sent(world: &World, method: &str, path: &str, run: &str, body: &Value) -> (u16, Value) {
    let header = format!("Swarm-Run: {run}");
    let body = body.to_string();
    let (status, bytes) = world
        .with_header(method, path, &header, body.as_bytes())
        .await;
    (status, serde_json::from_slice(&bytes).unwrap())
}

const COMMANDS: &str = "/api/v1/commands";

/// The paths of what else can be asked of the daemon.
fn other_changes(description: &Value) -> Vec<String> {
    let paths = description["paths"].as_object().unwrap();
    for (path, methods) in paths {
        let reads_or_posts = |method: &String| ["get", "post"].contains(&method.as_str());
        let mut methods = methods.as_object().unwrap().keys();
        assert!(methods.all(reads_or_posts), "{path}");
    }
    let changes = paths
        .iter()
        .filter(|(path, methods)| methods.get("post").is_some() && path.as_str() != COMMANDS);
    changes.map(|(path, _)| filled(path)).collect()
}

/// The path with something in place of each parameter.
fn filled(path: &str) -> String {
    let parts = path.split('/');
    let parts = parts.map(|part| if part.starts_with('{') { "x" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Commands that agents and the synthesis may send too.
const FOR_AGENTS: [&str; 7] = [
    "addIdea",
    "confirmFact",
    "disputeFact",
    "learn",
    "putNote",
    "retract",
    "writeFact",
];

/// One of each command that only people may send.
fn for_people() -> Vec<Value> {
    vec![
        json!({"do": "editIdea", "id": "idea-001", "edit": {}}),
        json!({"do": "retryIdea", "id": "idea-001"}),
        json!({"do": "cancelIdea", "id": "idea-001"}),
        json!({"do": "assignIdea", "id": "idea-001"}),
        json!({"do": "holdIdea", "id": "idea-001"}),
        json!({"do": "unholdIdea", "id": "idea-001"}),
        json!({"do": "stopAgent", "id": "ed-001"}),
        json!({"do": "redirectAgent", "id": "ed-001", "ideaId": "idea-001"}),
        json!({"do": "sayToAgent", "id": "ed-001", "text": "x"}),
        json!({"do": "pause"}),
        json!({"do": "resume"}),
        json!({"do": "retryMerge", "id": "idea-001"}),
        json!({"do": "approveMerge", "id": "idea-001"}),
        json!({"do": "rejectMerge", "id": "idea-001", "why": "x"}),
        json!({"do": "resolveMerge", "id": "idea-001"}),
        json!({"do": "settleTarget", "choice": "ignore"}),
        json!({"do": "createCheckpoint", "name": "x"}),
        json!({"do": "deleteCheckpoint", "name": "x"}),
        json!({"do": "rollBack", "name": "x"}),
        json!({"do": "undo", "seq": 1}),
        json!({"do": "approveHook", "hook": "pre-merge", "content": "gone@"}),
        json!({"do": "setMode", "mode": "autopilot"}),
        json!({"do": "shutdown"}),
        json!({"do": "shutdownNow"}),
        json!({"do": "pinFact", "key": "a.b", "on": true}),
        json!({"do": "compactMemory"}),
        json!({"do": "synthesize"}),
    ]
}

/// The names of all commands in the description.
fn named_commands(description: &Value) -> BTreeSet<String> {
    fn collect(value: &Value, names: &mut BTreeSet<String>) {
        if let Some(name) = value["properties"]["do"]["enum"][0].as_str() {
            names.insert(name.to_owned());
        }
        for part in ["oneOf", "allOf"] {
            for value in value[part].as_array().into_iter().flatten() {
                collect(value, names);
            }
        }
    }
    let mut names = BTreeSet::new();
    for schema in ["Command", "MemoryCommand"] {
        collect(&description["components"]["schemas"][schema], &mut names);
    }
    names
}

#[tokio::test]
async fn every_change_but_those_for_agents_is_refused_to_agents_and_checks() {
    let world = World::new().await;
    let (_, agent) = working_agent(&world).await;
    let gate = Purpose::Baseline {
        index: 0,
        command: "true".into(),
        tree: TargetTree::Verify,
    };
    let check = run_for(&world, 900, gate).await;
    let description = world.client().await.get("openapi.json").await.unwrap();
    let before = world.handle.read(|state| state.seq);
    let mut tried: BTreeSet<String> = FOR_AGENTS.map(str::to_owned).into();
    let commands = for_people().into_iter().map(|command| {
        tried.insert(command["do"].as_str().unwrap().to_owned());
        (COMMANDS.to_owned(), command)
    });
    let mut changes: Vec<(String, Value)> = commands.collect();
    for path in other_changes(&description) {
        changes.push((path, json!({})));
    }
    assert_eq!(
        tried,
        named_commands(&description),
        "a command is missing here"
    );
    assert!(changes.len() >= 32, "only {} changes", changes.len());
    for (path, body) in changes {
        for run in [agent.as_str(), check.as_str()] {
            let (status, answer) = sent(&world, "POST", &path, run, &body).await;
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            assert_eq!(
                (status, code),
                (403, "NOT_FOR_AGENTS"),
                "{path} {body} by {run}"
            );
        }
    }
    assert_eq!(world.handle.read(|state| state.seq), before);
    let (status, _) = world.raw("GET", "/api/v1/views/status", b"").await;
    assert_eq!(status, 200);
    world.end().await;
}

#[tokio::test]
async fn agents_add_ideas_if_the_configuration_says_so_and_checks_never_do() {
    let world = World::new().await;
    let (_, agent) = working_agent(&world).await;
    let gate = Purpose::Baseline {
        index: 0,
        command: "true".into(),
        tree: TargetTree::Verify,
    };
    let check = run_for(&world, 900, gate).await;
    let idea = json!({"do": "addIdea", "content": "more"});
    let (status, answer) = sent(&world, "POST", COMMANDS, &agent, &idea).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (403, &json!("NOT_FOR_AGENTS"))
    );
    let hints = answer["error"]["suggestions"].to_string();
    assert!(hints.contains("agents.mayAddIdeas"), "{hints}");
    let mut allowing = settings(Mode::SemiAuto);
    allowing.agents_may_add = true;
    let load = Command::LoadSettings {
        hash: "other".into(),
        settings: Box::new(allowing),
    };
    world.handle.command(load).await.unwrap();
    let (status, answer) = sent(&world, "POST", COMMANDS, &agent, &idea).await;
    assert_eq!((status, &answer["id"]), (200, &json!("idea-002")));
    let (status, _) = sent(&world, "POST", COMMANDS, check.as_str(), &idea).await;
    assert_eq!(status, 403);
    world.end().await;
}

#[tokio::test]
async fn hooks_and_clients_that_name_no_live_run_are_people() {
    let world = World::new().await;
    let hook = Purpose::Hook {
        hook: "post-merge".parse().unwrap(),
        seq: 1,
        agent: None,
        idea: None,
    };
    let hook = run_for(&world, 900, hook).await;
    for run in [hook.as_str(), "r0999-over", "no/run"] {
        let (status, answer) = sent(&world, "POST", COMMANDS, run, &json!({"do": "pause"})).await;
        assert_eq!(status, 200, "{run}: {answer}");
    }
    world.end().await;
}

#[tokio::test]
async fn an_operation_sent_again_gets_its_first_answer() {
    let world = World::new().await;
    let body = json!({"do": "addIdea", "content": "once"}).to_string();
    let add = |key: &'static str| {
        let header = format!("Idempotency-Key: {key}");
        let (world, body) = (&world, body.as_bytes());
        async move {
            let sent = world.with_header("POST", COMMANDS, &header, body);
            let (status, bytes) = sent.await;
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            (status, answer)
        }
    };
    let (first, again, other) = (add("one").await, add("one").await, add("two").await);
    assert_eq!((first.0, again.0, other.0), (200, 200, 200));
    assert_eq!(first.1["id"], again.1["id"]);
    assert_eq!(other.1["id"], "idea-002");
    let (status, answer) = add("not one word").await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (400, &json!("BAD_REQUEST"))
    );
    world.end().await;
}
