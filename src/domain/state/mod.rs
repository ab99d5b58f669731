//! The whole state of a swarm: what folding the event log gives, and what a snapshot holds.
//!
//! Invariant: only [`evolve`](super::evolve::evolve) changes it, and folding the same events gives
//! the same state. An idea has at most one attempt in `agents`; the merge queue holds at most one
//! entry an idea, in the order in which they came.

mod attempt;
pub mod backlog;
pub mod checkpoint;
mod idea;
mod merge_entry;
pub mod message;
pub mod provider;
pub mod redirect;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::command::InboxFile;
use crate::domain::effect::{self, Effect, Landing, Purpose};
use crate::domain::event::{HookOwed, TargetRewritten, TargetSeen};
use crate::domain::hook::{HookCall, HookName, LastCall};
use crate::domain::ids::{AgentId, CheckpointName, EffectId, IdeaId, ProfileName, RunId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::settings::{DayLimits, Mode, Settings};
use crate::domain::state::backlog::Backlog;
use crate::domain::state::checkpoint::{Checkpoint, Rollback};
use crate::domain::state::provider::Hold;
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

pub use attempt::{Attempt, AttemptEnd, EndedAttempt, Ending, Feedback, Said, Task};
pub use idea::{Audit, Idea, IdeaStatus, Kept};
pub use merge_entry::{Conflict, MergeEntry, Verified, Waits};

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// The last event folded in.
    pub seq: u64,
    /// The swarm as a whole.
    pub swarm: Swarm,
    /// The configuration that decisions use; none before the first daemon.
    pub settings: Option<Box<Settings>>,
    /// SHA-256 of the configuration that it came from.
    pub config_hash: String,
    /// All ideas.
    pub ideas: Backlog,
    /// Attempts that are not over.
    pub agents: BTreeMap<AgentId, Attempt>,
    /// Attempts that are over.
    pub ended: BTreeMap<AgentId, EndedAttempt>,
    /// The merge queue.
    pub queue: Vec<MergeEntry>,
    /// Effects without an outcome, by the order of requests.
    pub outbox: BTreeMap<EffectId, Effect>,
    /// Runs that were asked to end and have not ended; `true`: without grace.
    pub stops: BTreeMap<RunId, bool>,
    /// What is to be tidied up.
    pub owed: Owed,
    /// What agents found out.
    pub learnings: Vec<Learning>,
    /// Warnings in force, by their key.
    pub warnings: BTreeMap<String, Warning>,
    /// The checkpoints that there are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub checkpoints: BTreeMap<CheckpointName, Checkpoint>,
    /// The rollback that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Box<Rollback>>,
    /// Whether `hookOwed` says which hooks are called, as the last daemon that started wrote.
    #[serde(skip_serializing_if = "is_false")]
    pub owes_hooks: bool,
    /// Calls about the event that comes next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks_announced: Vec<HookOwed>,
    /// Calls of hooks that are owed or under way, in the order of their events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookCall>,
    /// How the last call of each hook ended.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks_last: BTreeMap<HookName, LastCall>,
    /// What people have approved of the hooks that agents' landed work changed: each as the event
    /// names it, the latest last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks_approved: BTreeMap<HookName, Vec<String>>,
    /// Accounts that must wait, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<String, Hold>,
    /// What was used, by the day (UTC, `2026-01-31`) on which the run ended; the last 400 days on
    /// which something was.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub used: BTreeMap<String, Spent>,
    /// Numbers that never repeat.
    pub counters: Counters,
}

/// The swarm as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Swarm {
    /// Where it stands.
    pub phase: SwarmPhase,
    /// Whether a pause is in force; it survives a restart.
    pub paused: bool,
    /// Why it is paused.
    pub pause_reason: Option<String>,
    /// Who starts ideas, where that differs from the configuration.
    pub mode_override: Option<Mode>,
    /// Attempts that failed in a row.
    pub failures_in_a_row: u32,
    /// Until when a graceful end waits for boundaries.
    pub drain_deadline: Option<Timestamp>,
    /// Where the target was last seen.
    pub target: Option<TargetSeen>,
    /// The target was force-pushed and nobody has said yet what to do: the commit that it lost.
    pub rewritten: Option<TargetRewritten>,
    /// After a force-push: replay branches that began on the old history.
    pub rebase: bool,
    /// The disk was full; nothing is started before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// The time of the last event.
    pub last_event_at: Timestamp,
    /// Ideas that have landed since the last periodic checkpoint was asked for.
    #[serde(skip_serializing_if = "is_zero")]
    pub landed_since_checkpoint: u32,
    /// The one that landed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_landed: Option<IdeaId>,
    /// Since autopilot is on, a checkpoint was asked for.
    #[serde(skip_serializing_if = "is_false")]
    pub autopilot_checkpoint: bool,
    /// The last day (UTC) on which the budget of the day paused the swarm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_paused: Option<String>,
    /// The limits that were used up then: these pause it once a day, so that a person can go on all
    /// the same.
    #[serde(skip_serializing_if = "DayLimits::is_none")]
    pub budget_limits: DayLimits,
}

/// What a decision left to be tidied up. It is requested level-triggered: a decision of which a
/// torn log kept only the first events neither loses nor doubles it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Owed {
    /// Worktrees to give back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<UnusedWorktree>,
    /// Inbox files to move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inbox: Vec<InboxFile>,
    /// Worktrees that could not be given back; the next daemon tries again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worktrees_failed: Vec<UnusedWorktree>,
    /// Inbox files that could not be moved; the next daemon tries again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inbox_failed: Vec<InboxFile>,
}

impl Owed {
    /// Whether nothing is left to request.
    pub fn is_empty(&self) -> bool {
        self.worktrees.is_empty() && self.inbox.is_empty()
    }
}

/// A worktree that nobody needs any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnusedWorktree {
    /// Its name under `.swarm/worktrees/`.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// Where its work landed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<Landing>,
}

/// Numbers that never repeat in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Counters {
    /// Ideas.
    pub ideas: u64,
    /// Agents.
    pub agents: u64,
    /// Runs.
    pub runs: u64,
    /// Effects.
    pub effects: u64,
    /// Learnings.
    pub learnings: u64,
}

impl Counters {
    /// Each the larger of the two.
    #[must_use]
    pub fn at_least(self, floors: Self) -> Self {
        Self {
            ideas: self.ideas.max(floors.ideas),
            agents: self.agents.max(floors.agents),
            runs: self.runs.max(floors.runs),
            effects: self.effects.max(floors.effects),
            learnings: self.learnings.max(floors.learnings),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_false(flag: &bool) -> bool {
    !*flag
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// What an agent found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Learning {
    /// `learning-001`.
    pub id: String,
    /// For all agents.
    pub global: bool,
    /// The profile that local ones are for.
    pub profile: ProfileName,
    /// What.
    pub content: String,
    /// Who found it.
    pub sources: Vec<AgentId>,
    /// When it was found first.
    pub at: Timestamp,
}

/// A warning in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// What, why and what to do.
    pub message: String,
    /// Since when.
    pub since: Timestamp,
}

impl State {
    /// Who starts ideas.
    pub fn mode(&self) -> Mode {
        let configured = self.settings.as_ref().map(|settings| settings.mode);
        self.swarm.mode_override.or(configured).unwrap_or_default()
    }

    /// The attempt at an idea that is not over.
    pub fn attempt_at(&self, idea: &IdeaId) -> Option<(&AgentId, &Attempt)> {
        self.agents
            .iter()
            .find(|(_, attempt)| attempt.idea == *idea)
    }

    /// The queue's entry of an idea.
    pub fn entry(&self, idea: &IdeaId) -> Option<&MergeEntry> {
        self.queue.iter().find(|entry| entry.idea == *idea)
    }

    /// The runs that were requested and are not over, each with its effect.
    pub fn runs_under_way(&self) -> impl Iterator<Item = (EffectId, &effect::Run)> {
        self.outbox.iter().filter_map(|(id, effect)| {
            if let Effect::Run(it) = effect {
                Some((*id, it))
            } else {
                None
            }
        })
    }

    /// The effect that a live run belongs to.
    pub fn run_effect(&self, run: &RunId) -> Option<(EffectId, &Purpose)> {
        let this = self.runs_under_way().find(|(_, it)| it.run == *run);
        this.map(|(id, it)| (id, &it.purpose))
    }

    /// Whether an effect that fits is under way.
    pub fn is_pending(&self, fits: impl Fn(&Effect) -> bool) -> bool {
        self.outbox.values().any(fits)
    }

    /// Whether anything of an attempt, or of its merge, is being done outside at this moment.
    pub fn is_under_way(&self, agent: &AgentId, idea: &IdeaId) -> bool {
        self.is_pending(|effect| effect.works_for(agent, idea))
    }

    /// Slots in use.
    pub fn slots_used(&self) -> usize {
        self.agents
            .values()
            .filter(|attempt| attempt.phase.is_live())
            .count()
    }

    /// Slots that are free.
    pub fn slots_free(&self) -> usize {
        let max = self
            .settings
            .as_ref()
            .map_or(0, |settings| settings.max_parallel);
        (max as usize).saturating_sub(self.slots_used())
    }
}
