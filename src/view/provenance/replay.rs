//! The replay of a record as people and programs see it: the one under way, and the last verdict.
//!
//! Invariant: comes from the state and the event log alone.

use serde::Serialize;
use utoipa::ToSchema;

use super::list::MatchStatus;
use crate::domain::event::ReplayJudged;
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::likeness::{By, Measures};
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// Kind of the event that judges a replay.
pub const JUDGED: &str = "replayJudged";

/// The replays of one record.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceReplay)]
pub struct ReplayView {
    /// The recorded run.
    #[schema(value_type = String)]
    pub run: RunId,
    /// The replay that is under way.
    pub under_way: Option<UnderWay>,
    /// The last one that is judged; null while one is under way, or if there never was one.
    pub last: Option<LastReplay>,
}

/// A replay that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceReplayUnderWay)]
pub struct UnderWay {
    /// Its run.
    #[schema(value_type = String)]
    pub run: RunId,
    /// The profile that it runs under.
    #[schema(value_type = String)]
    pub profile: ProfileName,
    /// When somebody asked for it.
    #[schema(value_type = String, format = DateTime)]
    pub asked_at: Timestamp,
    /// How far it is.
    pub phase: ReplayPhase,
}

/// How far a replay is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceReplayPhase)]
pub enum ReplayPhase {
    /// It waits for a slot, for its account or for the end of a pause.
    Waiting,
    /// Its agent runs.
    Running,
    /// The result is compared with the record.
    Comparing,
}

/// A replay that is judged.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceReplayResult)]
pub struct LastReplay {
    /// Its run.
    #[schema(value_type = String)]
    pub run: RunId,
    /// Number of the event.
    pub seq: u64,
    /// When it was judged.
    #[schema(value_type = String, format = DateTime)]
    pub judged_at: Timestamp,
    /// The verdict; null if there was nothing to compare.
    pub match_status: Option<MatchStatus>,
    /// What decided a semantic match: `trees`, `structural` or `text`.
    #[schema(value_type = Option<String>)]
    pub by: Option<By>,
    /// All measures.
    pub measures: Option<ReplayMeasures>,
    /// Why there is no verdict.
    pub why: Option<String>,
}

/// What a replay was measured by; shares are from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceReplayMeasures)]
#[allow(clippy::struct_excessive_bools)] // each is a measure
pub struct ReplayMeasures {
    /// Both left the same files.
    pub trees: bool,
    /// Both said the same.
    pub responses: bool,
    /// Both ended with the same signal.
    pub signals: bool,
    /// The signals are equal and the quality commands ended alike; null if the record has quality
    /// commands, because a replay does not run them.
    pub gate: Option<bool>,
    /// Neither changed a file.
    pub unchanged: bool,
    /// Jaccard index of the changed files, each with its operation.
    pub files: f64,
    /// Dice coefficient of the shapes of the changed lines.
    pub shape: f64,
    /// Cosine of the words and pairs of words of the responses.
    pub text: f64,
}

impl From<Measures> for ReplayMeasures {
    fn from(measures: Measures) -> Self {
        let Measures {
            trees,
            responses,
            signals,
            gate,
            unchanged,
            files,
            shape,
            text,
        } = measures;
        Self {
            trees,
            responses,
            signals,
            gate,
            unchanged,
            files: files.into(),
            shape: shape.into(),
            text: text.into(),
        }
    }
}

impl LastReplay {
    /// From the event and its place in the log.
    pub fn new(seq: u64, judged_at: Timestamp, judged: ReplayJudged) -> Self {
        Self {
            run: judged.run,
            seq,
            judged_at,
            match_status: judged.verdict.map(|it| it.match_status.into()),
            by: judged.verdict.and_then(|it| it.by),
            measures: judged.measures.map(Into::into),
            why: judged.why,
        }
    }
}

/// The replay of this record that is under way.
pub fn under_way(state: &State, of: &RunId) -> Option<UnderWay> {
    let replay = state.records.replay.as_deref();
    let replay = replay.filter(|it| it.of == *of)?;
    Some(UnderWay {
        run: replay.run.clone(),
        profile: replay.profile.clone(),
        asked_at: replay.asked_at,
        phase: if replay.waits() {
            ReplayPhase::Waiting
        } else if replay.runs() {
            ReplayPhase::Running
        } else {
            ReplayPhase::Comparing
        },
    })
}
