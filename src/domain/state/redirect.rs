//! State of a redirect in progress: an agent moves to another idea.
//!
//! Invariant: from acceptance, the other idea is reserved and the attempt knows its destination.
//! The hand-over is one event, the end of the attempt: the work so far is saved as commits for its
//! own idea, and the worktree goes to the other idea. Whatever interferes (a stop, a cancellation,
//! a rollback, work that cannot be committed), the worktree stays with the idea whose work is in
//! it.

use serde::{Deserialize, Serialize};

use super::message;
use super::prompt_cause::PromptCause;
use super::{Attempt, Idea, IdeaStatus, Kept, State};
use crate::domain::effect::{KeptWorktree, Saved};
use crate::domain::ids::{AgentId, IdeaId, ProfileName};

/// Destination of a redirected attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Redirect {
    /// The other idea.
    pub to: IdeaId,
    /// Whether the other idea gets a new worktree; this one then stays with its own idea.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_worktree: bool,
    /// Work so far, once it is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Saved>,
}

/// Reservation of an idea for a redirected agent, until it is claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reserved {
    /// The redirected agent.
    pub from: AgentId,
    /// Its profile, which the next attempt uses too.
    pub profile: ProfileName,
}

impl State {
    /// Agent that hands over to this idea when it ends.
    pub fn handing_over_to(&self, id: &IdeaId) -> Option<&AgentId> {
        let reserved = self.ideas.get(id)?.reserved.as_ref()?;
        let attempt = self.agents.get(&reserved.from)?;
        let hands_over = attempt
            .redirect
            .as_ref()
            .is_some_and(|redirect| redirect.to == *id);
        hands_over.then_some(&reserved.from)
    }
}

/// Whether the idea may take this agent's worktree: it is still reserved for the agent and has no
/// work of its own.
pub fn may_take(idea: &Idea, from: &AgentId) -> bool {
    let reserved = idea
        .reserved
        .as_ref()
        .is_some_and(|reserved| reserved.from == *from);
    reserved && idea.status == IdeaStatus::Pending && idea.kept.is_none()
}

/// What a redirected attempt's own idea continues from: its saved commits.
pub fn own_work(agent: &AgentId, attempt: &Attempt, saved: Saved) -> Option<Kept> {
    Some(Kept {
        worktree: KeptWorktree {
            worktree: String::new(),
            branch: String::new(),
            base: attempt.base.clone()?,
            agent: agent.clone(),
            crashed: false,
            saved: Some(saved),
        },
        feedback: attempt.feedback.clone(),
        review: attempt.review.clone(),
        messages: attempt.messages.clone(),
        iterations: attempt.iteration,
        last_run: attempt.last_iteration().cloned(),
        said: message::waiting(&attempt.heard),
        taken_from: None,
        cause: attempt.cause.clone(),
        session: None,
        prompt: None,
    })
}

/// What the other idea continues from: the worktree with everything in it.
pub fn handed_over(agent: &AgentId, attempt: &Attempt) -> Option<Kept> {
    Some(Kept {
        worktree: KeptWorktree {
            worktree: attempt.worktree.clone(),
            branch: attempt.branch.clone(),
            base: attempt.base.clone()?,
            agent: agent.clone(),
            crashed: false,
            saved: None,
        },
        feedback: None,
        review: None,
        messages: Vec::new(),
        iterations: 0,
        last_run: None,
        said: Vec::new(),
        taken_from: Some(attempt.idea.clone()),
        cause: PromptCause::Redirected {
            from: attempt.idea.clone(),
        },
        session: attempt.own_session().cloned().map(Box::new),
        prompt: None,
    })
}
