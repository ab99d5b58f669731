//! Redirects: an agent goes on with another idea.

#![allow(missing_docs)] // the variants of `Event` say what each is, the fields what they are

use serde::{Deserialize, Serialize};

use crate::domain::effect::Saved;
use crate::domain::ids::{AgentId, IdeaId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentRedirected {
    pub agent: AgentId,
    pub to: IdeaId,
    /// In a worktree of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_worktree: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkSaved {
    pub agent: AgentId,
    pub saved: Saved,
    /// Whether something was uncommitted.
    pub committed: bool,
}
