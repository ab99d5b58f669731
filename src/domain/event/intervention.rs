//! Events about what people do to work under way: redirects, and what they take back.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::effect::Saved;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::state::undo::Action;

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoRecorded {
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelUndone {
    pub id: IdeaId,
    /// Number of the action that is taken back.
    pub undoes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RedirectUndone {
    pub agent: AgentId,
    /// Number of the action that is taken back.
    pub undoes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkRescued {
    /// Name of the worktree that was released.
    pub worktree: String,
    /// The work as commits; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Saved>,
}
