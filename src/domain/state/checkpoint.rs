//! Checkpoints and rollbacks: what is kept of them in the state, and what a rollback restores.
//!
//! Invariant: a rollback is one intention in the log, with steps; what it will restore is journaled
//! before the first irreversible step, so that finishing it needs neither the checkpoint's file nor
//! its tag. Counters are never restored: numbers do not repeat.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Attempt, Feedback, Idea, IdeaStatus, Kept, State};
use crate::domain::effect::{KeptWorktree, Saved};
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, Oid, RunId};
use crate::domain::time::Timestamp;

/// Why a checkpoint was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A person asked for it; it stays until a person deletes it.
    Manual,
    /// So many ideas had landed since the last.
    Periodic,
    /// Autopilot was about to begin.
    BeforeAutopilot,
    /// A rollback was about to begin; rolling back to it undoes that.
    BeforeRollback,
}

/// A checkpoint, as the state knows it. Its file has the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Why.
    pub reason: Reason,
    /// The target's commit.
    pub commit: Oid,
    /// The tag's object.
    pub tag: Oid,
    /// The last event that its state has.
    pub seq: u64,
    /// SHA-256 of its file.
    pub sha256: String,
}

/// The work of one agent, kept under `refs/swarm/checkpoints/<name>/<agent>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedWork {
    /// The agent.
    pub agent: AgentId,
    /// Where its branch left the target.
    pub base: Oid,
    /// Where its branch stood.
    pub tip: Oid,
    /// What was not committed, as a commit on top of that; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wip: Option<Oid>,
    /// Iterations that the attempt had.
    pub iterations: u32,
    /// The run of its last iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunId>,
    /// The last gate that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// What a person said and no prompt has carried yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

impl SavedWork {
    /// What the next attempt goes on from.
    pub fn kept(&self) -> Kept {
        Kept {
            worktree: KeptWorktree {
                worktree: String::new(),
                branch: String::new(),
                base: self.base.clone(),
                agent: self.agent.clone(),
                crashed: true,
                saved: Some(Saved {
                    tip: self.tip.clone(),
                    wip: self.wip.clone(),
                }),
            },
            feedback: self.feedback.clone(),
            messages: self.messages.clone(),
            iterations: self.iterations,
            last_run: self.last_run.clone(),
            said: Vec::new(),
            taken_from: None,
            session: None,
        }
    }
}

/// How a rollback leaves an idea: as it was at the checkpoint, but for its text and place, which
/// stay what people last made of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaThen {
    /// How it stood; what was in progress is pending.
    pub status: IdeaStatus,
    /// Crashes.
    #[serde(default)]
    pub retry_count: u32,
    /// Failed attempts.
    #[serde(default)]
    pub failed_attempts: u32,
    /// The merge commit that landed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// Why it did not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Box<str>>,
    /// The work that its next attempt goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Box<SavedWork>>,
}

/// Where a rollback stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RollbackStep {
    /// The checkpoint is looked at; nothing has changed.
    Checking,
    /// Agents are being stopped.
    Stopping,
    /// The safety checkpoint is being made.
    Saving,
    /// The target goes to the checkpoint's commit.
    Moving,
    /// Ideas become what they were.
    Restoring,
}

/// A rollback that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// To which checkpoint.
    pub to: CheckpointName,
    /// That checkpoint's commit.
    pub commit: Oid,
    /// The checkpoint that undoes it.
    pub safety: CheckpointName,
    /// Always `false`; in logs of versions that put local changes in the way aside it may be
    /// `true`.
    pub stash: bool,
    /// Whether the swarm stays paused afterwards.
    pub pause: bool,
    /// Where the target stood for whoever said yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Oid>,
    /// Where it stands.
    pub step: RollbackStep,
    /// When it was asked for.
    pub at: Timestamp,
    /// What each idea becomes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ideas: BTreeMap<IdeaId, IdeaThen>,
}

impl IdeaThen {
    /// How a rollback to this state, with this work saved, leaves the idea.
    pub fn of(idea: &Idea, saved: Option<SavedWork>) -> Self {
        let in_progress = matches!(idea.status, IdeaStatus::Active | IdeaStatus::Merging);
        Self {
            status: if in_progress {
                IdeaStatus::Pending
            } else {
                idea.status
            },
            retry_count: idea.retry_count,
            failed_attempts: idea.failed_attempts,
            commit: idea.commit.clone(),
            last_error: idea.last_error.clone(),
            saved: saved.map(Box::new),
        }
    }
}

/// Agents whose work, kept by a checkpoint, is what an idea goes on from.
pub fn saved_work_in_use(state: &State) -> Vec<AgentId> {
    let ideas = state.ideas.values().filter_map(|idea| idea.kept.as_deref());
    let attempts = state.agents.values();
    let claimed = attempts.filter_map(|attempt| attempt.kept.as_deref());
    ideas
        .chain(claimed)
        .filter(|kept| kept.worktree.saved.is_some())
        .map(|kept| kept.worktree.agent.clone())
        .collect()
}

/// Work that a checkpoint has to keep: where it lies, and what must be known of it to go on from
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// Whose idea.
    pub idea: IdeaId,
    /// Whose work.
    pub agent: AgentId,
    /// The worktree's name.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// Where it left the target.
    pub base: Oid,
    /// Iterations so far.
    pub iterations: u32,
    /// The run of the last iteration.
    pub last_run: Option<RunId>,
    /// The last gate that failed.
    pub feedback: Option<Feedback>,
    /// What a person said and no prompt has carried yet.
    pub messages: Vec<String>,
    /// Kept by an earlier checkpoint, and nobody has gone on from it since: there is no worktree.
    pub saved: Option<Saved>,
}

/// All work that has not landed: of attempts that go on, and what ended ones left for the next. A
/// worktree that was handed over by a redirect and that nobody has begun in is not among it: what
/// is in it is kept with the idea that it was done for.
pub fn unfinished(state: &State) -> Vec<Unfinished> {
    let live = state
        .agents
        .iter()
        .filter_map(|(agent, attempt)| of_attempt(agent, attempt));
    let kept = state
        .ideas
        .iter()
        .filter_map(|(id, idea)| of_kept(id, idea.kept.as_deref()?));
    live.chain(kept).collect()
}

fn of_attempt(agent: &AgentId, attempt: &Attempt) -> Option<Unfinished> {
    let Some(base) = attempt.base.clone() else {
        // It never had its worktree; what it was to take over still lies there.
        return of_kept(&attempt.idea, attempt.kept.as_deref()?);
    };
    let told = attempt.told.iter().chain(&attempt.messages);
    Some(Unfinished {
        idea: attempt.idea.clone(),
        agent: agent.clone(),
        worktree: attempt.worktree.clone(),
        branch: attempt.branch.clone(),
        base,
        iterations: attempt.iteration,
        last_run: attempt.last_iteration().cloned(),
        feedback: attempt.feedback.clone(),
        messages: told.cloned().collect(),
        saved: None,
    })
}

fn of_kept(id: &IdeaId, kept: &Kept) -> Option<Unfinished> {
    kept.taken_from.is_none().then(|| Unfinished {
        idea: id.clone(),
        agent: kept.worktree.agent.clone(),
        worktree: kept.worktree.worktree.clone(),
        branch: kept.worktree.branch.clone(),
        base: kept.worktree.base.clone(),
        iterations: kept.iterations,
        last_run: kept.last_run.clone(),
        feedback: kept.feedback.clone(),
        messages: kept.messages.clone(),
        saved: kept.worktree.saved.clone(),
    })
}
