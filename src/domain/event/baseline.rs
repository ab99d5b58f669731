//! Events about the check of the untouched target, before work begins and where a failed check is
//! in doubt.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::effect::TargetTree;
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::state::baseline::Doubt;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineReady {
    /// Commit of the target.
    pub commit: Oid,
    /// Whether the directory still holds the ignored files of its previous use, so that a setup
    /// recorded for its name is still valid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm: bool,
    /// Key of the setup that must run in it before it is used; absent if it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    #[serde(default, skip_serializing_if = "TargetTree::is_verify")]
    pub tree: TargetTree,
    /// Digest of what a probe of the checks depends on; absent if they are not probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineStarted {
    /// Index in the quality commands, from 0.
    pub index: usize,
    pub run: RunId,
    /// The command; absent for the probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether it is the probe of all quality commands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselinePassed {
    /// Commit of the target.
    pub commit: Oid,
    /// Index in the quality commands, from 0.
    pub index: usize,
    /// Whether it was the last one, so that work may begin.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineFailed {
    /// Commit of the target; absent if it could not be checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// Quality command that failed; absent if the target could not be checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How it failed, for people.
    pub how: String,
    /// End of its output, as one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Run with all of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When swarm checks again by itself.
    pub not_before: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineCleared {
    /// Whether the quality commands are probed again, because somebody may have fixed what raised
    /// an alarm.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChecksProbed {
    /// Digest of what the probe depends on: commands, setup, manifests and version of swarm; empty
    /// if no tree could be checked out.
    pub digest: String,
    /// Commit of the target that was probed; absent if it could not be checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    pub found: Findings,
}

/// What a probe of the quality commands found out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// Source files that were replaced by garbage; without any, nothing was probed.
    pub source_files: usize,
    /// Why the checks cannot be trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<ProbeAlarm>,
    /// What else people should know, such as why there is no verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Findings {
    /// Nothing was found out, for this reason.
    pub fn no_verdict(why: String) -> Self {
        Self {
            notes: vec![why],
            ..Self::default()
        }
    }

    /// Whether nothing was found out, so that another probe may tell more.
    pub fn is_open(&self) -> bool {
        self.source_files == 0 && self.alarms.is_empty()
    }
}

/// Why a check cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeAlarm {
    /// The quality command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What happened and why, for people.
    pub message: String,
    /// What to type about it.
    pub remedies: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateDoubted {
    pub agent: AgentId,
    pub doubt: Doubt,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateExcused {
    pub agent: AgentId,
    pub command: String,
    pub run: RunId,
    /// Whether another quality command that ran beside it used the same port, file or database: it
    /// runs again alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Port of its worktree that another program holds: it runs again with other ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyDoubted {
    pub id: IdeaId,
    pub doubt: Doubt,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineDoubted {}
