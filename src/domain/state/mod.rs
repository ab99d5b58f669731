//! The whole state of a swarm: the result of folding the event log, and the content of a snapshot.
//! `attempt`, `idea` and `merge_entry` have its parts.
//!
//! Invariant: only [`evolve`](super::evolve::evolve) changes it, and the same events give the same
//! state. An idea has at most one attempt in `agents` and at most one entry in the merge queue,
//! which is in order of arrival.

mod attempt;
pub mod attention;
pub mod backlog;
pub mod baseline;
pub mod checkpoint;
pub mod checks;
mod idea;
mod merge_entry;
pub mod message;
pub mod provider;
pub mod records;
pub mod redirect;
pub mod setup;
pub mod transfer;
pub mod undo;
pub mod worktrees;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::effect::{self, Effect, Landing, Purpose};
use crate::domain::event::{HookOwed, TargetRewritten, TargetSeen};
use crate::domain::hook::{HookCall, HookName, LastCall};
use crate::domain::ids::{AgentId, CheckpointName, EffectId, IdeaId, ProfileName, RunId};
use crate::domain::lifecycle::{AttemptPhase, SwarmPhase};
use crate::domain::memory::{Board, Compacted, Learnings, Notes, Synthesis};
use crate::domain::observation::Host;
use crate::domain::operation::InboxFile;
use crate::domain::request::Operations;
use crate::domain::settings::{DayLimits, Mode, Settings};
use crate::domain::state::attention::Attention;
use crate::domain::state::backlog::Backlog;
use crate::domain::state::baseline::Baseline;
use crate::domain::state::checkpoint::{Checkpoint, Rollback};
use crate::domain::state::checks::Checks;
use crate::domain::state::checks::outage::Outage;
use crate::domain::state::provider::Hold;
use crate::domain::state::records::Records;
use crate::domain::state::setup::SetupDue;
use crate::domain::state::transfer::Imported;
use crate::domain::state::undo::UndoStack;
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

pub use attempt::prompt_cause;
pub use attempt::{
    Attempt, AttemptEnd, EndedAttempt, Ending, Excused, FailedCheck, Feedback, Lending,
    ReviewComment, Said, SealState, Started, Task,
};
pub use idea::{Audit, Idea, IdeaStatus, Kept, LANDED};
pub use merge_entry::{Conflict, MergeEntry, Verified, Waits};

/// The whole state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// Sequence number of the last event.
    pub seq: u64,
    /// The swarm as a whole.
    pub swarm: Swarm,
    /// Settings that decisions depend on; `None` before the first daemon.
    pub settings: Option<Box<Settings>>,
    /// SHA-256 of the configuration they came from, in hex.
    pub config_hash: String,
    /// All ideas.
    pub ideas: Backlog,
    /// Attempts that have not ended.
    pub agents: BTreeMap<AgentId, Attempt>,
    /// Attempts that have ended.
    pub ended: BTreeMap<AgentId, EndedAttempt>,
    /// The merge queue, in order of arrival.
    pub queue: Vec<MergeEntry>,
    /// Effects without an outcome, in order of requests.
    pub outbox: BTreeMap<EffectId, Effect>,
    /// Runs that were asked to stop and have not ended; `true`: without grace period.
    pub stops: BTreeMap<RunId, bool>,
    /// Cleanup that must be requested.
    pub owed: Owed,
    /// What agents and people found out.
    pub learnings: Learnings,
    /// What was dropped of the memory: only the log has it.
    #[serde(skip_serializing_if = "is_zero")]
    pub compacted: Compacted,
    /// The board of facts.
    #[serde(skip_serializing_if = "Board::is_empty")]
    pub facts: Board,
    /// The scratchpad.
    #[serde(skip_serializing_if = "Notes::is_empty")]
    pub notes: Notes,
    /// How far the synthesis has read the learnings.
    #[serde(skip_serializing_if = "Synthesis::is_empty")]
    pub synthesis: Synthesis,
    /// Provenance records that are owed, how far they have expired, and the replay under way.
    #[serde(skip_serializing_if = "Records::is_empty")]
    pub records: Records,
    /// Requests with an operation id that were carried out.
    #[serde(skip_serializing_if = "Operations::is_empty")]
    pub operations: Operations,
    /// Key of the last setup that passed in each worktree, by the worktree's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub setups: BTreeMap<String, String>,
    /// Current warnings, by key.
    pub warnings: BTreeMap<String, Warning>,
    /// All checkpoints.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub checkpoints: BTreeMap<CheckpointName, Checkpoint>,
    /// Rollback in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Box<Rollback>>,
    /// Calls owed for the next event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks_announced: Vec<HookOwed>,
    /// Hook calls owed or running, in order of their events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookCall>,
    /// Result of each hook's last call.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks_last: BTreeMap<HookName, LastCall>,
    /// Approved contents of hooks that agents' landed work changed, newest last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks_approved: BTreeMap<HookName, Vec<String>>,
    /// What people were told, and what the webhook must still be told.
    #[serde(skip_serializing_if = "is_zero")]
    pub attention: Attention,
    /// Accounts that must wait, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<String, Hold>,
    /// Profiles whose program cannot begin.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<ProfileName, Hold>,
    /// Usage per day (UTC, `2026-01-31`) on which runs ended; the last 400 days with usage.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub used: BTreeMap<String, Spent>,
    /// What a person can take back.
    #[serde(skip_serializing_if = "UndoStack::is_empty")]
    pub undo: UndoStack,
    /// Counters for new ids.
    pub counters: Counters,
}

/// A reason for which agents gave up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GaveUp {
    /// The reason, as the last of them gave it.
    pub reason: String,
    /// Agents in a row that gave it; white space and numbers may differ.
    pub times: u32,
}

impl GaveUp {
    /// Whether another agent gives up for the same reason.
    pub fn is_for(&self, reason: &str) -> bool {
        folded(&self.reason) == folded(reason)
    }
}

/// A reason with each number as `0` and each white space as one space.
fn folded(reason: &str) -> String {
    let mut folded = String::with_capacity(reason.len());
    for c in reason.trim().chars() {
        let c = match c {
            c if c.is_numeric() => '0',
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if !(matches!(c, '0' | ' ') && folded.ends_with(c)) {
            folded.push(c);
        }
    }
    folded
}

/// The swarm as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Swarm {
    /// Current phase.
    pub phase: SwarmPhase,
    /// Whether it is paused; survives a restart.
    pub paused: bool,
    /// Why it is paused.
    pub pause_reason: Option<String>,
    /// Mode, if it differs from the configuration's.
    pub mode_override: Option<Mode>,
    /// Attempts in a row that failed, timed out or were blocked.
    pub failures_in_a_row: u32,
    /// Last reason for which an agent gave up, until an idea lands or a person resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gave_up: Option<GaveUp>,
    /// End of the grace period of a shutdown.
    pub drain_deadline: Option<Timestamp>,
    /// Last known commit of the target.
    pub target: Option<TargetSeen>,
    /// The last rewrite of the target that lost landed work, with all the ideas whose work is still
    /// missing, until a person chooses what happens to them or the target has it again.
    pub rewritten: Option<TargetRewritten>,
    /// After a rewrite or a rollback: replay branches based on the old history.
    pub rebase: bool,
    /// After a full disk: nothing starts before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// While git cannot write the files of a worktree: no new ones are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees_held: Option<worktrees::WorktreesHold>,
    /// Quality or setup command that cannot run; nothing runs it until a person resumes the swarm
    /// or the configuration changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_command: Option<String>,
    /// Time of the last event.
    pub last_event_at: Timestamp,
    /// When the machine was suspended lately, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slept: Vec<Slept>,
    /// When something outside the work failed checks lately, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// Ideas landed since the last periodic checkpoint was requested.
    #[serde(skip_serializing_if = "is_zero")]
    pub landed_since_checkpoint: u32,
    /// The idea that landed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_landed: Option<IdeaId>,
    /// Whether a checkpoint was requested since autopilot was turned on.
    #[serde(skip_serializing_if = "is_false")]
    pub autopilot_checkpoint: bool,
    /// Last day (UTC) on which the daily budget paused the swarm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_paused: Option<String>,
    /// Daily limits at that time: the same limits pause only once a day, so that a person can
    /// resume.
    #[serde(skip_serializing_if = "DayLimits::is_none")]
    pub budget_limits: DayLimits,
    /// What is known of the untouched target.
    #[serde(skip_serializing_if = "is_zero")]
    pub baseline: Baseline,
    /// The quality commands that run side by side.
    #[serde(skip_serializing_if = "is_zero")]
    pub checks: Checks,
    /// The machine of the last daemon that started.
    #[serde(skip_serializing_if = "is_zero")]
    pub host: Host,
    /// SHA-256 of the manifest of the archive in which the swarm has moved away, in hex: nothing
    /// changes here until a person reclaims it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<String>,
    /// The archive that it was imported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<Imported>>,
}

/// A time in which the machine was suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slept {
    /// When the daemon noticed that it was over.
    pub until: Timestamp,
    /// How long it lasted, in seconds.
    pub seconds: u64,
}

/// Cleanup left by decisions. It is requested from the state, so a torn log neither loses nor
/// doubles it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Owed {
    /// Worktrees to release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<UnusedWorktree>,
    /// Inbox files to move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inbox: Vec<InboxFile>,
    /// Worktrees that could not be released; the next daemon retries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worktrees_failed: Vec<UnusedWorktree>,
    /// Inbox files that could not be moved; the next daemon retries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inbox_failed: Vec<InboxFile>,
}

impl Owed {
    /// Whether nothing is left to request.
    pub fn is_empty(&self) -> bool {
        self.worktrees.is_empty() && self.inbox.is_empty()
    }
}

/// A worktree that is no longer needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnusedWorktree {
    /// Name of its worktree.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// Its landing, if it landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<Landing>,
}

/// Last numbers given out; they are never reused in a repository.
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
    /// Checkpoints.
    #[serde(skip_serializing_if = "is_zero")]
    pub checkpoints: u64,
}

impl Counters {
    /// Takes the larger value of each counter.
    #[must_use]
    pub fn at_least(self, floors: Self) -> Self {
        Self {
            ideas: self.ideas.max(floors.ideas),
            agents: self.agents.max(floors.agents),
            runs: self.runs.max(floors.runs),
            effects: self.effects.max(floors.effects),
            learnings: self.learnings.max(floors.learnings),
            checkpoints: self.checkpoints.max(floors.checkpoints),
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

/// A current warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// What happened and why; for people.
    pub message: String,
    /// Commands to type in the repository's root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// When it was raised.
    pub since: Timestamp,
}

impl State {
    /// Who starts ideas.
    pub fn mode(&self) -> Mode {
        let configured = self.settings.as_ref().map(|settings| settings.mode);
        self.swarm.mode_override.or(configured).unwrap_or_default()
    }

    /// The attempt at an idea that has not ended.
    pub fn attempt_at(&self, idea: &IdeaId) -> Option<(&AgentId, &Attempt)> {
        self.agents
            .iter()
            .find(|(_, attempt)| attempt.idea == *idea)
    }

    /// Merge queue entry of an idea.
    pub fn entry(&self, idea: &IdeaId) -> Option<&MergeEntry> {
        self.queue.iter().find(|entry| entry.idea == *idea)
    }

    /// Requested runs that have not ended, each with its effect.
    pub fn runs_under_way(&self) -> impl Iterator<Item = (EffectId, &effect::Run)> {
        self.outbox.iter().filter_map(|(id, effect)| {
            if let Effect::Run(it) = effect {
                Some((*id, it))
            } else {
                None
            }
        })
    }

    /// Effect of a live run.
    pub fn run_effect(&self, run: &RunId) -> Option<(EffectId, &Purpose)> {
        let this = self.runs_under_way().find(|(_, it)| it.run == *run);
        this.map(|(id, it)| (id, &it.purpose))
    }

    /// The run of the synthesis that is under way.
    pub fn synthesis_run(&self) -> Option<&RunId> {
        let of_synthesis = |it: &&effect::Run| matches!(it.purpose, Purpose::Synthesis { .. });
        let mut runs = self.runs_under_way().map(|(_, it)| it);
        runs.find(of_synthesis).map(|it| &it.run)
    }

    /// Whether a matching effect is pending.
    pub fn is_pending(&self, fits: impl Fn(&Effect) -> bool) -> bool {
        self.outbox.values().any(fits)
    }

    /// Whether an effect of an attempt, or of its merge, is pending.
    pub fn is_under_way(&self, agent: &AgentId, idea: &IdeaId) -> bool {
        self.is_pending(|effect| effect.works_for(agent, idea))
    }

    /// Slots in use.
    pub fn slots_used(&self) -> usize {
        let live = self.agents.values();
        let live = live.filter(|attempt| attempt.phase.is_live());
        live.count() + usize::from(self.replay_run().is_some())
    }

    /// Whether the next command of a tree cannot run: of the setup that it needs, or the quality
    /// command at this index.
    pub fn is_command_broken(&self, setup: Option<&SetupDue>, index: usize) -> bool {
        let Some(settings) = self.settings.as_deref() else {
            return false;
        };
        let next = match setup {
            Some(due) => settings.setup.get(due.next),
            None => settings.quality_commands.get(index),
        };
        next.is_some() && next == self.swarm.broken_command.as_ref()
    }

    /// Whether one of the quality or setup commands cannot run.
    pub fn is_gate_broken(&self) -> bool {
        let (Some(broken), Some(settings)) = (&self.swarm.broken_command, &self.settings) else {
            return false;
        };
        settings.quality_commands.contains(broken) || settings.setup.contains(broken)
    }

    /// Whether the attempt is at a quality or setup command that cannot run: it waits for a person.
    pub fn waits_for_command(&self, attempt: &Attempt) -> bool {
        let setup = attempt.setup.as_deref();
        let sealed = attempt.phase == AttemptPhase::Gating && attempt.is_sealed();
        let new = attempt.phase == AttemptPhase::Preparing && setup.is_some();
        (sealed || new)
            && attempt.run.is_none()
            && attempt.ending.is_none()
            && self.is_command_broken(setup, attempt.gate_next)
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
