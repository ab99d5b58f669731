//! Events about what agents share and use: accounts, conversations, tokens and money.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, ProfileName, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::session::SessionId;
use crate::domain::settings::DayLimits;
use crate::domain::state::provider::{Excuse, Hold};
use crate::domain::time::Timestamp;
use crate::domain::usage::Bill;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationExcused {
    pub agent: AgentId,
    /// What was at fault.
    pub excuse: Excuse,
    /// New phase of the attempt.
    pub phase: AttemptPhase,
    /// Must not continue before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBegan {
    pub agent: AgentId,
    pub run: RunId,
    pub profile: ProfileName,
    pub session: SessionId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionDropped {
    pub agent: AgentId,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageSeen {
    pub agent: AgentId,
    pub run: RunId,
    /// Usage of this run alone.
    pub bill: Bill,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderAwaited {
    pub agent: AgentId,
    pub run: RunId,
    /// Why the program waits, in its own words; `None`: the provider answers again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountHeld {
    pub account: String,
    /// Why, and for how long.
    pub hold: Hold,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountTried {
    pub account: String,
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountFreed {
    pub account: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileHeld {
    pub profile: ProfileName,
    /// Why, and for how long.
    pub hold: Hold,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileTried {
    pub profile: ProfileName,
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileFreed {
    pub profile: ProfileName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetReached {
    pub day: String,
    #[serde(default, skip_serializing_if = "DayLimits::is_none")]
    pub limits: DayLimits,
}
