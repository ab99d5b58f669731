//! The latest actions of people that `swarm undo` can take back.
//!
//! Invariant: `undoRecorded` adds an action, and the event that takes it back removes it, so no
//! action is taken back twice. Its number is the sequence number of the event that added it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Ending, IdeaStatus, Kept, State};
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, Oid};
use crate::domain::time::Timestamp;

/// Most actions that are kept.
const KEPT: usize = 20;

/// What can be taken back, the newest last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct UndoStack {
    /// The actions.
    pub actions: Vec<Undoable>,
    /// Number of the action that was taken back last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_undone: Option<u64>,
}

/// An action that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Undoable {
    /// Its number.
    pub seq: u64,
    /// When it was done.
    pub at: Timestamp,
    /// What was done.
    pub action: Action,
    /// What a cancelled idea was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<Before>>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Action {
    /// The target and the ideas went back to a checkpoint.
    Rollback {
        /// That checkpoint.
        to: CheckpointName,
        /// Checkpoint of the state before.
        safety: CheckpointName,
    },
    /// An idea was cancelled.
    Cancel {
        /// The idea.
        idea: IdeaId,
    },
    /// Work was approved to land.
    Approval {
        /// The idea.
        idea: IdeaId,
        /// The approved commit.
        source: Oid,
    },
    /// An agent was given another idea.
    Redirect {
        /// The agent.
        agent: AgentId,
        /// Its own idea.
        idea: IdeaId,
        /// The other idea.
        to: IdeaId,
    },
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rollback { to, .. } => write!(out, "rollback to {to}"),
            Self::Cancel { idea } => write!(out, "cancellation of {idea}"),
            Self::Approval { idea, source } => {
                write!(out, "approval of {idea} (commit {source:.10})")
            }
            Self::Redirect { agent, idea, to } => {
                write!(out, "redirect of {agent} from {idea} to {to}")
            }
        }
    }
}

/// An idea before it was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Before {
    /// Its status, or pending if it had an attempt.
    pub status: IdeaStatus,
    /// Whether it was held.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Whether its finished work was in the merge queue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finished: bool,
    /// Its work, as long as it can be given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<Kept>>,
}

impl UndoStack {
    /// Whether it is as it was in the beginning.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds an action. An idea has only its last cancellation and its last approval.
    pub fn push(&mut self, added: Undoable) {
        if let Action::Approval { idea, .. } = &added.action {
            self.forget_approval(idea);
        }
        self.actions.retain(|old| {
            !matches!(old.action, Action::Cancel { .. }) || old.action != added.action
        });
        self.actions.push(added);
        if self.actions.len() > KEPT {
            self.actions.remove(0);
        }
    }

    /// Removes an action that is taken back.
    pub fn take_back(&mut self, seq: u64) -> Option<Undoable> {
        let at = self.actions.iter().position(|one| one.seq == seq)?;
        self.last_undone = Some(seq);
        Some(self.actions.remove(at))
    }

    /// Forgets the redirects of which this is true.
    pub fn forget_redirects(&mut self, over: impl Fn(&AgentId) -> bool) {
        self.actions.retain(|one| match &one.action {
            Action::Redirect { agent, .. } => !over(agent),
            Action::Rollback { .. } | Action::Cancel { .. } | Action::Approval { .. } => true,
        });
    }

    /// Forgets that work of this idea was approved: it is other work now.
    pub fn forget_approval(&mut self, id: &IdeaId) {
        self.actions.retain(|one| match &one.action {
            Action::Approval { idea, .. } => idea != id,
            Action::Rollback { .. } | Action::Cancel { .. } | Action::Redirect { .. } => true,
        });
    }

    /// What this idea was before its cancellation.
    pub fn before_mut(&mut self, id: &IdeaId) -> Option<&mut Before> {
        let cancelled = Action::Cancel { idea: id.clone() };
        let mut found = self.actions.iter_mut();
        found
            .find(|one| one.action == cancelled)?
            .before
            .as_deref_mut()
    }

    /// Whether the cancellation of this idea can be taken back.
    pub fn can_bring_back(&self, id: &IdeaId) -> bool {
        let cancelled = Action::Cancel { idea: id.clone() };
        self.actions.iter().any(|one| one.action == cancelled)
    }

    /// The work of cancelled ideas.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        let before = self.actions.iter().filter_map(|one| one.before.as_ref());
        before.filter_map(|before| before.kept.as_deref())
    }

    /// The work of a cancelled idea in this worktree, which is not rescued yet.
    pub fn kept_in_mut(&mut self, worktree: &str) -> Option<&mut Option<Box<Kept>>> {
        let before = self
            .actions
            .iter_mut()
            .filter_map(|one| one.before.as_mut());
        let mut kept = before.map(|before| &mut before.kept);
        kept.find(|kept| kept.as_ref().is_some_and(|kept| is_in(kept, worktree)))
    }

    /// Whether a cancelled idea has work in this worktree.
    pub fn has_work_in(&self, worktree: &str) -> bool {
        self.kept().any(|kept| is_in(kept, worktree))
    }
}

fn is_in(kept: &Kept, worktree: &str) -> bool {
    kept.worktree.saved.is_none() && kept.worktree.worktree == worktree
}

impl State {
    /// The newest action that is still in effect. An idea that was retried or rolled back since is
    /// no longer cancelled.
    pub fn last_undoable(&self) -> Option<&Undoable> {
        let mut newest = self.undo.actions.iter().rev();
        newest.find(|one| self.is_in_effect(&one.action))
    }

    /// The newest action that is still in effect and is not an approval whose work has landed.
    pub fn last_before_landings(&self) -> Option<&Undoable> {
        let mut newest = self.undo.actions.iter().rev();
        newest.find(|one| self.is_in_effect(&one.action) && self.landing_of(&one.action).is_none())
    }

    fn is_in_effect(&self, action: &Action) -> bool {
        match action {
            Action::Rollback { .. } | Action::Redirect { .. } => true,
            Action::Cancel { idea } => self.is_cancelled(idea),
            Action::Approval { idea, source } => {
                let entry = self.entry(idea);
                let waits = entry.is_some_and(|entry| entry.approved.as_ref() == Some(source));
                waits || self.landing_of(action).is_some()
            }
        }
    }

    /// The merge commit of approved work that has landed.
    pub fn landing_of(&self, action: &Action) -> Option<&Oid> {
        let Action::Approval { idea, .. } = action else {
            return None;
        };
        let idea = self.ideas.get(idea)?;
        let landed = idea.status == IdeaStatus::Done;
        idea.commit.as_ref().filter(|_| landed)
    }

    fn is_cancelled(&self, id: &IdeaId) -> bool {
        let over = self.ideas.get(id).map(|idea| idea.status) == Some(IdeaStatus::Cancelled);
        let attempt = self.attempt_at(id);
        over || attempt.is_some_and(|(_, attempt)| attempt.ending == Some(Ending::Cancelled))
    }
}
