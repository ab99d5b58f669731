//! Commands about agents: stop them, or send them a message.
//!
//! Invariant: repeating a command changes nothing. Called by [`super::command`].

use super::attempt::outcomes::ask_end;
use super::decision::Plan;
use super::ideas::check_text;
use super::merge::review;
use crate::domain::event::MessageQueued;
use crate::domain::ids::AgentId;
use crate::domain::lifecycle::{AttemptInput, AttemptPhase};
use crate::domain::rejection::Rejection;
use crate::domain::state::{Attempt, AttemptEnd, Ending, State};

pub(super) fn known<'a>(state: &'a State, id: &AgentId) -> Result<&'a Attempt, Rejection> {
    let attempt = state.agents.get(id);
    attempt.ok_or_else(|| match state.ended.get(id) {
        Some(ended) => Rejection::AgentOver {
            id: id.clone(),
            end: ended.end,
            idea: ended.idea.clone(),
        },
        None => Rejection::AgentUnknown(id.clone()),
    })
}

pub(super) fn stop(plan: &mut Plan<'_>, id: &AgentId) -> Result<(), Rejection> {
    // The command was repeated after it had taken effect.
    let ended = plan.state.ended.get(id);
    if ended.is_some_and(|ended| ended.end == AttemptEnd::Stopped) {
        return Ok(());
    }
    let attempt = known(plan.state, id)?;
    let finished =
        attempt.phase == AttemptPhase::ReadyToMerge || plan.state.entry(&attempt.idea).is_some();
    if finished && review::waiting(plan.state, &attempt.idea).is_none() {
        return Err(Rejection::NotNow {
            what: format!("stop {id}"),
            why: "its work is complete and in the merge queue".into(),
            instead: Some(format!("swarm idea cancel {}", attempt.idea)),
        });
    }
    ask_end(plan, id, attempt, Ending::Stopped);
    Ok(())
}

pub(super) fn say(plan: &mut Plan<'_>, id: &AgentId, text: &str) -> Result<(), Rejection> {
    let attempt = known(plan.state, id)?;
    if text.trim().is_empty() {
        return Err(Rejection::NothingSaid);
    }
    check_text(text)?;
    if attempt.ending == Some(Ending::Cancelled) {
        return Err(Rejection::NotNow {
            what: format!("send a message to {id}"),
            why: "its idea is being cancelled, so it gets no further prompt".into(),
            instead: Some(format!("swarm idea retry {}", attempt.idea)),
        });
    }
    if review::waiting(plan.state, &attempt.idea).is_some() && attempt.ending.is_none() {
        let return_it = format!("swarm merge reject {} \"...\"", attempt.idea);
        return Err(Rejection::NotNow {
            what: format!("send a message to {id}"),
            why: "its work is finished and waits for your review".into(),
            instead: Some(format!("return the work with your message: {return_it}")),
        });
    }
    // If the command is repeated, perhaps because the answer was lost, the message is not queued
    // twice.
    if !attempt.messages.iter().any(|waits| waits == text) {
        plan.emit(MessageQueued {
            agent: id.clone(),
            text: text.to_owned(),
        });
    }
    if attempt.phase == AttemptPhase::WaitingForHuman && attempt.ending.is_none() {
        plan.move_attempt(id, AttemptInput::Answered);
    }
    Ok(())
}
