//! One attempt at an idea by one agent: what it is doing, and how it ended.
//!
//! Invariant: only [`evolve`](crate::domain::evolve) changes these; JSON names are part of
//! snapshots.

pub mod prompt_cause;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Kept, is_false, is_zero};
use crate::domain::effect::Saved;
use crate::domain::hook::Passage;
use crate::domain::ids::{IdeaId, Oid, ProfileName, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::memory::MemoryUse;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::session::{Session, SessionId};
use crate::domain::state::baseline::Uncharged;
use crate::domain::state::message::Message;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::provider::ProviderWait;
use crate::domain::state::redirect::Redirect;
use crate::domain::state::setup::SetupDue;
use crate::domain::state::transfer::agent::ImportedAgent;
use crate::domain::time::Timestamp;
use crate::domain::usage::{Bill, Spent};
use crate::domain::verdict::Verdict;

/// How far the work of an iteration is on its branch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SealState {
    /// Something may be uncommitted.
    #[default]
    Open,
    /// The commit hooks let pass what is uncommitted.
    HooksPassed,
    /// Everything is committed.
    Sealed,
}

impl SealState {
    #[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
    fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

/// Current task of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Task {
    /// Work on the idea.
    #[default]
    Work,
    /// Resolve a conflict with the target.
    Resolve {
        /// Commit of the target.
        target: Oid,
        /// Files in conflict.
        files: Vec<String>,
        /// Commit with the unfinished resolution from before the target moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved: Option<Oid>,
    },
}

/// Final signal of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Said {
    /// `COMPLETE`.
    Complete,
    /// `RESOLVED`.
    Resolved,
    /// `BLOCKED`, with the reason.
    Blocked(String),
    /// `NEEDS_HUMAN`, with the question.
    NeedsHuman(String),
}

/// A quality command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// The command.
    pub command: String,
    /// How it failed, for people.
    pub how: String,
    /// Run with its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Whether it failed on the merged tree.
    #[serde(default, skip_serializing_if = "is_false")]
    pub merged: bool,
}

/// Why a person did not approve finished work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewComment {
    /// The commit that the reviewer saw.
    pub commit: Oid,
    /// The comment.
    pub text: String,
    /// Whether it is swarm's own, about an edit of the idea's text.
    #[serde(default, skip_serializing_if = "is_false")]
    pub edited: bool,
}

/// Why an attempt is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// A person stopped it.
    Stopped,
    /// The swarm is stopping its agents: no attempt is at fault.
    Interrupted,
    /// Its idea was cancelled.
    Cancelled,
    /// A person redirected it to another idea.
    Redirected,
}

/// One attempt at an idea by one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The idea.
    pub idea: IdeaId,
    /// Number of the attempt at this idea, from 1.
    pub number: u32,
    /// Profile of the agent.
    pub profile: ProfileName,
    /// Branch of this attempt only.
    pub branch: String,
    /// Name of its worktree. While that is lent: a name that no worktree ever has.
    pub worktree: String,
    /// Whether its worktree is its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lending: Lending,
    /// Phase of the attempt.
    pub phase: AttemptPhase,
    /// Current task.
    pub task: Task,
    /// Work taken over from an earlier attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<Kept>>,
    /// The imported agent that it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<ImportedAgent>>,
    /// State of the `pre-start` hook before its first iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_start: Option<Passage>,
    /// Why it gets its next prompt, or got that of the current iteration.
    #[serde(default, skip_serializing_if = "PromptCause::is_begin")]
    pub cause: PromptCause,
    /// Last iteration started, from 1.
    pub iteration: u32,
    /// Commit where its branch left the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Oid>,
    /// Last known tip of its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Oid>,
    /// Run that is running or about to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its last 100 runs, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// Process id of the child, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How its current or last run was started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub started: Started,
    /// Offset of the last counted signal of the current run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_offset: Option<u64>,
    /// Final signal of the current iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// Setup that its worktree needs before it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Box<SetupDue>>,
    /// Index of the next quality command, from 0.
    pub gate_next: usize,
    /// Whether everything of the iteration is on the branch, so that quality commands may run.
    #[serde(default, skip_serializing_if = "SealState::is_open")]
    pub seal: SealState,
    /// First iteration that said COMPLETE while the branch had no work of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_done_without_work: Option<u32>,
    /// Progress that it reported, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<u8>,
    /// Iterations in a row that wrote nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub empty_outputs: u32,
    /// Iterations in a row without a new commit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_commit: u32,
    /// Files of the worktree after the last iteration, as in [`RunEnd::tree`]; `None` stands for a
    /// clean tree at `head`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Files of the worktree when the last iteration of its own profile ended, as in
    /// [`RunEnd::tree`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// Iterations in a row that changed nothing in the worktree.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_change: u32,
    /// How often the merge queue returned it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub returns: u32,
    /// After a return: target commit to merge into its worktree before it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<Oid>,
    /// Quality or setup commands in a row whose runner was killed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_runs: u32,
    /// Iterations in a row that ended at once without a signal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_once: u32,
    /// The last failed quality command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// The reviewer's comment on the work, until the work is finished again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<ReviewComment>>,
    /// How often it has failed.
    #[serde(default, skip_serializing_if = "FailedCheck::is_nothing")]
    pub check: FailedCheck,
    /// Messages from a person that no prompt has carried yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Messages in the prompt of the current iteration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
    /// Question that the agent asked and that no prompt has answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<str>>,
    /// Messages from people and their progress, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Message>,
    /// The idea's text at the claim, if it was edited since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Box<str>>,
    /// Why it is being ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Destination, if it is being redirected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Box<Redirect>>,
    /// Must not continue before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When the current iteration started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration_at: Option<Timestamp>,
    /// Total time of its iterations since it was claimed, or since a reviewer last returned the
    /// work, in milliseconds, without those that waited for their account.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spent_ms: i64,
    /// Its conversation; while a resolver of another profile works, the resolver's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
    /// Its own conversation while a resolver's is in `session`; it continues after the conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_session: Option<Box<Session>>,
    /// What the program of the current run waits for at its provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_wait: Option<Box<ProviderWait>>,
    /// Usage of its iterations.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used: Spent,
    /// Usage of the current iteration so far, if a budget needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub using: Option<Box<Bill>>,
    /// Iterations that do not count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excused: Excused,
    /// What it was shown of the memory, and has written into it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory: MemoryUse,
}

/// What became of the worktree of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lending {
    /// It is the attempt's own.
    #[default]
    Own,
    /// It holds something that is not on the branch, and so is not lent.
    HoldsMore,
    /// The worktree of this name was lent to another idea while the finished work waits.
    Lent(String),
    /// It was made again, so that a setup that is due precedes the next iteration.
    MadeAgain,
}

/// How a run was started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Started {
    /// Adapter that parses its output, as configured at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// Whether it resumed a conversation.
    #[serde(skip_serializing_if = "is_false")]
    pub resumed: bool,
}

/// Iterations that do not count because the provider or the conversation was at fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Excused {
    /// Those that were nobody's fault, all of them.
    pub iterations: u32,
    /// Those that counted before a reviewer last returned the work.
    #[serde(skip_serializing_if = "is_zero")]
    pub before_review: u32,
    /// The ones in a row that were cut off or silent.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: u32,
    /// The ones in a row whose conversation could not go on, since the last commit.
    #[serde(skip_serializing_if = "is_zero")]
    pub exhausted: u32,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttemptEnd {
    /// Its work landed.
    Merged,
    /// It reported COMPLETE, but there was nothing to land.
    NothingToMerge,
    /// The agent reported BLOCKED, or it was stuck.
    Blocked,
    /// It failed.
    Failed,
    /// It ran out of time or iterations.
    TimedOut,
    /// Its process died, for whatever reason.
    Crashed,
    /// A person stopped it.
    Stopped,
    /// The daemon shut down.
    Interrupted,
    /// Its idea was cancelled.
    Cancelled,
    /// It could not start, through no fault of its own.
    Released,
    /// A person redirected it to another idea.
    Redirected,
}

impl fmt::Display for AttemptEnd {
    /// Predicate that follows the agent's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merged => "landed its work",
            Self::NothingToMerge => "had nothing to land",
            Self::Blocked => "was blocked",
            Self::Failed => "failed",
            Self::TimedOut => "hit its limit",
            Self::Crashed => "crashed",
            Self::Stopped => "was stopped",
            Self::Interrupted => "was interrupted",
            Self::Cancelled => "was cancelled",
            Self::Released => "could not start",
            Self::Redirected => "was redirected",
        })
    }
}

/// An ended attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedAttempt {
    /// The idea.
    pub idea: IdeaId,
    /// Number of the attempt at this idea, from 1.
    pub number: u32,
    /// Profile of the agent.
    pub profile: ProfileName,
    /// Its branch.
    pub branch: String,
    /// Name of its worktree.
    pub worktree: String,
    /// How it ended.
    pub end: AttemptEnd,
    /// Number of its iterations.
    pub iteration: u32,
    /// Its last runs, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Messages from people; those that no prompt carried passed to the next attempt, if there was
    /// one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Message>,
    /// Usage of its iterations.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub used: Spent,
    /// Its last conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The imported agent that it went on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<ImportedAgent>>,
}

/// Failures of one command in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedCheck {
    /// Digest of its last output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// How often in a row it failed with that output.
    #[serde(skip_serializing_if = "is_zero")]
    pub same_failures: u32,
    /// How often in a row it failed with any output, since fewer tests failed than before.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// Fewest tests that failed in its output since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_tests: Option<u32>,
    /// Its last failure, as long as the work is not charged for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncharged: Option<Box<Uncharged>>,
}

impl FailedCheck {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Attempt {
    /// Whether quality commands may run on its work.
    pub fn is_sealed(&self) -> bool {
        self.seal == SealState::Sealed
    }

    /// Name of the worktree that it has lent.
    pub fn lent(&self) -> Option<&str> {
        match &self.lending {
            Lending::Lent(worktree) => Some(worktree),
            Lending::Own | Lending::HoldsMore | Lending::MadeAgain => None,
        }
    }

    /// Name of the worktree that it works in or last worked in.
    pub fn last_worktree(&self) -> &str {
        self.lent().unwrap_or(&self.worktree)
    }

    /// Its work, if it has lent its worktree: all of it is on its branch.
    pub fn lent_work(&self) -> Option<Saved> {
        let tip = self.head.clone().filter(|_| self.lent().is_some())?;
        Some(Saved { tip, wip: None })
    }

    /// Iterations that count towards `completion.maxIterations`.
    pub fn counted_iterations(&self) -> u32 {
        let excused = self.excused.iterations + self.excused.before_review;
        self.iteration.saturating_sub(excused)
    }

    /// How often in a row a quality command has failed with the same output, this failure included.
    /// A failure that is already counted is not counted again.
    pub fn failures_with(&self, failure: &Feedback, fingerprint: Option<&str>) -> u32 {
        let known = self.feedback.as_ref();
        if known.is_some_and(|known| known.run.is_some() && known.run == failure.run) {
            return self.check.same_failures;
        }
        let is_same = |known: &Feedback| {
            (&known.command, &known.how, known.merged)
                == (&failure.command, &failure.how, failure.merged)
        };
        match fingerprint {
            None => 0,
            _ if fingerprint == self.check.fingerprint.as_deref() && known.is_some_and(is_same) => {
                self.check.same_failures + 1
            }
            Some(_) => 1,
        }
    }

    /// How often in a row the quality command has failed, this failure included. Fewer failed tests
    /// than ever in this row start the count again; an unknown number changes nothing. A failure
    /// that is already counted is not counted again.
    pub fn check_failures_with(&self, failure: &Feedback, failed_tests: Option<u32>) -> u32 {
        let known = self.feedback.as_ref();
        if known.is_some_and(|known| known.run.is_some() && known.run == failure.run) {
            return self.check.failures;
        }
        let is_same =
            |known: &Feedback| (&known.command, known.merged) == (&failure.command, failure.merged);
        let fewer = failed_tests.zip(self.check.failed_tests);
        if !known.is_some_and(is_same) || fewer.is_some_and(|(now, before)| now < before) {
            return 1;
        }
        self.check.failures + 1
    }

    /// Iterations in a row that changed nothing in the worktree, once this one has ended. One that
    /// only asks a person, that its provider cut off, or that resolves a conflict does not count.
    pub fn without_change_after(&self, end: &RunEnd) -> u32 {
        let clean = self.head.as_ref().map(Oid::as_str);
        let before = self.tree.as_deref().or(clean);
        // A tree that cannot be read counts as changed.
        if end.tree.is_none() || end.tree.as_deref() != before {
            return 0;
        }
        let asks = matches!(self.said, Some(Said::NeedsHuman(_)));
        let through = matches!(end.how, RunEndKind::Exited { .. })
            && matches!(end.verdict, None | Some(Verdict::Complete));
        self.without_change + u32::from(self.task == Task::Work && through && !asks)
    }

    /// Run of its last iteration.
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
