//! A conflict that a person settles, over HTTP.

use std::sync::Arc;

use serde_json::{Value, json};
use swarm::api::ClientError;
use swarm::domain::effect::{ConflictLevel, Effect};
use swarm::domain::event::{
    AttemptMoved, EffectFinished, Event, MergeConflicted, MergeMoved, MergeQueued,
};
use swarm::domain::lifecycle::{AttemptPhase, MergePhase};
use swarm::domain::outcome::FinishResolutionOutcome;

use crate::kit::{World, oid, refused, working_agent};

/// `idea-001` is finished, and these events followed.
async fn finished(held: bool, then: Vec<Event>) -> World {
    let world = World::new().await;
    let (agent, _) = working_agent(&world).await;
    let agent: swarm::domain::ids::AgentId = agent.parse().unwrap();
    // Nothing of the attempt is under way any more when its merge waits for a person.
    let open: Vec<_> = world
        .handle
        .read(|state| state.outbox.keys().copied().collect());
    let over = open
        .into_iter()
        .map(|id| Event::EffectFinished(EffectFinished { id, error: None }));
    let facts = vec![
        Event::AttemptMoved(AttemptMoved {
            agent: agent.clone(),
            phase: AttemptPhase::ReadyToMerge,
            not_before: None,
        }),
        Event::MergeQueued(MergeQueued {
            id: first(),
            agent,
            branch: "b".into(),
            source: oid('b'),
            held,
        }),
    ];
    world.facts(over.chain(facts).chain(then).collect()).await;
    world
}

fn first() -> swarm::domain::ids::IdeaId {
    "idea-001".parse().unwrap()
}

/// `idea-001` waits for a person to settle its conflict.
async fn conflicted() -> World {
    let then = vec![
        Event::MergeConflicted(MergeConflicted {
            id: first(),
            level: ConflictLevel::Complex,
            files: vec!["a.txt".into()],
            target: oid('c'),
        }),
        Event::MergeMoved(MergeMoved {
            id: first(),
            phase: MergePhase::Person,
            not_before: None,
            waits: None,
        }),
    ];
    finished(false, then).await
}

async fn resolve(world: &World) -> Result<Value, ClientError> {
    let client = world.client().await;
    let resolve = json!({"do": "resolveMerge", "id": "idea-001"});
    client.post("commands", &resolve).await
}

fn is_finish(effect: &Effect) -> bool {
    matches!(effect, Effect::FinishResolution(_))
}

#[tokio::test]
async fn what_is_still_in_conflict_is_a_refusal_with_the_files() {
    let world = conflicted().await;
    let files = vec!["a.txt".into()];
    let finish = world.finish(
        is_finish,
        FinishResolutionOutcome::StillConflicted { files },
    );
    let (answer, _) = tokio::join!(resolve(&world), finish);
    let (status, code, message) = refused(answer);
    assert_eq!((status, code.as_str()), (409, "NOT_RESOLVED"));
    assert!(message.contains("still in conflict: a.txt"), "{message}");
    world.end().await;
}

#[tokio::test]
async fn what_is_settled_is_answered_when_it_was_judged() {
    let world = conflicted().await;
    let head = oid('d');
    let finish = world.finish(
        is_finish,
        FinishResolutionOutcome::Finished {
            head,
            left_out: None,
        },
    );
    let (answer, _) = tokio::join!(resolve(&world), finish);
    let seq = answer.unwrap()["seq"].as_u64().unwrap();
    let event = world
        .client()
        .await
        .get(&format!("events?since={}&limit=1", seq - 1))
        .await;
    assert_eq!(event.unwrap()[0]["kind"], "conflictSettled");
    let (status, code, _) = refused(resolve(&world).await);
    assert_eq!((status, code.as_str()), (409, "NOT_NOW"));
    world.end().await;
}

#[tokio::test]
async fn two_who_ask_get_one_judgement() {
    let world = Arc::new(conflicted().await);
    let both = async { tokio::join!(resolve(&world), resolve(&world)) };
    let judge = async {
        // Only once the second has asked too: both then wait for the same effect.
        let mut seq = world.handle.seq();
        while !world.handle.read(|state| state.is_pending(is_finish)) {
            seq.changed().await.unwrap();
        }
        let head = oid('d');
        world
            .finish(
                is_finish,
                FinishResolutionOutcome::Finished {
                    head,
                    left_out: None,
                },
            )
            .await
    };
    let ((one, two), _) = tokio::join!(both, judge);
    // The second may have come after the judgement, and then there is nothing to resolve.
    let answers = [one.is_ok(), two.is_ok()];
    assert!(answers.contains(&true), "{answers:?}");
    Arc::into_inner(world).unwrap().end().await;
}

#[tokio::test]
async fn an_end_before_the_judgement_is_no_judgement() {
    let world = conflicted().await;
    let end = async {
        let mut seq = world.handle.seq();
        while !world.handle.read(|state| state.is_pending(is_finish)) {
            seq.changed().await.unwrap();
        }
        world.stop.send_replace(true);
    };
    let (answer, ()) = tokio::join!(resolve(&world), end);
    let (status, code, _) = refused(answer);
    assert_eq!((status, code.as_str()), (503, "ENDING"));
    world.end().await;
}

#[tokio::test]
async fn an_approval_of_another_commit_is_refused_with_the_one_that_waits() {
    let world = finished(true, vec![]).await;
    let approve = |commit: Value| {
        let approve = json!({"do": "approveMerge", "id": "idea-001", "commit": commit});
        let body = approve.to_string().into_bytes();
        let world = &world;
        async move { world.raw("POST", "/api/v1/commands", &body).await }
    };
    let (status, answer) = approve(json!(oid('e'))).await;
    let error = &answer["error"];
    assert_eq!((status, &error["code"]), (409, &json!("WORK_CHANGED")));
    assert_eq!(error["current"], json!(oid('b')));
    assert!(
        error["suggestions"][0]
            .as_str()
            .unwrap()
            .contains("swarm merge diff"),
        "{error}"
    );
    let (status, answer) = approve(json!(oid('b'))).await;
    assert_eq!(status, 200, "{answer}");
    // The answer may have been lost: asked again nothing more happens.
    let (again, same) = approve(json!(oid('b'))).await;
    assert_eq!(again, 200, "{same}");
    let approved = world
        .handle
        .read(|state| state.entry(&first()).unwrap().approved.clone());
    assert_eq!(approved, Some(oid('b')));
    world.end().await;
}

#[tokio::test]
async fn a_return_needs_a_comment_and_happens_once() {
    let world = finished(true, vec![]).await;
    let client = world.client().await;
    let reject = async |why: &str| {
        let body = json!({"do": "rejectMerge", "id": "idea-001", "why": why});
        client.post("commands", &body).await
    };
    let (status, code, _) = refused(reject(" ").await);
    assert_eq!((status, code.as_str()), (422, "TEXT_EMPTY"));
    reject("add a test").await.unwrap();
    reject("add a test").await.unwrap();
    let comment = world.handle.read(|state| {
        let (_, attempt) = state.attempt_at(&first()).unwrap();
        attempt
            .review
            .as_deref()
            .map(|comment| comment.text.clone())
    });
    assert_eq!(comment.as_deref(), Some("add a test"));
    world.end().await;
}

#[tokio::test]
async fn a_diff_is_of_work_in_the_merge_queue() {
    let world = finished(true, vec![]).await;
    let client = world.client().await;
    let (status, code, _) = refused(client.view("merges/idea-001/diff").await);
    assert_eq!((status, code.as_str()), (500, "DIFF"));
    let (status, code, _) = refused(client.view("merges/idea-009/diff").await);
    assert_eq!((status, code.as_str()), (404, "IDEA_UNKNOWN"));
    let diff = swarm::view::MergeDiff {
        idea_id: first(),
        branch: "b".into(),
        source_commit: oid('b'),
        target_commit: oid('a'),
        base: oid('a'),
        result: oid('c'),
        held: true,
        conflicts: vec![],
        files: vec![],
        diff: "x".into(),
        truncated: false,
    };
    *world.levers.merge_diff.lock().unwrap() = Some(diff);
    let answer = client.view("merges/idea-001/diff").await.unwrap();
    assert_eq!(
        (&answer["diff"], &answer["held"]),
        (&json!("x"), &json!(true))
    );
    world.end().await;
}
