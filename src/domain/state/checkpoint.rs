//! Checkpoints and rollbacks: what the state keeps of them, and what a rollback restores.
//!
//! Invariant: a rollback is one intention in the log, carried out in steps. What it will restore is
//! journaled before the first irreversible step, so finishing it needs neither the checkpoint's
//! file nor its tag object. Counters are never restored: numbers never repeat.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Attempt, Feedback, Idea, IdeaStatus, Kept, ReviewComment, State};
use crate::domain::effect::{KeptWorktree, Saved};
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, Oid, RunId};
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::time::Timestamp;

/// Why a checkpoint was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A person requested it; only a person can delete it.
    Manual,
    /// The configured number of ideas had landed since the last one.
    Periodic,
    /// Autopilot was about to start.
    BeforeAutopilot,
    /// A rollback was about to start; rolling back to this checkpoint undoes it.
    BeforeRollback,
}

/// A checkpoint as the state knows it; its file has the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// When it was requested.
    pub created_at: Timestamp,
    /// Why it was made.
    pub reason: Reason,
    /// The target's commit.
    pub commit: Oid,
    /// Its tag object.
    pub tag: Oid,
    /// Sequence number of the last event in its state.
    pub seq: u64,
    /// SHA-256 of its file, in hex.
    pub sha256: String,
    /// Its number for people, never reused. `None` until it is in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
}

/// Work of one agent, kept under `refs/swarm/checkpoint-work/<name>/<agent>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedWork {
    /// The agent.
    pub agent: AgentId,
    /// Commit where its branch left the target.
    pub base: Oid,
    /// Tip of its branch.
    pub tip: Oid,
    /// Commit on top of `tip` with the uncommitted files; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wip: Option<Oid>,
    /// Iterations of the attempt so far.
    pub iterations: u32,
    /// Run of its last iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunId>,
    /// The last failed quality command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// The reviewer's comment that the work does not answer yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<ReviewComment>>,
    /// Messages from a person that no prompt has carried yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

impl SavedWork {
    /// What the next attempt continues from.
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
            review: self.review.clone(),
            messages: self.messages.clone(),
            iterations: self.iterations,
            last_run: self.last_run.clone(),
            said: Vec::new(),
            taken_from: None,
            cause: PromptCause::Restored,
            session: None,
            prompt: None,
        }
    }
}

/// How a rollback leaves an idea: as at the checkpoint, except for text and order, which keep the
/// latest edits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaThen {
    /// Its status; work in progress becomes pending.
    pub status: IdeaStatus,
    /// Crashes so far.
    pub retry_count: u32,
    /// Failed attempts.
    pub failed_attempts: u32,
    /// Merge commit that landed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// After a rewrite of the target: the commit before the first one of its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed_since: Option<Oid>,
    /// Last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Box<str>>,
    /// Work that its next attempt continues from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Box<SavedWork>>,
}

/// Step of a rollback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RollbackStep {
    /// The checkpoint is being checked; nothing has changed.
    Checking,
    /// Agents are being stopped.
    Stopping,
    /// The safety checkpoint is being made.
    Saving,
    /// The target is moving to the checkpoint's commit.
    Moving,
    /// Ideas are being restored.
    Restoring,
}

/// A rollback in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// Checkpoint to return to.
    pub to: CheckpointName,
    /// Commit of that checkpoint.
    pub commit: Oid,
    /// Checkpoint that undoes the rollback.
    pub safety: CheckpointName,
    /// Whether the swarm stays paused afterwards.
    pub pause: bool,
    /// Whether a pause ends with the rollback. Where both are `false`, the pause stays as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resume: bool,
    /// Target commit that the person confirmed; if it has moved, nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Oid>,
    /// Number of the rollback that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// Current step.
    pub step: RollbackStep,
    /// When it was requested.
    pub at: Timestamp,
    /// What each idea becomes, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ideas: BTreeMap<IdeaId, IdeaThen>,
}

impl IdeaThen {
    /// How a rollback to this state, with this saved work, leaves the idea.
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
            landed_since: idea.landed_since.clone(),
            last_error: idea.last_error.clone(),
            saved: saved.map(Box::new),
        }
    }
}

/// Agents whose saved work an idea continues from.
pub fn saved_work_in_use(state: &State) -> Vec<AgentId> {
    let ideas = state.ideas.values().filter_map(|idea| idea.kept.as_deref());
    let attempts = state.agents.values();
    let claimed = attempts.filter_map(|attempt| attempt.kept.as_deref());
    ideas
        .chain(claimed)
        .chain(state.undo.kept())
        .filter(|kept| kept.worktree.saved.is_some())
        .map(|kept| kept.worktree.agent.clone())
        .collect()
}

/// Unfinished work that a checkpoint must save, with everything needed to continue it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// Idea that the work is for.
    pub idea: IdeaId,
    /// Agent that did the work.
    pub agent: AgentId,
    /// Name of the worktree.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// Commit where the branch left the target.
    pub base: Oid,
    /// Iterations so far.
    pub iterations: u32,
    /// Run of the last iteration.
    pub last_run: Option<RunId>,
    /// The last failed quality command.
    pub feedback: Option<Feedback>,
    /// The reviewer's comment that the work does not answer yet.
    pub review: Option<Box<ReviewComment>>,
    /// Messages from a person that no prompt has carried yet.
    pub messages: Vec<String>,
    /// Set if there is no worktree: an earlier checkpoint saved the work and nobody has continued
    /// it, or it waits on its branch.
    pub saved: Option<Saved>,
}

/// All work that has not landed: of running attempts, and what ended ones left for the next. A
/// worktree handed over by a redirect in which nobody has started yet is left out: its content
/// belongs to the idea that it was made for.
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
        // It never got its worktree; what it was to take over is still there.
        return of_kept(&attempt.idea, attempt.kept.as_deref()?);
    };
    let told = attempt.told.iter().chain(&attempt.messages);
    Some(Unfinished {
        idea: attempt.idea.clone(),
        agent: agent.clone(),
        worktree: attempt.last_worktree().to_owned(),
        branch: attempt.branch.clone(),
        base,
        iterations: attempt.iteration,
        last_run: attempt.last_iteration().cloned(),
        feedback: attempt.feedback.clone(),
        review: attempt.review.clone(),
        messages: told.cloned().collect(),
        saved: attempt.lent_work(),
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
        review: kept.review.clone(),
        messages: kept.messages.clone(),
        saved: kept.worktree.saved.clone(),
    })
}
