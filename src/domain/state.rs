//! The whole state of a swarm: what folding the event log gives, and what a snapshot holds.
//!
//! Invariant: only [`evolve`](super::evolve::evolve) changes it, and folding the same events gives the same state. An idea has at most one
//! attempt in `agents`; the merge queue holds at most one entry an idea, in the order in which they came.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::backlog::Backlog;
use super::checkpoint::{Checkpoint, Rollback};
use super::command::InboxFile;
use super::effect::{ConflictLevel, Effect, KeptWorktree, Landing, Purpose};
use super::event::{TargetRewritten, TargetSeen};
use super::hook::{HookCall, HookName, LastCall, Passage};
use super::ids::{AgentId, CheckpointName, EffectId, IdeaId, Oid, ProfileName, RunId};
use super::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use super::message::Message;
use super::provider::Hold;
use super::redirect::{Redirect, Reserved};
use super::session::{Session, SessionId};
use super::settings::{DayLimits, Mode, Settings};
use super::time::Timestamp;
use super::usage::{Bill, Spent};

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
    /// Calls of hooks that are owed or under way, in the order of their events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookCall>,
    /// How the last call of each hook ended.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks_last: BTreeMap<HookName, LastCall>,
    /// What people have approved of the hooks that agents' landed work changed: each as the event names it, the latest last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks_approved: BTreeMap<HookName, Vec<String>>,
    /// Accounts that must wait, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<String, Hold>,
    /// What was used, by the day (UTC, `2026-01-31`) on which the run ended; the last 400 days on which something was.
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
    /// The limits that were used up then: these pause it once a day, so that a person can go on all the same.
    #[serde(skip_serializing_if = "DayLimits::is_none")]
    pub budget_limits: DayLimits,
}

/// What a decision left to be tidied up. It is requested level-triggered: a decision of which a torn log kept only the first events
/// neither loses nor doubles it.
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

/// How an idea stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum IdeaStatus {
    /// Waits for an agent.
    #[default]
    Pending,
    /// An agent works on it.
    Active,
    /// Complete; being landed.
    Merging,
    /// The agent cannot go on.
    Blocked,
    /// Landed.
    Done,
    /// Ended badly.
    Failed,
    /// Took too long.
    Timeout,
    /// Not wanted any more.
    Cancelled,
}

impl IdeaStatus {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Active,
        Self::Merging,
        Self::Blocked,
        Self::Done,
        Self::Failed,
        Self::Timeout,
        Self::Cancelled,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Merging => "merging",
            Self::Blocked => "blocked",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether what was waited for ended badly.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Timeout | Self::Blocked)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_false(flag: &bool) -> bool {
    !*flag
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Idea {
    /// How it stands.
    pub status: IdeaStatus,
    /// What is to be done.
    pub text: Box<str>,
    /// The ideas that must be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<IdeaId>,
    /// Free words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Added to its score.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i64,
    /// The profile to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// A person assigned it; forgotten when its attempt ends otherwise than by an interruption.
    #[serde(default, skip_serializing_if = "is_false")]
    pub assigned: bool,
    /// Crashes since it was added or retried.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_count: u32,
    /// Failed attempts since it was added; they lower its score.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_attempts: u32,
    /// Attempts in all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Not to be claimed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The worktree of an earlier attempt, with what must be told to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<Kept>>,
    /// An agent was redirected to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Reserved>,
    /// The merge commit that landed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// Why it did not go on, last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Box<str>>,
    /// What its attempts used.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used: Spent,
    /// What had been used when it was last retried: its budget begins anew there.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used_before: Spent,
    /// What happened to it, the last 20 entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<Audit>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What an attempt leaves for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// The worktree.
    pub worktree: KeptWorktree,
    /// The last gate that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// What a person said and no prompt has carried yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Iterations that the attempt had.
    pub iterations: u32,
    /// The run of its last iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunId>,
    /// The same messages, as people see them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Message>,
    /// By a redirect: the idea that the work in the worktree was done for. That has it by its commits, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<IdeaId>,
    /// The conversation that it had there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
}

/// One line of an idea's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// When.
    pub at: Timestamp,
    /// What: `claimed`, `crash_recovery`, `failed`, ...
    pub what: String,
    /// More of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What the attempt is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Task {
    /// The idea.
    #[default]
    Work,
    /// A conflict with the target.
    Resolve {
        /// The target's commit.
        target: Oid,
        /// Where.
        files: Vec<String>,
    },
}

/// The last word of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Said {
    /// COMPLETE.
    Complete,
    /// RESOLVED.
    Resolved,
    /// BLOCKED and why.
    Blocked(String),
    /// `NEEDS_HUMAN` and why.
    NeedsHuman(String),
}

/// A quality command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// The command.
    pub command: String,
    /// How it ended, in words.
    pub how: String,
    /// The run whose output shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Whether it failed on the merged tree.
    #[serde(default, skip_serializing_if = "is_false")]
    pub merged: bool,
}

/// Why an attempt is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// A person stopped it.
    Stopped,
    /// The swarm stops its agents: nobody's fault.
    Interrupted,
    /// Its idea was cancelled.
    Cancelled,
    /// A person redirected it to another idea.
    Redirected,
}

/// One try at an idea by one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The idea.
    pub idea: IdeaId,
    /// Which try at it, from 1.
    pub number: u32,
    /// The profile.
    pub profile: ProfileName,
    /// Its branch, its own.
    pub branch: String,
    /// Its worktree's name under `.swarm/worktrees/`.
    pub worktree: String,
    /// Where it stands.
    pub phase: AttemptPhase,
    /// What it is doing.
    #[serde(default)]
    pub task: Task,
    /// What it took over from an earlier attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<Kept>>,
    /// Where it stands with the hook before its first iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_start: Option<Passage>,
    /// The last iteration begun, from 1.
    pub iteration: u32,
    /// Where its branch left the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Oid>,
    /// Where its branch stood last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Oid>,
    /// The run that is alive, or about to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its runs, oldest first, the last 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// The child's process id, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How the output of the present run, or of the last one, is to be read, as the configuration named it when that began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// That run goes on with a conversation.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resumed: bool,
    /// Where the last counted signal of the present run lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_offset: Option<u64>,
    /// The last word of the present iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// The next quality command, from 0.
    #[serde(default)]
    pub gate_next: usize,
    /// The gate is open: sealed, commands may run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sealed: bool,
    /// How far it says it is, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<u8>,
    /// Iterations in a row that wrote nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub empty_outputs: u32,
    /// Iterations in a row without a new commit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_commit: u32,
    /// How often the merge queue gave it back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub returns: u32,
    /// After it was given back: the target's commit that is to be merged into its worktree before it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<Oid>,
    /// Quality commands in a row whose runner was killed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_runs: u32,
    /// Iterations in a row that were over at once and said nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_once: u32,
    /// The last gate that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// What a person said and no prompt has carried yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// What a person said and the prompt of the present iteration carries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
    /// What people said to it, and how far that has come; the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Message>,
    /// The idea's text as it was when it was claimed, where it was edited since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Box<str>>,
    /// Why it is being ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Where it is redirected to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Box<Redirect>>,
    /// Not to go on before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When its present iteration began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration_at: Option<Timestamp>,
    /// Time that its iterations took, in milliseconds; without those that did not count since their account had to wait.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spent_ms: i64,
    /// Its conversation; while a resolver of another profile works, that one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
    /// Meanwhile: the conversation of its own, which it goes on with when the conflict is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_session: Option<Box<Session>>,
    /// What its iterations used.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used: Spent,
    /// What its present iteration has used up to now, where that is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub using: Option<Box<Bill>>,
    /// Iterations that do not count, since their service was to blame.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excused: u32,
    /// Of those, the ones in a row that were cut off or silent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u32,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttemptEnd {
    /// Its work landed.
    Merged,
    /// It said COMPLETE, and there was nothing to land.
    NothingToMerge,
    /// The agent said BLOCKED.
    Blocked,
    /// It failed.
    Failed,
    /// It took too long.
    TimedOut,
    /// Its process died, its fault or not.
    Crashed,
    /// A person stopped it.
    Stopped,
    /// The daemon ended.
    Interrupted,
    /// Its idea was cancelled.
    Cancelled,
    /// It could not begin; nobody's fault.
    Released,
    /// A person redirected it to another idea.
    Redirected,
}

impl fmt::Display for AttemptEnd {
    /// What goes after its agent's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merged => "has landed its work",
            Self::NothingToMerge => "had nothing to land",
            Self::Blocked => "is blocked",
            Self::Failed => "failed",
            Self::TimedOut => "used up its iterations or its time",
            Self::Crashed => "crashed",
            Self::Stopped => "was stopped",
            Self::Interrupted => "was interrupted",
            Self::Cancelled => "was cancelled",
            Self::Released => "could not begin",
            Self::Redirected => "was redirected",
        })
    }
}

/// An attempt that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedAttempt {
    /// The idea.
    pub idea: IdeaId,
    /// Which try at it.
    pub number: u32,
    /// The profile.
    pub profile: ProfileName,
    /// Its branch.
    pub branch: String,
    /// Its worktree's name.
    pub worktree: String,
    /// How it ended.
    pub end: AttemptEnd,
    /// Iterations that it had.
    pub iteration: u32,
    /// Its runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// What people said to it; what no prompt carried was left to the next attempt, where there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Message>,
    /// What its iterations used.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used: Spent,
    /// Its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

/// One entry of the merge queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeEntry {
    /// The idea.
    pub idea: IdeaId,
    /// Whose work.
    pub agent: AgentId,
    /// The branch.
    pub branch: String,
    /// The commit to merge.
    pub source: Oid,
    /// Where it stands.
    pub phase: MergePhase,
    /// A person must say go (`merge.autoMerge` is off).
    #[serde(default, skip_serializing_if = "is_false")]
    pub held: bool,
    /// The merge commit that was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// The target's commit that it was built on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Oid>,
    /// The merged tree is checked out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub checked_out: bool,
    /// Where it stands with the hook before its landing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_merge: Option<Passage>,
    /// The next quality command.
    #[serde(default)]
    pub verify_next: usize,
    /// The quality command that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What was merged with what when the merged tree last passed: the same need not be checked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Quality commands in a row whose runner was killed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_runs: u32,
    /// The conflict that it met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
    /// The conflict lies in the worktree, ready to be settled.
    #[serde(default, skip_serializing_if = "is_false")]
    pub laid_out: bool,
    /// How often a resolver tried.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resolver_tries: u32,
    /// Not to be tried before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Why it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// When it came.
    pub queued_at: Timestamp,
}

impl MergeEntry {
    /// Whether its work passed, merged with this commit of the target.
    pub fn is_verified_on(&self, target: &Oid) -> bool {
        let same =
            |verified: &Verified| verified.source == self.source && verified.target == *target;
        self.verified.as_ref().is_some_and(same)
    }
}

/// A merged tree that passed, by what it was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// The branch's commit.
    pub source: Oid,
    /// The target's commit.
    pub target: Oid,
}

/// Why an entry waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waits {
    /// What for.
    pub reason: String,
    /// The files in the way, at most 100; of more, the last entry says how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Whether only a person can change that.
    pub person: bool,
}

/// A conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// Who can resolve it.
    pub level: ConflictLevel,
    /// Where: at most 100 files; of more, the last entry says how many.
    pub files: Vec<String>,
    /// The target's commit.
    pub target: Oid,
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

impl Attempt {
    /// The run of its last iteration.
    pub fn last_iteration(&self) -> Option<&RunId> {
        self.runs.iter().rev().find(|run| is_iteration(run))
    }
}

/// Whether a run is an iteration, by its name (`...-i2`).
fn is_iteration(run: &RunId) -> bool {
    let last = run.as_str().rsplit('-').next().unwrap_or_default();
    last.strip_prefix('i')
        .is_some_and(|number| number.parse::<u32>().is_ok())
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

    /// The effect that a live run belongs to.
    pub fn run_effect(&self, run: &RunId) -> Option<(EffectId, &Purpose)> {
        self.outbox.iter().find_map(|(id, effect)| match effect {
            Effect::Run {
                run: this, purpose, ..
            } if this == run => Some((*id, purpose)),
            _ => None,
        })
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
