//! Events about hook calls.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, IdeaId, RunId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookOwed {
    pub hook: HookName,
    /// Kind of the event that it is about. If another kind follows, the log was torn in between,
    /// and no call is owed.
    pub of: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idea: Option<IdeaId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Variables of the call, without the prefix `SWARM_`.
    pub facts: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookAsked {
    pub hook: HookName,
    pub id: IdeaId,
    pub agent: AgentId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookStarted {
    pub hook: HookName,
    pub about: u64,
    /// Run that makes the call.
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookCutOff {
    pub hook: HookName,
    pub about: u64,
    /// Whether its runner was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookFinished {
    pub hook: HookName,
    pub about: u64,
    pub how: String,
    /// Whether the hook succeeded.
    pub well: bool,
    /// Whether it holds the step it guards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub veto: bool,
    /// Whether its program was not started, so that there is no output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_run: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookTimedOut {
    pub hook: HookName,
    pub about: u64,
    /// Whether this holds the step it guards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub veto: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookApproved {
    pub hook: HookName,
    /// What was approved: the git object id of its content, or `gone`; `@`; the landings that
    /// changed it, separated by commas.
    pub content: String,
}
