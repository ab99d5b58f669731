//! One try at an idea by one agent: what it is doing, and how it ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Kept, is_false, is_zero};
use crate::domain::hook::Passage;
use crate::domain::ids::{IdeaId, Oid, ProfileName, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::session::{Session, SessionId};
use crate::domain::state::message::Message;
use crate::domain::state::redirect::Redirect;
use crate::domain::time::Timestamp;
use crate::domain::usage::{Bill, Spent};

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
    /// How the output of the present run, or of the last one, is to be read, as the configuration
    /// named it when that began.
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
    /// After it was given back: the target's commit that is to be merged into its worktree before
    /// it goes on.
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
    /// Time that its iterations took, in milliseconds; without those that did not count since their
    /// account had to wait.
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
    /// What people said to it; what no prompt carried was left to the next attempt, where there was
    /// one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Message>,
    /// What its iterations used.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used: Spent,
    /// Its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
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
