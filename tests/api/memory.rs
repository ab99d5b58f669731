//! The routes about the memory that agents share.

use serde_json::{Value, json};
use swarm::domain::event::{Event, MemoryRead, MemoryShown, ReadCounts, ShownItem};
use swarm::domain::ids::{AgentId, RunId};

use crate::kit::{World, refused, working_agent};
use crate::routes::Described;

/// The answer of a request, with its status.
async fn put(world: &World, path: &str, body: &Value) -> (u16, Value) {
    let path = format!("/api/v1/{path}");
    world.raw("PUT", &path, body.to_string().as_bytes()).await
}

#[tokio::test]
async fn a_fact_is_written_by_compare_and_swap_and_a_conflict_has_the_current_value() {
    let world = World::new().await;
    let first = json!({"value": "8080", "expectedVersion": 0, "paths": ["src/api.rs"]});
    let (status, written) = put(&world, "memory/facts/api.port", &first).await;
    assert_eq!((status, &written["version"]), (200, &json!(1)), "{written}");
    assert_eq!(written["similar"], json!([]));
    let second = json!({"value": "9090", "expectedVersion": 0});
    let (status, refusal) = put(&world, "memory/facts/api.port", &second).await;
    let error = &refusal["error"];
    assert_eq!((status, &error["code"]), (409, &json!("FACT_CONFLICT")));
    let current = json!({"version": 1, "value": "8080", "by": {"kind": "person"}});
    assert_eq!(error["current"], current);
    let third =
        json!({"value": "9090", "expectedVersion": 1, "evidence": [1, "1"], "why": "moved"});
    let (status, written) = put(&world, "memory/facts/api.port", &third).await;
    assert_eq!((status, &written["version"]), (200, &json!(2)));
    let client = world.client().await;
    let fact = client.get("memory/facts/api.port").await.unwrap();
    assert_eq!(
        (&fact["value"], &fact["why"]),
        (&json!("9090"), &json!("moved"))
    );
    assert_eq!(fact["evidence"][0]["refs"], json!([1, 1]));
    assert_eq!(fact["history"][0]["value"], "8080");
    let then = fact["history"][0].clone();
    let at = written["seq"].as_u64().unwrap() - 1;
    let path = format!("memory/facts/api.port?at={at}");
    let before = client.get(&path).await.unwrap();
    assert_eq!(
        (&before["value"], &before["version"]),
        (&json!("8080"), &json!(1))
    );
    let time = then["at"].as_str().unwrap();
    let path = format!(
        "memory/facts/api.port?at={}",
        swarm::api::client::encode(time)
    );
    assert_eq!(client.get(&path).await.unwrap()["version"], json!(1));
    let unknown = client.get("memory/facts/api.prot").await.unwrap_err();
    let swarm::api::ClientError::Api { suggestions, .. } = unknown else {
        panic!("{unknown:?}");
    };
    assert_eq!(
        suggestions[0],
        "did you mean this: swarm memory get api.port"
    );
    world.end().await;
}

#[tokio::test]
async fn a_contradicted_fact_shows_both_sides_until_it_is_settled() {
    let world = World::new().await;
    let client = world.client().await;
    for key in ["a.first", "b.second"] {
        put(
            &world,
            &format!("memory/facts/{key}"),
            &json!({"value": "one"}),
        )
        .await;
    }
    let dispute = json!({"version": 1, "value": "two"});
    let disputed = client.post("memory/facts/a.first/dispute", &dispute).await;
    let disputed = disputed.unwrap();
    assert_eq!(
        (&disputed["status"], &disputed["version"]),
        (&json!("contradicted"), &json!(2))
    );
    let board = client.get("memory/facts").await.unwrap();
    let keys = |board: &Value| -> Vec<String> {
        let board = board.as_array().unwrap().iter();
        board
            .map(|fact| fact["key"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(keys(&board), ["b.second", "a.first"]);
    assert_eq!(board[1]["claims"][0]["value"], "two");
    client
        .post("memory/facts/a.first/pin", &json!({"on": true}))
        .await
        .unwrap();
    assert_eq!(
        keys(&client.get("memory/facts").await.unwrap()),
        ["a.first", "b.second"]
    );
    let confirmed = client
        .post("memory/facts/b.second/confirm", &json!({"version": 1}))
        .await;
    assert_eq!(confirmed.unwrap()["status"], "active");
    put(
        &world,
        "memory/facts/a.first",
        &json!({"value": "two", "expectedVersion": 2}),
    )
    .await;
    let settled = client.get("memory/facts/a.first").await.unwrap();
    assert_eq!(
        (&settled["status"], &settled["claims"]),
        (&json!("active"), &json!([]))
    );
    let gone = client
        .post("memory/retract", &json!({"key": "b.second", "why": "no"}))
        .await;
    assert_eq!(gone.unwrap()["retracted"], json!(["b.second"]));
    assert_eq!(
        keys(&client.get("memory/facts").await.unwrap()),
        ["a.first"]
    );
    let all = client.get("memory/facts?all=true").await.unwrap();
    assert_eq!(
        (&all[1]["status"], &all[1]["retracted"]["why"]),
        (&json!("retracted"), &json!("no"))
    );
    world.end().await;
}

#[tokio::test]
async fn a_learning_says_what_it_did_and_what_is_similar() {
    let world = World::new().await;
    let client = world.client().await;
    let learn = async |body: Value| client.post("learnings", &body).await.unwrap();
    let first = learn(json!({"content": "The tests need Redis on port 6379"})).await;
    assert_eq!(
        (&first["id"], &first["known"]),
        (&json!("learning-001"), &json!(false))
    );
    assert_eq!(first["similar"], json!([]));
    let again = learn(json!({"content": "the tests need  redis on port 6379"})).await;
    assert_eq!(
        (&again["id"], &again["known"]),
        (&json!("learning-001"), &json!(true))
    );
    let other = learn(json!({"content": "Redis must run on port 6379 for tests"})).await;
    assert_eq!(other["similar"][0]["ref"], "learning-001");
    let claim = learn(json!({"content": "[api.port] The API listens on 8080"})).await;
    let fact = json!({"key": "api.port", "version": 1, "effect": "wrote"});
    assert_eq!(claim["fact"], fact);
    let mine = learn(json!({"content": "The API listens on 9090", "key": "api.port"})).await;
    let fact = json!({"key": "api.port", "version": 2, "effect": "wrote"});
    assert_eq!(
        mine["fact"], fact,
        "only its writer supported the old value"
    );
    let found = client.get("memory/search?q=redis&limit=1").await.unwrap();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["leftOut"], 1);
    world.end().await;
}

#[tokio::test]
async fn the_log_has_the_events_about_the_memory_by_range_agent_and_kind() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let client = world.client().await;
    for value in ["1", "2", "3"] {
        put(&world, "memory/facts/a.b", &json!({"value": value})).await;
    }
    let shown = Event::MemoryShown(MemoryShown {
        agent: agent.parse().unwrap(),
        run: run.parse().unwrap(),
        items: vec![ShownItem {
            reference: "a.b".into(),
            version: 2,
        }],
        held: false,
        fresh: false,
    });
    world.facts(vec![shown]).await;
    let seqs = async |query: &str| -> Vec<u64> {
        let log = client.get(&format!("memory/log{query}")).await.unwrap();
        let log = log.as_array().unwrap().iter();
        log.map(|event| event["seq"].as_u64().unwrap()).collect()
    };
    let all = seqs("").await;
    assert_eq!(all.len(), 4);
    assert_eq!(seqs("?kind=factWritten").await, all[..3]);
    assert_eq!(seqs(&format!("?agent={agent}")).await, all[3..]);
    assert_eq!(seqs("?limit=2").await, all[..2]);
    let range = format!("?since={}&until={}", all[0], all[2]);
    assert_eq!(seqs(&range).await, all[1..3]);
    let last = u64::MAX;
    assert_eq!(seqs(&format!("?since={last}")).await, Vec::<u64>::new());
    let log = client.get("memory/log?limit=1").await.unwrap();
    let time = swarm::api::client::encode(log[0]["ts"].as_str().unwrap());
    assert_eq!(seqs(&format!("?since={time}")).await, all[1..]);
    assert_eq!(seqs(&format!("?until={time}")).await, all[..1]);
    let shown = client.get(&format!("memory/shown/{agent}")).await.unwrap();
    let item = json!({"ref": "a.b", "version": 2, "text": "3", "currentVersion": 3});
    assert_eq!(shown["items"], json!([item]));
    world.end().await;
}

#[tokio::test]
async fn the_measures_count_the_log_now_and_then_and_the_refused_writes_since_the_start() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let client = world.client().await;
    let learned = json!({"content": "[a.b] the first"});
    client.post("learnings", &learned).await.unwrap();
    let first = client.get("memory/stats").await.unwrap();
    assert_eq!(first["duplication"]["mentions"], 1);
    assert_eq!(first["facts"]["facts"], 1);
    assert_eq!(first["latency"]["seen"], 0);
    let conflict = json!({"value": "another", "expectedVersion": 7});
    assert_eq!(put(&world, "memory/facts/a.b", &conflict).await.0, 409);
    let item = ShownItem {
        reference: "a.b".into(),
        version: 1,
    };
    let (agent, run): (AgentId, RunId) = (agent.parse().unwrap(), run.parse().unwrap());
    let shown = MemoryShown {
        agent: agent.clone(),
        run: run.clone(),
        items: vec![item.clone()],
        held: false,
        fresh: true,
    };
    let read = MemoryRead {
        agent,
        run,
        items: vec![item],
        by_tool: ReadCounts {
            fact: 1,
            log: 2,
            ..ReadCounts::default()
        },
    };
    world.facts(vec![shown.into(), read.into()]).await;
    let stats = client.get("memory/stats").await.unwrap();
    assert_eq!(stats["latency"]["seen"], 1);
    let used = json!({"shown": 1, "used": 1, "rate": 1.0, "boardReads": 1, "logReads": 2});
    assert_eq!(stats["use"], used);
    assert_eq!(
        (
            &stats["sinceStart"]["writes"],
            &stats["sinceStart"]["conflicts"]
        ),
        (&json!(1), &json!(1))
    );
    let then = format!("memory/stats?at={}", first["seq"]);
    let then = client.get(&then).await.unwrap();
    assert_eq!(then["sinceStart"], Value::Null);
    for measure in ["duplication", "latency", "lift", "use", "facts", "at"] {
        assert_eq!(then[measure], first[measure], "{measure}");
    }
    world.end().await;
}

#[tokio::test]
async fn notes_are_written_listed_and_dropped() {
    let world = World::new().await;
    let client = world.client().await;
    let body = json!({"content": "a plan\n", "title": "Plan", "expectedVersion": 0});
    let (status, first) = put(&world, "scratch/tasks/auth.md", &body).await;
    assert_eq!(status, 200, "{first}");
    assert!(first["expiresAt"].is_string(), "{first}");
    let (status, refusal) = put(&world, "scratch/tasks/auth.md", &body).await;
    assert_eq!(
        (status, &refusal["error"]["code"]),
        (409, &json!("NOTE_CONFLICT"))
    );
    assert_eq!(refusal["error"]["current"]["version"], first["version"]);
    let body = json!({"content": "another", "expectedVersion": first["version"], "keep": true});
    let (status, second) = put(&world, "scratch/tasks/auth.md", &body).await;
    assert_eq!((status, &second["expiresAt"]), (200, &Value::Null));
    put(&world, "scratch/other", &json!({"content": "x"})).await;
    let note = client.get("scratch/tasks/auth.md").await.unwrap();
    assert_eq!(
        (&note["content"], &note["title"]),
        (&json!("another"), &json!("Plan"))
    );
    assert_eq!(note["version"], second["version"]);
    // printf another | sha256sum
    let hash = note["sha256"].as_str().unwrap();
    assert!(hash.starts_with("ae448ac86c4e8e4d"), "{hash}");
    let list = client.get("scratch?prefix=tasks/").await.unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert!(list[0].get("content").is_none(), "{list}");
    let stale = format!("scratch/tasks/auth.md?expectedVersion={}", first["version"]);
    assert_eq!(refused(client.delete(&stale).await).0, 409);
    client.delete("scratch/tasks/auth.md").await.unwrap();
    assert_eq!(refused(client.get("scratch/tasks/auth.md").await).0, 404);
    world.end().await;
}

#[tokio::test]
async fn answers_about_the_memory_have_the_fields_that_are_described() {
    let world = World::new().await;
    let (agent, _) = working_agent(&world).await;
    let client = world.client().await;
    put(
        &world,
        "memory/facts/a.b",
        &json!({"value": "1", "why": "w", "paths": ["x"]}),
    )
    .await;
    put(&world, "memory/facts/a.b", &json!({"value": "2"})).await;
    let dispute = json!({"version": 2, "value": "3"});
    let disputed = client
        .post("memory/facts/a.b/dispute", &dispute)
        .await
        .unwrap();
    client
        .post("memory/retract", &json!({"key": "a.b"}))
        .await
        .unwrap();
    let learned = client
        .post("learnings", &json!({"content": "[a.c] x y"}))
        .await
        .unwrap();
    let (_, note) = put(&world, "scratch/n", &json!({"content": "x"})).await;
    let compacted = client.post("memory/compact", &json!({})).await.unwrap();
    assert_eq!(compacted["events"], json!([]), "nothing is old");
    let description = client.get("openapi.json").await.unwrap();
    let described = Described::of(&description);
    for (path, route) in [
        ("memory/facts?all=true", "/memory/facts"),
        ("memory/facts/a.b", "/memory/facts/{key}"),
        ("memory/log", "/memory/log"),
        ("memory/news", "/memory/news"),
        ("memory/search?q=x", "/memory/search"),
        (&format!("memory/shown/{agent}"), "/memory/shown/{agent}"),
        ("memory/stats", "/memory/stats"),
        ("memory/stats?at=1", "/memory/stats"),
        ("scratch", "/scratch"),
        ("scratch/n", "/scratch/{key}"),
        ("learnings", "/learnings"),
    ] {
        let operation = &description["paths"][format!("/api/v1{route}")]["get"];
        let content = &operation["responses"]["200"]["content"]["application/json"];
        assert!(content.is_object(), "{route} is not described: {operation}");
        let answer = client.get(path).await.unwrap();
        described.check(&content["schema"], &answer, path);
    }
    for (name, answer) in [
        ("FactChanged", disputed),
        ("Learned", learned),
        ("NotePut", note),
        ("MemoryCompacted", compacted),
    ] {
        described.check(&json!({"$ref": format!("#/{name}")}), &answer, name);
    }
    world.end().await;
}

#[tokio::test]
async fn keys_queries_and_bodies_that_make_no_sense_are_refused() {
    let world = World::new().await;
    let client = world.client().await;
    for (path, status, code) in [
        ("memory/facts/API", 422, "KEY_INVALID"),
        ("memory/facts/api.port", 404, "FACT_UNKNOWN"),
        ("memory/facts/api.port?at=yesterday", 400, "BAD_REQUEST"),
        ("memory/facts/api.port?at=9999", 400, "BAD_REQUEST"),
        ("memory/log?kind=ideaAdded", 400, "BAD_REQUEST"),
        ("memory/log?since=soon", 400, "BAD_REQUEST"),
        ("memory/log?sinse=1", 400, "BAD_REQUEST"),
        ("memory/search", 400, "BAD_REQUEST"),
        ("memory/shown/ed-999", 404, "AGENT_UNKNOWN"),
        ("memory/stats?at=9999", 400, "BAD_REQUEST"),
        ("memory/stats?since=1", 400, "BAD_REQUEST"),
        ("scratch/tasks/auth.md", 404, "NOTE_UNKNOWN"),
        ("scratch/Tasks", 422, "KEY_INVALID"),
    ] {
        let (found, name, message) = refused(client.get(path).await);
        assert_eq!((found, name.as_str()), (status, code), "{path}: {message}");
    }
    for body in [json!({}), json!({"learning": "learning-001", "key": "a"})] {
        let (status, _, message) = refused(client.post("memory/retract", &body).await);
        assert_eq!(status, 400);
        assert!(message.contains("exactly one"), "{message}");
    }
    let nobody = json!({"profile": "nobody"});
    let (_, code, _) = refused(client.post("memory/synthesize", &nobody).await);
    assert_eq!(code, "PROFILE_UNKNOWN");
    let empty = json!({"content": "  "});
    let (status, code, _) = refused(client.post("learnings", &empty).await);
    assert_eq!((status, code.as_str()), (422, "TEXT_EMPTY"));
    world.end().await;
}

#[tokio::test]
async fn an_agent_writes_by_version_and_the_same_operation_acts_once() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let send = async |method: &str, path: &str, header: &str, body: Value| {
        let (path, body) = (format!("/api/v1/{path}"), body.to_string());
        let sent = world.with_header(method, &path, header, body.as_bytes());
        let (status, bytes) = sent.await;
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        (status, answer)
    };
    let by_agent = format!("Swarm-Run: {run}");
    let fact = "memory/facts/a.b";
    let (status, refusal) = send("PUT", fact, &by_agent, json!({"value": "1"})).await;
    assert_eq!(
        (status, &refusal["error"]["code"]),
        (422, &json!("VERSION_MISSING"))
    );
    let first = json!({"value": "1", "expectedVersion": 0});
    let (status, _) = send("PUT", fact, &by_agent, first).await;
    assert_eq!(status, 200);
    let client = world.client().await;
    let by = client.get(fact).await.unwrap()["by"].clone();
    assert_eq!((&by["kind"], &by["id"]), (&json!("agent"), &json!(agent)));
    let pin = send(
        "POST",
        "memory/facts/a.b/pin",
        &by_agent,
        json!({"on": true}),
    )
    .await;
    assert_eq!(pin.1["error"]["code"], "NOT_FOR_AGENTS");

    let second = json!({"value": "2", "expectedVersion": 1});
    let once = "Idempotency-Key: once";
    let (first, again) = (
        send("PUT", fact, once, second.clone()).await,
        send("PUT", fact, once, second).await,
    );
    assert_eq!((first.0, again.0), (200, 200), "{again:?}");
    assert_eq!(first.1["version"], again.1["version"]);
    let written = client.get("memory/log?kind=factWritten").await.unwrap();
    assert_eq!(written.as_array().unwrap().len(), 2);
    world.end().await;
}
