//! Who speaks: what agents and checks are refused, and an operation that is sent again.

use serde_json::{Value, json};
use swarm::domain::command::Command;
use swarm::domain::effect::{Purpose, Run, TargetTree};
use swarm::domain::event::{EffectRequested, Event};
use swarm::domain::ids::{EffectId, RunId};
use swarm::domain::settings::Mode;

use crate::kit::{World, settings, working_agent};

/// Changes that agents may send; the domain decides on each.
fn is_for_agents(method: &str, path: &str) -> bool {
    let path = path.strip_prefix("/api/v1").unwrap();
    let posted = ["/ideas", "/learnings", "/memory/retract"];
    method == "post" && posted.contains(&path)
        || path.starts_with("/memory/facts")
        || path.starts_with("/scratch/")
}

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

fn changes(description: &Value) -> Vec<(String, String)> {
    let paths = description["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| (method.clone(), path.clone()))
    });
    let changes =
        all.filter(|(method, _)| ["post", "put", "patch", "delete"].contains(&method.as_str()));
    changes.collect()
}

/// The path with something in place of each parameter.
fn filled(path: &str) -> String {
    let parts = path.split('/');
    let parts = parts.map(|part| if part.starts_with('{') { "x" } else { part });
    parts.collect::<Vec<_>>().join("/")
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
    let mut refused = 0;
    for (method, path) in changes(&description) {
        if is_for_agents(&method, &path) {
            continue;
        }
        refused += 1;
        for run in [agent.as_str(), check.as_str()] {
            let method = method.to_uppercase();
            let (status, answer) = sent(&world, &method, &filled(&path), run, &json!({})).await;
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            assert_eq!(
                (status, code),
                (403, "NOT_FOR_AGENTS"),
                "{method} {path} by {run}"
            );
        }
    }
    assert!(refused >= 25, "only {refused} routes change something");
    assert_eq!(world.handle.read(|state| state.seq), before);
    let (status, _) = world.raw("GET", "/api/v1/status", b"").await;
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
    let idea = json!({"content": "more"});
    let (status, answer) = sent(&world, "POST", "/api/v1/ideas", &agent, &idea).await;
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
    let (status, answer) = sent(&world, "POST", "/api/v1/ideas", &agent, &idea).await;
    assert_eq!((status, &answer["id"]), (201, &json!("idea-002")));
    let (status, _) = sent(&world, "POST", "/api/v1/ideas", check.as_str(), &idea).await;
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
        let (status, answer) = sent(&world, "POST", "/api/v1/pause", run, &json!({})).await;
        assert_eq!(status, 200, "{run}: {answer}");
    }
    world.end().await;
}

#[tokio::test]
async fn an_operation_sent_again_gets_its_first_answer() {
    let world = World::new().await;
    let body = json!({"content": "once"}).to_string();
    let add = |key: &'static str| {
        let header = format!("Idempotency-Key: {key}");
        let (world, body) = (&world, body.as_bytes());
        async move {
            let sent = world.with_header("POST", "/api/v1/ideas", &header, body);
            let (status, bytes) = sent.await;
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            (status, answer)
        }
    };
    let (first, again, other) = (add("one").await, add("one").await, add("two").await);
    assert_eq!((first.0, again.0, other.0), (201, 201, 201));
    assert_eq!(first.1["id"], again.1["id"]);
    assert_eq!(other.1["id"], "idea-002");
    let (status, answer) = add("not one word").await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (400, &json!("BAD_REQUEST"))
    );
    world.end().await;
}
