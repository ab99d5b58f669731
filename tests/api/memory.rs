//! The routes about the memory that agents share.

use serde_json::{Value, json};
use swarm::domain::event::{Event, MemoryRead, MemoryShown, ReadCounts, ShownItem};
use swarm::domain::ids::{AgentId, RunId};

use crate::kit::{World, refused, working_agent};
use crate::routes::Described;

/// The answer to a command, with its status.
async fn send(world: &World, command: &Value) -> (u16, Value) {
    let body = command.to_string();
    world.raw("POST", "/api/v1/commands", body.as_bytes()).await
}

/// Writes a fact; the answer with its status. `more` has the other fields of the command.
async fn write(world: &World, key: &str, value: &str, more: Value) -> (u16, Value) {
    let mut command = json!({"do": "writeFact", "key": key, "value": value});
    let more = more.as_object().cloned().unwrap_or_default();
    command.as_object_mut().unwrap().extend(more);
    send(world, &command).await
}

/// A write that is on this version of a fact.
fn version(version: u64) -> Value {
    json!({ "expectedVersion": version })
}

#[tokio::test]
async fn a_fact_is_written_by_compare_and_swap_and_a_conflict_has_the_current_value() {
    let world = World::new().await;
    let first = json!({"expectedVersion": 0, "claim": {"paths": ["src/api.rs"]}});
    let (status, written) = write(&world, "api.port", "8080", first).await;
    assert_eq!((status, &written["version"]), (200, &json!(1)), "{written}");
    assert_eq!(written["similar"], json!([]));
    let (status, refusal) = write(&world, "api.port", "9090", version(0)).await;
    let error = &refusal["error"];
    assert_eq!((status, &error["code"]), (409, &json!("FACT_CONFLICT")));
    let current = json!({"version": 1, "value": "8080", "by": {"kind": "person"}});
    assert_eq!(error["current"], current);
    let third = json!({"expectedVersion": 1, "claim": {"evidence": [1, "1"], "why": "moved"}});
    let (status, written) = write(&world, "api.port", "9090", third).await;
    assert_eq!((status, &written["version"]), (200, &json!(2)));
    let client = world.client().await;
    let fact = client.view("memory/facts/api.port").await.unwrap();
    assert_eq!(
        (&fact["value"], &fact["why"]),
        (&json!("9090"), &json!("moved"))
    );
    assert_eq!(fact["evidence"][0]["refs"], json!([1, 1]));
    assert_eq!(fact["history"][0]["value"], "8080");
    let then = fact["history"][0].clone();
    let at = written["seq"].as_u64().unwrap() - 1;
    let path = format!("memory/facts/api.port?at={at}");
    let before = client.view(&path).await.unwrap();
    assert_eq!(
        (&before["value"], &before["version"]),
        (&json!("8080"), &json!(1))
    );
    let time = then["at"].as_str().unwrap();
    let path = format!(
        "memory/facts/api.port?at={}",
        swarm::api::client::encode(time)
    );
    assert_eq!(client.view(&path).await.unwrap()["version"], json!(1));
    let unknown = client.view("memory/facts/api.prot").await.unwrap_err();
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
        write(&world, key, "one", json!({})).await;
    }
    let dispute = json!({"do": "disputeFact", "key": "a.first", "version": 1, "value": "two"});
    let disputed = client.post("commands", &dispute).await.unwrap();
    assert_eq!(
        (&disputed["status"], &disputed["version"]),
        (&json!("contradicted"), &json!(2))
    );
    let board = client.view("memory/facts").await.unwrap();
    let keys = |board: &Value| -> Vec<String> {
        let board = board.as_array().unwrap().iter();
        board
            .map(|fact| fact["key"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(keys(&board), ["b.second", "a.first"]);
    assert_eq!(board[1]["claims"][0]["value"], "two");
    let pin = json!({"do": "pinFact", "key": "a.first", "on": true});
    client.post("commands", &pin).await.unwrap();
    assert_eq!(
        keys(&client.view("memory/facts").await.unwrap()),
        ["a.first", "b.second"]
    );
    let confirm = json!({"do": "confirmFact", "key": "b.second", "version": 1});
    let confirmed = client.post("commands", &confirm).await;
    assert_eq!(confirmed.unwrap()["status"], "active");
    write(&world, "a.first", "two", version(2)).await;
    let settled = client.view("memory/facts/a.first").await.unwrap();
    assert_eq!(
        (&settled["status"], &settled["claims"]),
        (&json!("active"), &json!([]))
    );
    let retract = json!({"do": "retract", "what": {"fact": "b.second"}, "why": "no"});
    let gone = client.post("commands", &retract).await;
    assert_eq!(gone.unwrap()["retracted"], json!(["b.second"]));
    assert_eq!(
        keys(&client.view("memory/facts").await.unwrap()),
        ["a.first"]
    );
    let all = client.view("memory/facts?all=true").await.unwrap();
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
    let learn = async |content: &str, key: Option<&str>| {
        let learn = json!({"do": "learn", "content": content, "key": key});
        client.post("commands", &learn).await.unwrap()
    };
    let first = learn("The tests need Redis on port 6379", None).await;
    assert_eq!(
        (&first["id"], &first["known"]),
        (&json!("learning-001"), &json!(false))
    );
    assert_eq!(first["similar"], json!([]));
    let again = learn("the tests need  redis on port 6379", None).await;
    assert_eq!(
        (&again["id"], &again["known"]),
        (&json!("learning-001"), &json!(true))
    );
    let other = learn("Redis must run on port 6379 for tests", None).await;
    assert_eq!(other["similar"][0]["ref"], "learning-001");
    let claim = learn("[api.port] The API listens on 8080", None).await;
    let fact = json!({"key": "api.port", "version": 1, "effect": "wrote"});
    assert_eq!(claim["fact"], fact);
    let mine = learn("The API listens on 9090", Some("api.port")).await;
    let fact = json!({"key": "api.port", "version": 2, "effect": "wrote"});
    assert_eq!(
        mine["fact"], fact,
        "only its writer supported the old value"
    );
    let found = client.view("memory/search?q=redis&limit=1").await.unwrap();
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
        write(&world, "a.b", value, json!({})).await;
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
        let log = client.view(&format!("memory/log{query}")).await.unwrap();
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
    let log = client.view("memory/log?limit=1").await.unwrap();
    let time = swarm::api::client::encode(log[0]["ts"].as_str().unwrap());
    assert_eq!(seqs(&format!("?since={time}")).await, all[1..]);
    assert_eq!(seqs(&format!("?until={time}")).await, all[..1]);
    let shown = client.view(&format!("memory/shown/{agent}")).await.unwrap();
    let item = json!({"ref": "a.b", "version": 2, "text": "3", "currentVersion": 3});
    assert_eq!(shown["items"], json!([item]));
    world.end().await;
}

#[tokio::test]
async fn the_measures_count_the_log_now_and_then_and_the_refused_writes_since_the_start() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let client = world.client().await;
    let learn = json!({"do": "learn", "content": "[a.b] the first"});
    client.post("commands", &learn).await.unwrap();
    let first = client.view("memory/stats").await.unwrap();
    assert_eq!(first["duplication"]["mentions"], 1);
    assert_eq!(first["facts"]["facts"], 1);
    assert_eq!(first["latency"]["seen"], 0);
    let refused = write(&world, "a.b", "another", version(7)).await;
    assert_eq!(refused.0, 409);
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
    let stats = client.view("memory/stats").await.unwrap();
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
    let then = client.view(&then).await.unwrap();
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
    let plan = json!({"do": "putNote", "key": "tasks/auth.md", "content": "a plan\n",
        "title": "Plan", "expectedVersion": 0});
    let (status, first) = send(&world, &plan).await;
    assert_eq!(status, 200, "{first}");
    assert!(first["expiresAt"].is_string(), "{first}");
    let (status, refusal) = send(&world, &plan).await;
    assert_eq!(
        (status, &refusal["error"]["code"]),
        (409, &json!("NOTE_CONFLICT"))
    );
    assert_eq!(refusal["error"]["current"]["version"], first["version"]);
    let another = json!({"do": "putNote", "key": "tasks/auth.md", "content": "another",
        "expectedVersion": first["version"], "keep": true});
    let (status, second) = send(&world, &another).await;
    assert_eq!((status, &second["expiresAt"]), (200, &Value::Null));
    send(
        &world,
        &json!({"do": "putNote", "key": "other", "content": "x"}),
    )
    .await;
    let note = client.view("scratch/tasks/auth.md").await.unwrap();
    assert_eq!(
        (&note["content"], &note["title"]),
        (&json!("another"), &json!("Plan"))
    );
    assert_eq!(note["version"], second["version"]);
    // printf another | sha256sum
    let hash = note["sha256"].as_str().unwrap();
    assert!(hash.starts_with("ae448ac86c4e8e4d"), "{hash}");
    let list = client.view("scratch?prefix=tasks/").await.unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert!(list[0].get("content").is_none(), "{list}");
    let stale = json!({"do": "putNote", "key": "tasks/auth.md",
        "expectedVersion": first["version"]});
    assert_eq!(refused(client.post("commands", &stale).await).0, 409);
    let drop = json!({"do": "putNote", "key": "tasks/auth.md"});
    client.post("commands", &drop).await.unwrap();
    assert_eq!(refused(client.view("scratch/tasks/auth.md").await).0, 404);
    world.end().await;
}

#[tokio::test]
async fn answers_about_the_memory_have_the_fields_that_are_described() {
    let world = World::new().await;
    let (agent, _) = working_agent(&world).await;
    let client = world.client().await;
    let claim = json!({"claim": {"why": "w", "paths": ["x"]}});
    write(&world, "a.b", "1", claim).await;
    write(&world, "a.b", "2", json!({})).await;
    let run = async |command: Value| client.post("commands", &command).await.unwrap();
    let dispute = json!({"do": "disputeFact", "key": "a.b", "version": 2, "value": "3"});
    let disputed = run(dispute).await;
    run(json!({"do": "retract", "what": {"fact": "a.b"}})).await;
    let learned = run(json!({"do": "learn", "content": "[a.c] x y"})).await;
    let note = run(json!({"do": "putNote", "key": "n", "content": "x"})).await;
    let compacted = run(json!({"do": "compactMemory"})).await;
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
        let operation = &description["paths"][format!("/api/v1/views{route}")]["get"];
        let content = &operation["responses"]["200"]["content"]["application/json"];
        assert!(content.is_object(), "{route} is not described: {operation}");
        let answer = client.view(path).await.unwrap();
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
        let (found, name, message) = refused(client.view(path).await);
        assert_eq!((found, name.as_str()), (status, code), "{path}: {message}");
    }
    for what in [json!({}), json!({"learning": "learning-001", "fact": "a"})] {
        let retract = json!({"do": "retract", "what": what});
        let (status, _, message) = refused(client.post("commands", &retract).await);
        assert_eq!(status, 400);
        assert!(message.contains("the command is invalid"), "{message}");
    }
    let nobody = json!({"do": "synthesize", "profile": "nobody"});
    let (_, code, _) = refused(client.post("commands", &nobody).await);
    assert_eq!(code, "PROFILE_UNKNOWN");
    let empty = json!({"do": "learn", "content": "  "});
    let (status, code, _) = refused(client.post("commands", &empty).await);
    assert_eq!((status, code.as_str()), (422, "TEXT_EMPTY"));
    world.end().await;
}

#[tokio::test]
async fn an_agent_writes_by_version_and_the_same_operation_acts_once() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let send = async |header: &str, command: Value| {
        let body = command.to_string();
        let sent = world.with_header("POST", "/api/v1/commands", header, body.as_bytes());
        let (status, bytes) = sent.await;
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        (status, answer)
    };
    let by_agent = format!("Swarm-Run: {run}");
    let fact = "memory/facts/a.b";
    let write = |value: &str| json!({"do": "writeFact", "key": "a.b", "value": value});
    let (status, refusal) = send(&by_agent, write("1")).await;
    assert_eq!(
        (status, &refusal["error"]["code"]),
        (422, &json!("VERSION_MISSING"))
    );
    let mut first = write("1");
    first["expectedVersion"] = json!(0);
    let (status, _) = send(&by_agent, first).await;
    assert_eq!(status, 200);
    let client = world.client().await;
    let by = client.view(fact).await.unwrap()["by"].clone();
    assert_eq!((&by["kind"], &by["id"]), (&json!("agent"), &json!(agent)));
    let pin = json!({"do": "pinFact", "key": "a.b", "on": true});
    let pin = send(&by_agent, pin).await;
    assert_eq!(pin.1["error"]["code"], "NOT_FOR_AGENTS");

    let mut second = write("2");
    second["expectedVersion"] = json!(1);
    let once = "Idempotency-Key: once";
    let (first, again) = (send(once, second.clone()).await, send(once, second).await);
    assert_eq!((first.0, again.0), (200, 200), "{again:?}");
    assert_eq!(first.1["version"], again.1["version"]);
    let written = client.view("memory/log?kind=factWritten").await.unwrap();
    assert_eq!(written.as_array().unwrap().len(), 2);
    world.end().await;
}
