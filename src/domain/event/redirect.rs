//! Events about redirects: an agent continues with another idea.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::effect::Saved;
use crate::domain::ids::{AgentId, IdeaId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentRedirected {
    pub agent: AgentId,
    pub to: IdeaId,
    /// Whether the other idea gets a new worktree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_worktree: bool,
    /// Number of the redirect that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkSaved {
    pub agent: AgentId,
    pub saved: Saved,
    /// Whether there was uncommitted work.
    pub committed: bool,
}
