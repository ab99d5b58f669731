//! Waits for the check of a resolution and answers with its result.
//!
//! Invariant: the command is on disk before the wait; a client that leaves, or a wait that takes
//! too long, changes nothing.

use std::io;

use axum::http::StatusCode;

use super::ApiContext;
use super::error::{ApiError, ending};
use super::events::feed::Feed;
use super::types::JUDGEMENT_TIMEOUT;
use crate::domain::effect::{self, Effect};
use crate::domain::event::{ConflictSettled, EffectFinished, Event};
use crate::domain::ids::{EffectId, IdeaId};
use crate::domain::lifecycle::MergePhase;
use crate::domain::operation::Command;
use crate::domain::request::Request;
use crate::domain::state::State;

/// The result of checking a resolution.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// Resolved, by the event with this sequence number.
    Settled(u64),
    /// Not resolved, and why.
    Open(String),
}

/// Sends a `ResolveMerge` and waits for the check. Returns the sequence number of the event that
/// accepts it.
pub(super) async fn resolve(context: &ApiContext, request: Request) -> Result<u64, ApiError> {
    let Command::ResolveMerge { id } = &request.command else {
        return Err(ApiError::failed(&"it resolves no merge"));
    };
    let id = id.clone();
    let accepted = context.handle.request(request).await?;
    let effect = finishing(&accepted.events, &id).or_else(|| {
        // An earlier request is still being checked.
        context.handle.read(|state| pending(state, &id))
    });
    // An earlier request may be before this answer's seq; its outcome cannot.
    let feed = Feed::new(context, accepted.begin());
    match tokio::time::timeout(JUDGEMENT_TIMEOUT, judged(feed, &id, effect)).await {
        Ok(Ok(Some(Verdict::Settled(seq)))) => Ok(seq),
        Ok(Ok(Some(Verdict::Open(why)))) => Err(open(&id, &why)),
        Ok(Ok(None)) => Err(ending()),
        Ok(Err(error)) => Err(ApiError::unreadable("the event log", &error)),
        Err(_) => Err(late(&id)),
    }
}

fn is_finishing(effect: &Effect, id: &IdeaId) -> bool {
    matches!(effect, Effect::FinishResolution(effect::FinishResolution { idea, .. }) if idea == id)
}

fn finishing(events: &[Event], id: &IdeaId) -> Option<EffectId> {
    events.iter().find_map(|event| {
        let (effect_id, effect) = event.requested_effect()?;
        is_finishing(effect, id).then_some(effect_id)
    })
}

fn pending(state: &State, id: &IdeaId) -> Option<EffectId> {
    let mut outbox = state.outbox.iter();
    let found = outbox.find(|(_, effect)| is_finishing(effect, id));
    found.map(|(effect, _)| *effect)
}

/// Follows the log to the verdict: the last one before a known effect finished, otherwise the
/// first.
async fn judged(
    mut feed: Feed,
    id: &IdeaId,
    effect: Option<EffectId>,
) -> io::Result<Option<Verdict>> {
    let mut said = None;
    while let Some(events) = feed.next().await? {
        for event in events {
            if let Some(verdict) = verdict(&event.event, event.seq, id) {
                said = Some(verdict);
            }
            if is_end(&event.event, effect) && (effect.is_some() || said.is_some()) {
                return Ok(Some(said.unwrap_or_else(gone)));
            }
        }
    }
    Ok(None)
}

/// Whether this event ends the wait.
fn is_end(event: &Event, effect: Option<EffectId>) -> bool {
    match (event, effect) {
        (Event::EffectFinished(EffectFinished { id, .. }), Some(effect)) => *id == effect,
        (_, Some(_)) => false,
        (_, None) => true,
    }
}

fn verdict(event: &Event, seq: u64, idea: &IdeaId) -> Option<Verdict> {
    if let Event::ConflictSettled(ConflictSettled { id, .. }) = event
        && id == idea
    {
        return Some(Verdict::Settled(seq));
    }
    if let Event::MergeMoved(moved) = event
        && moved.id == *idea
        && moved.phase == MergePhase::Person
    {
        let reason = moved.waits.as_ref().map(|waits| waits.reason.clone());
        return Some(Verdict::Open(reason.unwrap_or_default()));
    }
    None
}

/// The idea left the queue while its resolution was being checked.
fn gone() -> Verdict {
    Verdict::Open("it is no longer in the merge queue".to_owned())
}

fn open(id: &IdeaId, why: &str) -> ApiError {
    let message = format!("the conflict of {id} is not resolved: {why}");
    ApiError::new(StatusCode::CONFLICT, "NOT_RESOLVED", message)
        .details("the worktree was not changed and nothing was merged")
        .suggest("see the files and the commands: swarm status")
        .suggest(format!(
            "when you have resolved it: swarm merge resolve {id}"
        ))
}

fn late(id: &IdeaId) -> ApiError {
    let seconds = JUDGEMENT_TIMEOUT.as_secs();
    let message = format!("checking the resolution of {id} took longer than {seconds} s");
    ApiError::new(StatusCode::GATEWAY_TIMEOUT, "NOT_JUDGED_YET", message)
        .details("the check continues; asking again does no harm")
        .suggest("see its state: swarm merge list")
}
