//! Events about failed checks whose cause is not known yet.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::state::blame::Doubt;

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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyDoubted {
    pub id: IdeaId,
    pub doubt: Doubt,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineDoubted {}
