//! Events about ideas, from adding to landing.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::ids::{AgentId, IdeaId, Oid, ProfileName};
use crate::domain::operation::{IdeaEdit, NewIdea};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaAdded {
    pub id: IdeaId,
    pub idea: NewIdea,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaEdited {
    pub id: IdeaId,
    pub edit: IdeaEdit,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaRetried {
    pub id: IdeaId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaCancelled {
    pub id: IdeaId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaAssigned {
    pub id: IdeaId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaHeld {
    pub id: IdeaId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaUnheld {
    pub id: IdeaId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaClaimed {
    pub id: IdeaId,
    pub agent: AgentId,
    pub attempt: u32,
    pub profile: ProfileName,
    pub branch: String,
    pub worktree: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeaLanded {
    pub id: IdeaId,
    pub commit: Oid,
    /// Whether its tree passed the quality commands, so that the target need not be checked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checked: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LandingFound {
    pub id: IdeaId,
    /// The commit with which all of its work is on the target.
    pub commit: Oid,
    /// The commit before the first one of its work; without it, `commit` is a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Oid>,
}
