//! Every route, and that each answer is what the description says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use swarm::api::ReloadError;
use swarm::domain::effect::{self, Effect};
use swarm::domain::event::{Event, Learned, MergeMoved, MergeQueued, TargetRewritten, TargetSeen};
use swarm::domain::memory::Evidence;
use swarm::domain::observation::{RunEnd, RunEndKind};
use swarm::domain::request::Author;

use crate::kit::{World, oid, refused, working_agent};

#[tokio::test]
async fn ideas_are_added_shown_changed_and_cancelled() {
    let world = World::new().await;
    let client = world.client().await;
    let first = client
        .post("commands", &json!({"do": "addIdea", "content": "one"}))
        .await
        .unwrap();
    assert_eq!(first["id"], "idea-001");
    let seq = first["seq"].as_u64().unwrap();
    assert!(seq > 0);
    let second = json!({"do": "addIdea", "content": "two", "after": ["idea-001"],
        "tags": ["critical"], "priority": 3, "profile": "ed"});
    client.post("commands", &second).await.unwrap();
    let list = client.view("ideas").await.unwrap();
    assert_eq!(list[1]["content"], "two");
    assert_eq!(list[1]["after"], json!(["idea-001"]));
    assert_eq!(list[1]["profile"], "ed");
    let detail = client.view("ideas/idea-001").await.unwrap();
    assert_eq!(detail["dependents"], json!(["idea-002"]));
    let edit =
        json!({"do": "editIdea", "id": "idea-002", "edit": {"content": "two!", "after": []}});
    let edited = client.post("commands", &edit).await.unwrap();
    assert!(edited["seq"].as_u64().unwrap() > seq);
    let cancel = json!({"do": "cancelIdea", "id": "idea-002"});
    client.post("commands", &cancel).await.unwrap();
    let list = client.view("ideas?status=cancelled").await.unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(list[0]["content"], "two!");
    let retry = json!({"do": "retryIdea", "id": "idea-002"});
    client.post("commands", &retry).await.unwrap();
    let pending = client.view("ideas?status=pending").await.unwrap();
    assert_eq!(pending.as_array().unwrap().len(), 2);
    world.end().await;
}

#[tokio::test]
async fn agents_are_listed_told_and_stopped() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let client = world.client().await;
    let list = client.view("agents").await.unwrap();
    assert_eq!(list[0]["id"], *agent);
    let shown = client.view(&format!("agents/{agent}")).await.unwrap();
    assert_eq!(shown["runs"], json!([run]));
    let say = json!({"do": "sayToAgent", "id": agent, "text": "mind the tests"});
    client.post("commands", &say).await.unwrap();
    let shown = client.view(&format!("agents/{agent}")).await.unwrap();
    assert_eq!(shown["messages"], json!(["mind the tests"]));
    let stop = json!({"do": "stopAgent", "id": agent});
    client.post("commands", &stop).await.unwrap();
    let shown = client.view(&format!("agents/{agent}")).await.unwrap();
    assert_eq!(shown["phase"], "stopping");
    world.end().await;
}

#[tokio::test]
async fn the_swarm_is_paused_resumed_and_ended() {
    let world = World::new().await;
    let client = world.client().await;
    let pause = json!({"do": "pause", "reason": "lunch"});
    client.post("commands", &pause).await.unwrap();
    let status = client.view("status").await.unwrap();
    assert_eq!(status["pauseReason"], "lunch");
    assert_eq!(status["pid"], 4242);
    let resume = json!({"do": "resume"});
    client.post("commands", &resume).await.unwrap();
    assert!(
        client
            .view("status")
            .await
            .unwrap()
            .get("pauseReason")
            .is_none()
    );
    let health = client.get("healthz").await.unwrap();
    assert_eq!(health["pid"], 4242);
    let shutdown = json!({"do": "shutdown", "keepAgents": true});
    client.post("commands", &shutdown).await.unwrap();
    world.end().await;
}

#[tokio::test]
async fn an_end_is_asked_for_gracefully_or_at_once() {
    for body in [json!({"do": "shutdown"}), json!({"do": "shutdownNow"})] {
        let world = World::new().await;
        let client = world.client().await;
        client.post("commands", &body).await.unwrap();
        let status = client.view("status").await.unwrap();
        assert!(["draining", "stopped"].contains(&status["phase"].as_str().unwrap()));
        world.end().await;
    }
}

#[tokio::test]
async fn the_configuration_is_reloaded_or_the_old_one_stays() {
    let world = World::new().await;
    let client = world.client().await;
    let reloaded = client.post("config/reload", &json!({})).await.unwrap();
    assert_eq!(reloaded, json!({"seq": 7}));
    *world.levers.reload.lock().unwrap() = Some(ReloadError::Invalid {
        message: "config.json: `mod` is not known".into(),
        suggestions: vec!["did you mean `mode`?".into()],
    });
    let (status, code, message) = refused(client.post("config/reload", &json!({})).await);
    assert_eq!((status, code.as_str()), (422, "CONFIG_INVALID"));
    assert!(message.contains("`mod` is not known"), "{message}");
    world.end().await;
}

#[tokio::test]
async fn what_is_over_is_cleaned_and_a_failure_is_told() {
    let world = World::new().await;
    let client = world.client().await;
    for dry_run in [false, true] {
        let body = json!({"dryRun": dry_run});
        let report = client.post("clean", &body).await.unwrap();
        assert_eq!(report["dryRun"], json!(dry_run));
        let description = client.get("openapi.json").await.unwrap();
        let described = Described::of(&description);
        described.check(&json!({"$ref": "#/CleanReport"}), &report, "clean");
    }
    let misspelt = refused(client.post("clean", &json!({"dryrun": true})).await);
    assert_eq!(misspelt.0, 400);
    *world.levers.clean.lock().unwrap() = Some("cannot list .git/swarm/runs: no such thing".into());
    let (status, code, message) = refused(client.post("clean", &json!({})).await);
    assert_eq!((status, code.as_str()), (500, "CLEAN_FAILED"));
    assert!(message.contains("cannot list"), "{message}");
    world.end().await;
}

/// The evidence of an agent whose idea is not known.
fn said_by(agent: &str) -> Box<Evidence> {
    Box::new(Evidence {
        author: Author::Agent {
            id: agent.parse().unwrap(),
            idea_id: None,
            run: "r1".parse().unwrap(),
        },
        ..Evidence::default()
    })
}

#[tokio::test]
async fn what_agents_found_out_is_listed_with_everyone_who_found_it() {
    let world = World::new().await;
    let (agent, _) = working_agent(&world).await;
    let client = world.client().await;
    assert_eq!(client.view("learnings").await.unwrap(), json!([]));
    let learned = |id: &str, agent: &str, global| {
        Event::Learned(Learned {
            id: id.into(),
            agent: Some(agent.parse().unwrap()),
            profile: Some("ed".parse().unwrap()),
            global,
            content: "the door is green".into(),
            evidence: said_by(agent),
            claim: None,
            restored: false,
        })
    };
    let facts = vec![
        learned("learning-001", &agent, true),
        learned("learning-001", "ed-007", true),
        learned("learning-002", &agent, false),
    ];
    world.facts(facts).await;
    let list = client.view("learnings").await.unwrap();
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 2);
    assert_eq!(
        (&list[0]["id"], &list[0]["scope"], &list[0]["content"]),
        (
            &json!("learning-001"),
            &json!("global"),
            &json!("the door is green")
        )
    );
    // Of an agent that nothing is known of, nothing is invented.
    assert_eq!(
        list[0]["sources"],
        json!([
            {"agentId": agent, "ideaId": "idea-001"},
            {"agentId": "ed-007", "ideaId": null}
        ])
    );
    assert_eq!(
        (&list[1]["scope"], &list[1]["profile"]),
        (&json!("local"), &json!("ed"))
    );
    assert!(list[1]["learnedAt"].as_str().unwrap().ends_with('Z'));
    world.end().await;
}

#[tokio::test]
async fn missing_work_is_settled_only_when_some_is_missing() {
    let world = World::new().await;
    let client = world.client().await;
    let choice = json!({"do": "settleTarget", "choice": "ignore"});
    let (status, code, _) = refused(client.post("commands", &choice).await);
    assert_eq!((status, code.as_str()), (409, "NOT_NOW"));
    let facts = vec![
        Event::TargetSeen(TargetSeen {
            branch: "main".into(),
            commit: oid('a'),
        }),
        Event::TargetRewritten(TargetRewritten {
            from: oid('a'),
            to: oid('b'),
            dropped: vec!["idea-001".parse().unwrap()],
        }),
    ];
    world.facts(facts).await;
    client.post("commands", &choice).await.unwrap();
    world.end().await;
}

/// Walks a value along its schema: every key is described, every key that must be there is, and
/// words are known ones.
pub struct Described<'a> {
    schemas: &'a Value,
}

impl<'a> Described<'a> {
    pub fn of(description: &'a Value) -> Self {
        Self {
            schemas: &description["components"]["schemas"],
        }
    }

    pub fn check(&self, schema: &Value, value: &Value, at: &str) {
        let schema = self.resolve(schema);
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            assert!(words.contains(value), "{at}: {value} is none of {words:?}");
        }
        match value {
            Value::Object(fields) if schema.get("additionalProperties").is_none() => {
                let (known, required) = self.fields(schema);
                if known.is_empty() {
                    // Any object.
                    return;
                }
                for (name, value) in fields {
                    let field = known
                        .get(name)
                        .unwrap_or_else(|| panic!("{at}.{name} is not described"));
                    self.check(field, value, &format!("{at}.{name}"));
                }
                for name in required {
                    assert!(fields.contains_key(&name), "{at}.{name} is missing");
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.check(&schema["items"], item, &format!("{at}[]"));
                }
            }
            // A scalar, or a map of anything.
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => {}
        }
    }

    fn resolve<'b>(&'b self, schema: &'b Value) -> &'b Value {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(name) => &self.schemas[name.rsplit('/').next().unwrap()],
            None => schema,
        }
    }

    /// The fields of an object, those of its parts among them, and the names of those that must be
    /// there.
    fn fields<'b>(&'b self, schema: &'b Value) -> (BTreeMap<String, &'b Value>, BTreeSet<String>) {
        let schema = self.resolve(schema);
        let mut known = BTreeMap::new();
        let mut required = BTreeSet::new();
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let (more, needed) = self.fields(part);
            known.extend(more);
            required.extend(needed);
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            known.insert(name.clone(), field);
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            required.insert(name.as_str().unwrap().to_owned());
        }
        (known, required)
    }
}

#[tokio::test]
async fn answers_have_exactly_the_fields_that_are_described() {
    let world = World::new().await;
    let (agent, _) = working_agent(&world).await;
    let client = world.client().await;
    for command in [
        json!({"do": "addIdea", "content": "x", "after": ["idea-001"], "tags": ["t"],
            "profile": "ed"}),
        json!({"do": "pause", "reason": "r"}),
        json!({"do": "sayToAgent", "id": agent, "text": "hello"}),
    ] {
        client.post("commands", &command).await.unwrap();
    }
    let learned = Event::Learned(Learned {
        id: "learning-001".into(),
        agent: Some(agent.parse().unwrap()),
        profile: Some("ed".parse().unwrap()),
        global: true,
        content: "x".into(),
        evidence: said_by(&agent),
        claim: None,
        restored: false,
    });
    world.facts(vec![learned]).await;
    let description = client.get("openapi.json").await.unwrap();
    let described = Described::of(&description);
    let others = [("events", "/events"), ("healthz", "/healthz")];
    let others = others.map(|(real, path)| (real.to_owned(), path.to_owned()));
    let mut views = Vec::from(others);
    for (real, path) in [
        ("status".to_owned(), "/status"),
        ("ideas".to_owned(), "/ideas"),
        ("ideas/idea-001".to_owned(), "/ideas/{id}"),
        ("agents".to_owned(), "/agents"),
        ("learnings".to_owned(), "/learnings"),
        ("report".to_owned(), "/report"),
        (format!("agents/{agent}"), "/agents/{id}"),
        (format!("agents/{agent}/state"), "/agents/{id}/state"),
    ] {
        let (real, path) = (format!("views/{real}"), format!("/views{path}"));
        views.push((real, path));
    }
    for (real, path) in views {
        let operation = &description["paths"][format!("/api/v1{path}")]["get"];
        let content = &operation["responses"]["200"]["content"]["application/json"];
        assert!(content.is_object(), "{path} is not described: {operation}");
        let answer = client.get(&real).await.unwrap();
        described.check(&content["schema"], &answer, &path);
    }
    let (_, refusal) = world.raw("GET", "/nowhere", b"").await;
    described.check(&json!({"$ref": "#/ErrorBody"}), &refusal, "error");
    world.end().await;
}

#[tokio::test]
async fn merges_and_ended_agents_have_the_fields_that_are_described() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let (run, agent): (swarm::domain::ids::RunId, swarm::domain::ids::AgentId) =
        (run.parse().unwrap(), agent.parse().unwrap());
    let facts = vec![
        Event::MergeQueued(MergeQueued {
            id: "idea-001".parse().unwrap(),
            agent: agent.clone(),
            branch: "b".into(),
            source: oid('b'),
            held: true,
        }),
        Event::MergeMoved(MergeMoved {
            id: "idea-001".parse().unwrap(),
            phase: swarm::domain::lifecycle::MergePhase::Person,
            not_before: None,
            waits: Some(swarm::domain::state::Waits {
                reason: "r".into(),
                files: vec!["f".into()],
                person: true,
                target: false,
            }),
        }),
    ];
    world.facts(facts).await;
    let client = world.client().await;
    let description = client.get("openapi.json").await.unwrap();
    let described = Described::of(&description);
    let merges = client.view("merges").await.unwrap();
    assert_eq!(merges[0]["files"], json!(["f"]));
    described.check(&json!({"items": {"$ref": "#/Merge"}}), &merges, "merges");
    let failed = RunEnd::new(RunEndKind::Exited { code: 1 });
    let fits = |effect: &Effect| {
        matches!(effect, Effect::Run(effect::Run { run: this, .. })
            if *this == run)
    };
    world.end_effect(fits, Ok(failed.into())).await;
    let status = client.view("status").await.unwrap();
    assert!(!status["needsYou"].as_array().unwrap().is_empty());
    described.check(&json!({"$ref": "#/Status"}), &status, "status");
    let shown = client.view(&format!("agents/{agent}")).await.unwrap();
    assert_eq!(shown["end"], "failed");
    described.check(&json!({"$ref": "#/Agent"}), &shown, "agent");
    world.end().await;
}

#[tokio::test]
async fn the_description_names_every_route_and_every_word() {
    let world = World::new().await;
    let client = world.client().await;
    let description = client.get("openapi.json").await.unwrap();
    let mut found = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            found.push(format!(
                "{method} {}",
                path.strip_prefix("/api/v1/").unwrap()
            ));
        }
    }
    found.sort();
    insta::assert_snapshot!(found.join("\n"), @r#"
    get agents/{id}/logs
    get events
    get healthz
    get views/agents
    get views/agents/{id}
    get views/agents/{id}/state
    get views/checkpoints
    get views/checkpoints/{name}
    get views/checkpoints/{name}/preview
    get views/hooks
    get views/ideas
    get views/ideas/{id}
    get views/learnings
    get views/memory/facts
    get views/memory/facts/{key}
    get views/memory/log
    get views/memory/news
    get views/memory/search
    get views/memory/shown/{agent}
    get views/memory/stats
    get views/merges
    get views/merges/{idea}/diff
    get views/provenance
    get views/provenance/{id}
    get views/provenance/{id}/replay
    get views/report
    get views/scratch
    get views/scratch/{key}
    get views/snapshot/diff
    get views/state
    get views/status
    get views/undo
    post agents/import
    post clean
    post commands
    post config/reload
    post page/links
    post provenance/{id}/replay
    "#);
    let schemas = &description["components"]["schemas"];
    let phases = &schemas["Status"]["properties"]["phase"]["enum"];
    assert!(
        phases.as_array().unwrap().contains(&json!("rolling-back")),
        "{phases}"
    );
    let kinds = schemas["EventRecord"]["properties"]["kind"]["enum"]
        .as_array()
        .unwrap();
    assert!(
        kinds.contains(&json!("mark")) && kinds.len() > 40,
        "{kinds:?}"
    );
    let choices = &schemas["TargetChoice"]["enum"];
    assert_eq!(choices, &json!(["redo", "ignore", "cancel"]));
    assert_eq!(schemas["NewIdea"]["required"], json!(["content"]));
    let commands = schemas["Command"]["oneOf"].as_array().unwrap();
    let named = |command: &Value| command.to_string().contains("\"holdIdea\"");
    assert!(commands.iter().any(named), "{commands:?}");
    let text = description.to_string();
    for field in ["newWorktree", "keepAgents", "expectedVersion", "ideaId"] {
        assert!(text.contains(&format!("\"{field}\"")), "{field}");
    }
    assert!(!text.contains("new_worktree") && !text.contains("keep_agents"));
    world.end().await;
}
