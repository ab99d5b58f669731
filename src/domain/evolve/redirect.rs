//! Folds redirects: the reservation, the saved work, the hand-over.
//!
//! Invariant: whatever happens to a redirect, each of the two ideas keeps its own work, and a
//! worktree belongs to one of them.

use super::attempt::with_attempt;
use super::idea::{audit, with_idea};
use crate::domain::event::{AgentRedirected, WorkSaved};
use crate::domain::ids::AgentId;
use crate::domain::state::redirect::{Redirect, Reserved, handed_over, may_take, own_work};
use crate::domain::state::{Attempt, AttemptEnd, Ending, Kept, State};
use crate::domain::time::Timestamp;

pub(super) fn begin(state: &mut State, at: Timestamp, redirected: &AgentRedirected) {
    let AgentRedirected { agent, to, .. } = redirected;
    let Some(attempt) = state.agents.get_mut(agent) else {
        return;
    };
    attempt.ending = Some(Ending::Redirected);
    attempt.redirect = Some(Box::new(Redirect {
        to: to.clone(),
        new_worktree: redirected.new_worktree,
        saved: None,
    }));
    if let Some(undone) = redirected.undoes {
        state.undo.take_back(undone);
    }
    let reserved = Reserved {
        from: agent.clone(),
        profile: attempt.profile.clone(),
    };
    with_idea(state, to, at, |idea| {
        idea.reserved = Some(reserved);
        // A person wants it now, even if it was waiting after a crash.
        idea.not_before = None;
        audit(idea, at, "redirected_to", agent.as_str());
    });
}

/// Records the commits that contain the work so far.
pub(super) fn save(state: &mut State, work: &WorkSaved) {
    with_attempt(state, &work.agent, |attempt| {
        if let Some(redirect) = &mut attempt.redirect {
            redirect.saved = Some(work.saved.clone());
        }
    });
}

/// Cancels the redirect: a person stops the agent instead.
pub(super) fn take_back(state: &mut State, agent: &AgentId) {
    let Some(attempt) = state.agents.get(agent).cloned() else {
        return;
    };
    state
        .undo
        .forget_redirects(|redirected| redirected == agent);
    unreserve(state, agent, &attempt);
    with_attempt(state, agent, |attempt| attempt.redirect = None);
}

/// Releases the reservation: any agent may claim the other idea.
pub(super) fn unreserve(state: &mut State, agent: &AgentId, attempt: &Attempt) {
    let Some(redirect) = &attempt.redirect else {
        return;
    };
    state.ideas.change(&redirect.to, |idea| {
        idea.reserved.take_if(|reserved| reserved.from == *agent);
    });
}

/// At the end of the attempt: if the other idea takes over its worktree, this is what its own idea
/// continues from.
pub(super) fn hand_over(
    state: &mut State,
    at: Timestamp,
    agent: &AgentId,
    attempt: &Attempt,
    end: AttemptEnd,
) -> Option<Kept> {
    let redirect = attempt.redirect.as_deref();
    let redirect = redirect.filter(|redirect| !redirect.new_worktree)?;
    let saved = redirect.saved.clone()?;
    let other = state.ideas.get(&redirect.to)?;
    if end != AttemptEnd::Redirected || !may_take(other, agent) {
        return None;
    }
    let own = own_work(agent, attempt, saved)?;
    let worktree = handed_over(agent, attempt)?;
    with_idea(state, &redirect.to, at, |idea| {
        idea.kept = Some(Box::new(worktree));
    });
    Some(own)
}
