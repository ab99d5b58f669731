//! An agent is redirected to another idea: what is kept of that while it is under way.
//!
//! Invariant: from its acceptance on the other idea is reserved, so that nobody else begins it, and
//! the attempt knows where it goes. The hand-over is one event, the end of the attempt: then the
//! work so far is kept by its commits for the idea that it was done for, and the worktree is the
//! other idea's. Whatever comes in between (a stop, a cancellation, a rollback, work that cannot be
//! committed), the worktree stays with the idea whose work is in it.

use serde::{Deserialize, Serialize};

use super::message;
use super::{Attempt, Idea, IdeaStatus, Kept, State};
use crate::domain::effect::{KeptWorktree, Saved};
use crate::domain::ids::{AgentId, IdeaId, ProfileName};

/// Where an attempt that is being ended hands over to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Redirect {
    /// The other idea.
    pub to: IdeaId,
    /// The other idea gets a worktree of its own; this one stays for the idea of this attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_worktree: bool,
    /// The work so far, once it is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Saved>,
}

/// An idea that an agent was redirected to, until it is claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reserved {
    /// The agent that was redirected.
    pub from: AgentId,
    /// Its profile: the next attempt's, too.
    pub profile: ProfileName,
}

impl State {
    /// The agent that hands over to this idea as soon as it has ended.
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

/// Whether the idea may get the worktree of this agent: still reserved for it, and without work of
/// its own.
pub fn may_take(idea: &Idea, from: &AgentId) -> bool {
    let reserved = idea
        .reserved
        .as_ref()
        .is_some_and(|reserved| reserved.from == *from);
    reserved && idea.status == IdeaStatus::Pending && idea.kept.is_none()
}

/// What the idea of a redirected attempt goes on from: its work by its commits.
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
        messages: attempt.messages.clone(),
        iterations: attempt.iteration,
        last_run: attempt.last_iteration().cloned(),
        said: message::waiting(&attempt.heard),
        taken_from: None,
        session: None,
    })
}

/// What the other idea goes on from: the worktree, with all that lies in it.
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
        messages: Vec::new(),
        iterations: 0,
        last_run: None,
        said: Vec::new(),
        taken_from: Some(attempt.idea.clone()),
        session: attempt.own_session().cloned().map(Box::new),
    })
}
