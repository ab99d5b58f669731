//! Provenance records over HTTP.

use std::fs;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use swarm::daemon::Paths;
use swarm::daemon::provenance::store;
use swarm::domain::time::Timestamp;
use swarm::journal::{Disk, Journal, JournalEvent, SEGMENT_BYTES};
use swarm::view::provenance::Record;

use crate::kit::{World, refused};
use crate::routes::Described;

/// An event as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    kind: String,
    data: Value,
}

impl JournalEvent for Written {
    fn mark() -> Self {
        let kind = "mark".to_owned();
        let data = json!({});
        Self { kind, data }
    }

    fn kind(&self) -> &str {
        &self.kind
    }
}

fn record() -> Record {
    let text = include_str!("../fixtures/provenance/record.json");
    serde_json::from_str(text).unwrap()
}

/// A record on disk and in the log.
fn write(world: &World) -> Paths {
    let paths = Paths::new(&world.context.repo_root);
    fs::create_dir_all(&paths.state).unwrap();
    let record = record();
    let sha256 = store::write(&paths, &record).unwrap();
    let data = json!({
        "agent": record.agent, "idea": record.workflow_id, "iteration": 1,
        "run": record.run, "sha256": sha256, "model": record.config.model.id,
    });
    let kind = "iterationRecorded".to_owned();
    let disk = Box::new(Disk);
    let (mut journal, _) = Journal::open_with(&paths.state, SEGMENT_BYTES, disk).unwrap();
    let at = Timestamp::from_millis(1_767_225_700_000);
    journal.append(0, at, &[Written { kind, data }]).unwrap();
    paths
}

#[tokio::test]
async fn records_are_listed_and_served_as_they_are_described() {
    let world = World::new().await;
    let client = world.client().await;
    assert_eq!(client.view("provenance").await.unwrap(), json!([]));
    write(&world);
    let run = record().run;
    let idea = record().workflow_id;
    let description = client.get("openapi.json").await.unwrap();
    let described = Described::of(&description);
    for (path, route) in [
        ("provenance?limit=5&match=not_replayed", "/provenance"),
        (&format!("provenance/{run}"), "/provenance/{id}"),
        (&format!("provenance/{idea}"), "/provenance/{id}"),
    ] {
        let operation = &description["paths"][format!("/api/v1/views{route}")]["get"];
        let content = &operation["responses"]["200"]["content"]["application/json"];
        let answer = client.view(path).await.unwrap();
        described.check(&content["schema"], &answer, path);
    }
    let served = client.view(&format!("provenance/{run}")).await.unwrap();
    assert_eq!(served, serde_json::to_value(record()).unwrap());
    let none = client.view("provenance?match=exact_match").await.unwrap();
    assert_eq!(none, json!([]));
    world.end().await;
}

#[tokio::test]
async fn what_is_damaged_missing_or_unknown_is_refused() {
    let world = World::new().await;
    let client = world.client().await;
    let paths = write(&world);
    let run = record().run;
    let one = format!("provenance/{run}");
    fs::write(paths.record(&run.parse().unwrap()), "{}").unwrap();
    let (status, code, message) = refused(client.view(&one).await);
    assert_eq!(
        (status, code.as_str()),
        (409, "RECORD_DAMAGED"),
        "{message}"
    );
    fs::remove_file(paths.record(&run.parse().unwrap())).unwrap();
    let (status, code, message) = refused(client.view(&one).await);
    assert_eq!(
        (status, code.as_str()),
        (409, "RECORD_MISSING"),
        "{message}"
    );
    for (path, status, code) in [
        ("provenance/idea-999", 404, "RECORD_UNKNOWN"),
        ("provenance?match=maybe", 400, "BAD_REQUEST"),
        ("provenance?since=soon", 400, "BAD_REQUEST"),
        ("provenance?agent=..", 400, "BAD_REQUEST"),
    ] {
        let (found, name, message) = refused(client.view(path).await);
        assert_eq!((found, name.as_str()), (status, code), "{path}: {message}");
    }
    world.end().await;
}
