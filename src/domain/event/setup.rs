//! Events about the setup of worktrees.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::effect::SetupTree;
use crate::domain::ids::RunId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetupStarted {
    pub tree: SetupTree,
    /// Index in the setup commands, from 0.
    pub index: usize,
    pub run: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetupPassed {
    pub tree: SetupTree,
    /// Index in the setup commands, from 0.
    pub index: usize,
    /// Whether it was the last one, so that the tree is ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
}
