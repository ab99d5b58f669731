//! What happened since some time, over HTTP.

use serde_json::json;
use swarm::domain::event::{AccountHeld, AttemptEnded, Event, RunEnded, WarningRaised};
use swarm::domain::ids::{AgentId, IdeaId, RunId};
use swarm::domain::observation::{RunEnd, RunEndKind};
use swarm::domain::state::provider::{Hold, HoldKind};
use swarm::domain::state::{AttemptEnd, IdeaStatus};
use swarm::domain::usage::{Bill, MicroUsd, Tokens};

use crate::kit::{World, working_agent};
use crate::routes::Described;

/// A bill of some tokens and some money.
fn run_ended(run: &RunId) -> Event {
    let bill = Bill {
        tokens: Some(Tokens {
            input: 10,
            ..Tokens::default()
        }),
        cost: Some(MicroUsd(250_000)),
        ..Bill::default()
    };
    Event::RunEnded(RunEnded {
        run: run.clone(),
        end: RunEnd {
            bill: Some(bill),
            ..RunEnd::new(RunEndKind::Exited { code: 0 })
        },
    })
}

#[tokio::test]
async fn it_has_exactly_the_fields_that_are_described() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let (agent, run): (AgentId, RunId) = (agent.parse().unwrap(), run.parse().unwrap());
    let client = world.client().await;
    client
        .post(
            "commands",
            &json!({"do": "addIdea", "content": "waits", "after": ["idea-001"]}),
        )
        .await
        .unwrap();
    client
        .post(
            "commands",
            &json!({"do": "addIdea", "content": "waits too"}),
        )
        .await
        .unwrap();
    let since = world.handle.read(|state| state.swarm.last_event_at);
    let stuck = Event::WarningRaised(WarningRaised {
        key: format!("stuck-{agent}"),
        message: "no commit".into(),
        commands: vec![format!("swarm agent logs {agent}")],
    });
    let held = Event::AccountHeld(AccountHeld {
        account: "claude".into(),
        hold: Hold {
            kind: HoldKind::Login,
            until: None,
            since,
            times: 1,
            message: "not logged in".into(),
            tried_by: None,
        },
    });
    world.facts(vec![stuck, held, run_ended(&run)]).await;
    let description = client.get("openapi.json").await.unwrap();
    let described = Described::of(&description);
    let answer = client.view("report").await.unwrap();
    let schema = json!({"$ref": "#/Report"});
    described.check(&schema, &answer, "report");
    assert_eq!(answer["stuck"][0]["message"], "no commit");
    assert_eq!(answer["accounts"][0]["held"], "login");
    let waiting = answer["waiting"].as_array().unwrap().iter();
    let why: Vec<&str> = waiting.filter_map(|one| one["reason"].as_str()).collect();
    assert_eq!(why, ["waits for idea-001"], "{answer:#}");
    assert_eq!(answer["used"]["usd"], 0.25);

    let idea: IdeaId = "idea-001".parse().unwrap();
    let ended = Event::AttemptEnded(AttemptEnded {
        agent,
        end: AttemptEnd::Failed,
        status: IdeaStatus::Failed,
        message: Some("it broke".into()),
        not_before: None,
        keep_worktree: false,
    });
    world.facts(vec![ended]).await;
    let answer = client.view("report").await.unwrap();
    described.check(&schema, &answer, "report");
    assert_eq!(answer["failed"][0]["id"], idea.as_str());
    assert_eq!(answer["failed"][0]["reason"], "it broke");
    assert_eq!(answer["failed"][0]["used"]["usd"], 0.25);
    let later = since.plus_millis(86_400_000);
    let answer = client.view(&format!("report?since={later}")).await.unwrap();
    described.check(&schema, &answer, "report");
    assert_eq!(answer["since"], later.to_string());
    assert_eq!(answer["failed"], json!([]));
    assert_eq!(answer["used"]["usd"], 0.0);
    assert_eq!(answer["waiting"].as_array().unwrap().len(), 2);
    world.end().await;
}

#[tokio::test]
async fn what_is_no_time_is_refused() {
    let world = World::new().await;
    for query in [
        "since=yesterday",
        "since=",
        "since=12h",
        "from=2026-01-31T22:00:00.000Z",
    ] {
        let (status, refusal) = world
            .raw("GET", &format!("/api/v1/views/report?{query}"), b"")
            .await;
        assert_eq!(status, 400, "{query}: {refusal}");
        assert_eq!(refusal["error"]["code"], "BAD_REQUEST", "{query}");
    }
    world.end().await;
}
