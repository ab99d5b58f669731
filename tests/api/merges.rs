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

/// `idea-001` waits for a person to settle its conflict.
async fn conflicted() -> World {
    let world = World::new().await;
    let (agent, _) = working_agent(&world).await;
    let agent: swarm::domain::ids::AgentId = agent.parse().unwrap();
    let id: swarm::domain::ids::IdeaId = "idea-001".parse().unwrap();
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
            id: id.clone(),
            agent,
            branch: "b".into(),
            source: oid('b'),
            held: false,
        }),
        Event::MergeConflicted(MergeConflicted {
            id: id.clone(),
            level: ConflictLevel::Complex,
            files: vec!["a.txt".into()],
            target: oid('c'),
        }),
        Event::MergeMoved(MergeMoved {
            id,
            phase: MergePhase::Person,
            not_before: None,
            waits: None,
        }),
    ];
    world.facts(over.chain(facts).collect()).await;
    world
}

async fn resolve(world: &World) -> Result<Value, ClientError> {
    let client = world.client().await;
    client.post("merges/idea-001/resolve", &json!({})).await
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
