//! The swarm as a whole: its phase, settings, target, warnings, the outbox, repairs.

#![allow(missing_docs)] // the variants of `Event` say what each is, the fields what they are

use serde::{Deserialize, Serialize};

use crate::domain::command::TargetChoice;
use crate::domain::effect::Effect;
use crate::domain::ids::{EffectId, IdeaId, Oid};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::Counters;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStarted {
    pub version: String,
    /// From here on `hookOwed` says which hooks are called; before it, and after an older daemon,
    /// the frozen rules do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub owes_hooks: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseChanged {
    pub phase: SwarmPhase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// While draining: until when it waits for boundaries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseSet {
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseLifted {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsLoaded {
    /// SHA-256 of the effective configuration.
    pub hash: String,
    /// What decisions need of it.
    pub settings: Box<Settings>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModeSet {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockWentBack {
    /// By how many milliseconds.
    pub by_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomAwaited {
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetSeen {
    pub branch: String,
    pub commit: Oid,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetRewritten {
    pub from: Oid,
    pub to: Oid,
    /// Ideas that had landed on it and that it has no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<IdeaId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetSettled {
    pub choice: TargetChoice,
    /// Where the target is.
    pub to: Oid,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WarningRaised {
    pub key: String,
    /// What, why and what to do.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WarningCleared {
    pub key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectRequested {
    pub id: EffectId,
    pub effect: Effect,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectFinished {
    pub id: EffectId,
    /// Why it could not be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateRepaired {
    pub way: RepairWay,
    /// The events that are gone, where their numbers are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostEvents>,
    /// The folder in the state directory that has the files as they were.
    pub copy: String,
    /// What the counters are at least.
    pub floors: Counters,
    /// Ideas of which the target says that they landed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<FoundLanding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateRestored {
    /// Where it was found.
    pub way: RepairWay,
    /// The SHA-256 of the file `restored-<sha256>.json`.
    pub sha256: String,
    /// The folder in the state directory that has the files as they were.
    pub copy: String,
}

/// How damaged state was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RepairWay {
    /// The good beginning of the log stays.
    Cut,
    /// A snapshot and the good events after it stay.
    Snapshot,
    /// The state was put together from what lies beside the log.
    Rebuild,
}

impl RepairWay {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Snapshot => "snapshot",
            Self::Rebuild => "rebuild",
        }
    }
}

/// Events that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostEvents {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
}

/// A landing that git knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundLanding {
    /// The idea.
    pub idea: IdeaId,
    /// The merge commit.
    pub commit: Oid,
    /// The branch that has it.
    pub target: String,
}
