//! Events about actions that a person takes back.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::effect::Saved;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::state::undo::Action;

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
