//! Events about the swarm as a whole: its phase, settings, target, warnings, effects, repairs.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::effect::Effect;
use crate::domain::ids::{EffectId, IdeaId, Oid};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Host;
use crate::domain::operation::TargetChoice;
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::Counters;
use crate::domain::state::worktrees::WorktreesHold;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStarted {
    pub version: String,
    /// The counters from here on, where runs, worktrees or branches with higher numbers than the
    /// log knows were found: the log was restored from an older copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// What its checks find on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumbersRaised {
    /// Lower bounds for the counters.
    pub counters: Counters,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseChanged {
    pub phase: SwarmPhase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// While draining: the end of the grace period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseSet {
    pub reason: String,
    /// Quality command that cannot run, if that is why; it waits until the pause ends or the
    /// configuration changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseLifted {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsLoaded {
    /// SHA-256 of the effective configuration, in hex.
    pub hash: String,
    /// Settings that decisions depend on.
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
    /// Milliseconds by which it went back.
    pub by_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineSlept {
    pub seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomAwaited {
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreesHeld {
    /// Why, and for how long.
    pub hold: WorktreesHold,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreesFreed {}

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
    /// Commit of the target now.
    pub to: Oid,
    /// Ideas that had landed and whose work the target no longer contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<IdeaId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetSettled {
    pub choice: TargetChoice,
    /// Commit of the target.
    pub to: Oid,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WarningRaised {
    pub key: String,
    /// What happened and why; for people.
    pub message: String,
    /// Commands to type in the repository's root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
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
    /// Error, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateRepaired {
    pub way: RepairWay,
    /// Lost events, if their numbers are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostEvents>,
    /// Directory in the state directory with the files from before the repair.
    pub copy: String,
    /// Lower bounds for the counters.
    pub floors: Counters,
    /// Ideas that have landed according to the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<FoundLanding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateRestored {
    /// How the state was restored.
    pub way: RepairWay,
    /// SHA-256 in the name of the file `restored-<sha256>.json`.
    pub sha256: String,
    /// Directory in the state directory with the files from before the repair.
    pub copy: String,
}

/// How damaged state was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RepairWay {
    /// The intact beginning of the log was kept.
    Cut,
    /// A snapshot and the intact events after it were kept.
    Snapshot,
    /// The state was rebuilt from other files.
    Rebuild,
}

impl RepairWay {
    /// Its name in commands and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Snapshot => "snapshot",
            Self::Rebuild => "rebuild",
        }
    }
}

/// A range of lost events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostEvents {
    /// First lost sequence number.
    pub from: u64,
    /// Last lost sequence number.
    pub to: u64,
}

/// A landing found in the git history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundLanding {
    /// The idea.
    pub idea: IdeaId,
    /// The merge commit.
    pub commit: Oid,
    /// Branch that contains it.
    pub target: String,
}
