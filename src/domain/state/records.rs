//! Provenance records that are owed: one for each iteration that is over. The replay of a record.
//!
//! Invariant: an iteration owes its record from its end until `iterationRecorded`, so no kill loses
//! one. Nothing waits for a record, and no decision depends on its content.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Said, State, Task};
use crate::domain::effect::Effect;
use crate::domain::ids::{AgentId, IdeaId, ProfileName, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::RunEnd;
use crate::domain::request::Author;
use crate::domain::session::SessionId;
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

/// What the names of replays' runs say.
pub const REPLAY_OWNER: &str = "replay";

/// Records that are owed, how far they have expired, and the replay that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Records {
    /// Iterations without a record, by run.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub owed: BTreeMap<RunId, OwedRecord>,
    /// Records of iterations that ended before this time are deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expired_before: Option<Timestamp>,
    /// The replay that waits, runs, or is to be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<Replay>>,
    /// What the runs of all replays used.
    #[serde(skip_serializing_if = "is_unused")]
    pub replays_used: Spent,
}

fn is_unused(spent: &Spent) -> bool {
    *spent == Spent::default()
}

/// A replay that is not judged yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// Who asked for it.
    pub by: Author,
    /// When.
    pub asked_at: Timestamp,
    /// Run of the recorded iteration.
    pub of: RunId,
    /// SHA-256 of the record's file, in hex.
    pub sha256: String,
    /// Profile that it runs under.
    pub profile: ProfileName,
    /// Its own run.
    pub run: RunId,
    /// Whether that run was requested.
    pub requested: bool,
    /// How that run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Box<RunEnd>>,
}

impl Replay {
    /// Whether its run has not begun.
    pub const fn waits(&self) -> bool {
        !self.requested
    }

    /// Whether its run is under way.
    pub const fn runs(&self) -> bool {
        self.requested && self.end.is_none()
    }
}

impl Records {
    /// Whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a record that is owed is made of this run.
    pub fn need(&self, run: &RunId) -> bool {
        let of_gate = |owed: &OwedRecord| owed.gate.iter().any(|it| it.run == *run);
        self.owed.contains_key(run) || self.owed.values().any(of_gate)
    }
}

/// An iteration that is over and has no record yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwedRecord {
    /// Its agent.
    pub agent: AgentId,
    /// Its idea.
    pub idea: IdeaId,
    /// Number of the attempt at this idea, from 1.
    pub attempt: u32,
    /// Number of the iteration, from 1.
    pub iteration: u32,
    /// Profile of the attempt.
    pub profile: ProfileName,
    /// What it was for.
    pub task: Task,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Adapter that parses its output, as configured when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// Its last signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// Its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// How it ended. `tree` is what git can show: the commit of a clean worktree, else a tree.
    pub end: RunEnd,
    /// Quality commands that judged its work, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<GateResult>,
}

/// A quality command that judged an iteration's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateResult {
    /// Its run.
    pub run: RunId,
    /// The command.
    pub command: String,
    /// Whether it passed; `None` if it was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// How it failed, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
}

impl State {
    /// Run of the replay that is under way.
    pub fn replay_run(&self) -> Option<&RunId> {
        let replay = self.records.replay.as_deref();
        replay.filter(|it| it.runs()).map(|it| &it.run)
    }

    /// Run of the replay that waits, runs, or is to be judged.
    pub fn replay_under_way(&self) -> Option<&RunId> {
        let judged = self.outbox.values().find_map(|effect| {
            let Effect::JudgeReplay(judge) = effect else {
                return None;
            };
            Some(&judge.run)
        });
        let current = self.records.replay.as_deref().map(|it| &it.run);
        current.or(judged)
    }

    /// The oldest iteration whose record can be written: no quality command will judge it any more.
    pub fn record_due(&self) -> Option<(&RunId, &OwedRecord)> {
        let mut owed: Vec<_> = self.records.owed.iter().collect();
        owed.sort_by_key(|(_, owed)| owed.ended_at);
        owed.into_iter()
            .find(|(run, owed)| self.is_judged(run, owed))
    }

    fn is_judged(&self, run: &RunId, owed: &OwedRecord) -> bool {
        let Some(attempt) = self.agents.get(&owed.agent) else {
            return true;
        };
        let is_last = attempt.last_iteration() == Some(run);
        !is_last || !matches!(attempt.phase, AttemptPhase::Working | AttemptPhase::Gating)
    }
}
