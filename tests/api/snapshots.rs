//! Earlier states and what differs between two, over HTTP.

use serde_json::{Value, json};
use swarm::api::EventLog as _;
use swarm::daemon::offline::Upto;
use swarm::domain::event::{CheckpointMade, Event};
use swarm::view::snapshot::{Comparison, Section};

use crate::kit::{World, refused};
use crate::routes::Described;

/// Two ideas, of which one is cancelled; the events after the first idea and after all.
async fn story(world: &World) -> (u64, u64) {
    let client = world.client().await;
    let first = client
        .post("commands", &json!({"do": "addIdea", "content": "one"}))
        .await
        .unwrap();
    client
        .post("commands", &json!({"do": "addIdea", "content": "two"}))
        .await
        .unwrap();
    let cancel = json!({"do": "cancelIdea", "id": "idea-001"});
    client.post("commands", &cancel).await.unwrap();
    let last = world.handle.read(|state| state.seq);
    (first["seq"].as_u64().unwrap(), last)
}

#[tokio::test]
async fn an_earlier_state_is_that_of_a_replay() {
    let world = World::new().await;
    let client = world.client().await;
    let (first, last) = story(&world).await;
    for seq in [0, 1, first, last] {
        let replayed = world.log.state_at(Upto::Seq(seq)).unwrap();
        let shown = client.view(&format!("state?at={seq}")).await.unwrap();
        assert_eq!(shown, serde_json::to_value(&replayed).unwrap(), "at {seq}");
    }
    let then = world.log.state_at(Upto::Seq(first)).unwrap();
    let time = then.swarm.last_event_at;
    let by_time = client.view(&format!("state?at={time}")).await.unwrap();
    let replayed = world.log.state_at(Upto::Time(time)).unwrap();
    assert_eq!(by_time, serde_json::to_value(replayed).unwrap());
    let now = client.view("state").await.unwrap();
    assert_eq!(now["ideas"].as_object().unwrap().len(), 2);
    assert_eq!(now["seq"], json!(last));
    // Long before the first event.
    let age = client.view("state?at=9000d").await.unwrap();
    assert_eq!(age["seq"], json!(0));
    world.end().await;
}

#[tokio::test]
async fn two_states_are_compared_as_described() {
    let world = World::new().await;
    let client = world.client().await;
    let (first, last) = story(&world).await;
    let compared = |only| {
        let earlier = world.log.state_at(Upto::Seq(first)).unwrap();
        let later = world.log.state_at(Upto::Seq(last)).unwrap();
        serde_json::to_value(Comparison::of(&earlier, &later, only)).unwrap()
    };
    let diff = format!("snapshot/diff?from={first}");
    let found = client.view(&diff).await.unwrap();
    assert_eq!(found, compared(None));
    assert_eq!(found["from"]["seq"], json!(first));
    let ideas = &found["sections"]["ideas"];
    assert_eq!(ideas["added"]["idea-002"]["text"], "two");
    let status = json!({"from": "pending", "to": "cancelled"});
    assert_eq!(ideas["changed"]["idea-001"]["status"], status);
    let description = client.get("openapi.json").await.unwrap();
    let operation = &description["paths"]["/api/v1/views/snapshot/diff"]["get"];
    let content = &operation["responses"]["200"]["content"]["application/json"];
    Described::of(&description).check(&content["schema"], &found, "diff");
    let one = client
        .view(&format!("{diff}&to={last}&section=ideas"))
        .await;
    assert_eq!(one.unwrap(), compared(Some(Section::Ideas)));
    let none = client.view(&format!("{diff}&to={first}")).await.unwrap();
    assert_eq!(
        (&none["same"], &none["sections"]),
        (&json!(true), &json!({}))
    );
    world.end().await;
}

#[tokio::test]
async fn a_checkpoint_names_the_state_that_it_holds() {
    let world = World::new().await;
    let client = world.client().await;
    let (first, last) = story(&world).await;
    let made: CheckpointMade = serde_json::from_value(json!({
        "name": "before-two",
        "checkpoint": {
            "createdAt": "2027-01-15T08:00:00.000Z", "reason": "manual", "seq": first,
            "commit": "a".repeat(40), "tag": "b".repeat(40), "sha256": "c".repeat(64),
        },
    }))
    .unwrap();
    world.facts(vec![Event::CheckpointMade(made)]).await;
    let path = format!("snapshot/diff?from=checkpoint:before-two&to={last}");
    let found = client.view(&path).await.unwrap();
    assert_eq!(found["from"]["seq"], json!(first));
    let unknown = client.view("snapshot/diff?from=checkpoint:nowhere").await;
    let (status, code, _) = refused(unknown);
    assert_eq!((status, code.as_str()), (404, "CHECKPOINT_UNKNOWN"));
    world.end().await;
}

#[tokio::test]
async fn what_is_no_point_is_refused_with_those_that_are() {
    let world = World::new().await;
    story(&world).await;
    for (path, code, hint) in [
        ("state?at=soon", 400, "use a number (120)"),
        ("state?at=99999", 400, "use a number (120)"),
        ("state?at=now", 400, "use a number (120)"),
        ("snapshot/diff", 400, "a state is `now`"),
        ("snapshot/diff?from=soon", 400, "a state is `now`"),
        (
            "snapshot/diff?from=1&to=checkpoint:A%20b",
            400,
            "a state is `now`",
        ),
        ("snapshot/diff?from=prev", 404, "a state is `now`"),
        (
            "snapshot/diff?from=1&section=money",
            400,
            "GET /api/v1/openapi.json",
        ),
        ("state?then=1", 400, "GET /api/v1/openapi.json"),
    ] {
        let (status, answer): (u16, Value) = world
            .raw("GET", &format!("/api/v1/views/{path}"), b"")
            .await;
        assert_eq!(status, code, "{path}: {answer}");
        let hints = answer["error"]["suggestions"].to_string();
        assert!(hints.contains(hint), "{path}: {answer}");
    }
    world.end().await;
}
