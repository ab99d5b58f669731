//! Calls of hooks.

#![allow(missing_docs)] // the variants of `Event` say what each is, the fields what they are

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, IdeaId, RunId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookOwed {
    pub hook: HookName,
    /// The kind of the event that it is about. When another comes next, the log was torn between
    /// the two, and no call is owed.
    pub of: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idea: Option<IdeaId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What is told: variables, without their `SWARM_`.
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
    /// The run that calls it.
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookCutOff {
    pub hook: HookName,
    pub about: u64,
    /// Its runner was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookFinished {
    pub hook: HookName,
    pub about: u64,
    pub how: String,
    /// Whether the hook did what it was there for.
    pub well: bool,
    /// Whether it holds its step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub veto: bool,
    /// Whether its program was not even started, so that it has written nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_run: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookTimedOut {
    pub hook: HookName,
    pub about: u64,
    /// Whether that holds its step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub veto: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookApproved {
    pub hook: HookName,
    /// What was looked at: git's object id of its content, or `gone`; `@`; the landings that
    /// brought it, with commas.
    pub content: String,
}
