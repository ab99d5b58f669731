//! What the event log says of provenance records: one line for each iteration.
//!
//! Invariant: the log alone is read, so the list needs no record and no git. A record that has
//! expired stays in the list.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::ReplayStatus;
use crate::domain::event::IterationRecorded;
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::likeness;
use crate::domain::time::Timestamp;
use crate::view::describe::Point;

/// Kind of the event that says what was recorded.
pub const RECORDED: &str = "iterationRecorded";

/// A line of `provenance list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceLine)]
pub struct RecordView {
    /// The run: the record's id.
    #[schema(value_type = String)]
    pub run: RunId,
    /// The idea.
    #[schema(value_type = String)]
    pub idea: IdeaId,
    /// The agent.
    #[schema(value_type = String)]
    pub agent: AgentId,
    /// Number of the iteration, from 1.
    pub iteration: u32,
    /// Number of the event.
    pub seq: u64,
    /// When it was recorded.
    #[schema(value_type = String, format = DateTime)]
    pub recorded_at: Timestamp,
    /// Model that was used, if its program says so.
    pub model: Option<String>,
    /// SHA-256 of the record's file; null if there is no record.
    pub sha256: Option<String>,
    /// Tree of the worktree after the iteration.
    #[schema(value_type = Option<String>)]
    pub tree: Option<Oid>,
    /// Why there is no record.
    pub why: Option<String>,
    /// The last verdict of a replay.
    pub match_status: MatchStatus,
    /// How many replays have a verdict.
    pub replay_count: u32,
}

impl RecordView {
    /// From the event and its place in the log.
    pub fn new(seq: u64, recorded_at: Timestamp, listed: IterationRecorded) -> Self {
        Self {
            run: listed.run,
            idea: listed.idea,
            agent: listed.agent,
            iteration: listed.iteration,
            seq,
            recorded_at,
            model: listed.model,
            sha256: listed.sha256,
            tree: listed.tree,
            why: listed.why,
            match_status: MatchStatus::NotReplayed,
            replay_count: 0,
        }
    }

    /// Notes the verdict of a replay.
    pub fn replayed(&mut self, verdict: likeness::MatchStatus) {
        self.match_status = verdict.into();
        self.replay_count += 1;
    }

    /// What a shown record says of its replays.
    pub const fn replay_status(&self) -> ReplayStatus {
        ReplayStatus {
            replayed: self.replay_count > 0,
            replay_count: self.replay_count,
            match_status: self.match_status,
        }
    }
}

impl From<likeness::MatchStatus> for MatchStatus {
    fn from(verdict: likeness::MatchStatus) -> Self {
        match verdict {
            likeness::MatchStatus::ExactMatch => Self::ExactMatch,
            likeness::MatchStatus::SemanticMatch => Self::SemanticMatch,
            likeness::MatchStatus::PartialMatch => Self::PartialMatch,
            likeness::MatchStatus::NoMatch => Self::NoMatch,
        }
    }
}

/// How much a replay's result is like what was recorded.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    ToSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
#[schema(as = ProvenanceMatchStatus)]
pub enum MatchStatus {
    /// Identical.
    ExactMatch,
    /// The same meaning.
    SemanticMatch,
    /// Some of it differs.
    PartialMatch,
    /// It differs.
    NoMatch,
    /// It was never replayed.
    NotReplayed,
}

impl MatchStatus {
    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ExactMatch => "exact match",
            Self::SemanticMatch => "semantic match",
            Self::PartialMatch => "partial match",
            Self::NoMatch => "no match",
            Self::NotReplayed => "not replayed",
        }
    }
}

/// Selects lines of the list.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    /// Only records of this idea.
    pub idea: Option<IdeaId>,
    /// Only records of this agent.
    pub agent: Option<AgentId>,
    /// Only records with this verdict.
    pub matches: Option<MatchStatus>,
    /// Only what was recorded after this point.
    pub since: Option<Point>,
}

impl RecordFilter {
    /// Whether a line is wanted.
    pub fn wants(&self, line: &RecordView) -> bool {
        let is_since = match self.since {
            None => true,
            Some(Point::Seq(seq)) => line.seq > seq,
            Some(Point::Time(time)) => line.recorded_at > time,
        };
        is_since
            && self.idea.as_ref().is_none_or(|idea| *idea == line.idea)
            && self.agent.as_ref().is_none_or(|agent| *agent == line.agent)
            && self.matches.is_none_or(|it| it == line.match_status)
    }
}
