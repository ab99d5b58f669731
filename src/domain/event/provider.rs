//! What agents share and use: accounts, conversations, tokens and money.

#![allow(missing_docs)] // the variants of `Event` say what each is, the fields what they are

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
    /// What was to blame.
    pub excuse: Excuse,
    /// Where the attempt stands then; none, in older logs: an `attemptMoved` before it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<AttemptPhase>,
    /// Not to go on before.
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
    /// The run's own part.
    pub bill: Bill,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountHeld {
    pub account: String,
    /// Why and how long.
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
pub struct BudgetReached {
    pub day: String,
    #[serde(default, skip_serializing_if = "DayLimits::is_none")]
    pub limits: DayLimits,
}
