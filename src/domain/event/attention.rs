//! Events about what people are told.

#![allow(missing_docs)] // the variants of `Event` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

use crate::domain::attention::{NeedKey, NoticeKind};
use crate::domain::ids::IdeaId;
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NeedArose {
    /// Identity of the thing: it is not announced again before it is settled.
    pub key: NeedKey,
    pub kind: NoticeKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idea: Option<IdeaId>,
    pub message: String,
    /// The commands to type.
    pub commands: Vec<String>,
    /// Whether the webhook is told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub webhook: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NeedSettled {
    pub key: NeedKey,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NightBegan {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NightEnded {
    /// Ideas that landed.
    pub landed: usize,
    /// Ideas that ended badly and were not retried.
    pub failed: usize,
    /// Ideas that are neither done nor ended badly.
    pub waiting: usize,
    pub spent: Spent,
    pub message: String,
    /// The commands to type.
    pub commands: Vec<String>,
    /// Whether the webhook is told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub webhook: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticeDelivered {
    /// Sequence number of the event that the notice is about.
    pub about: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticeFailed {
    /// Sequence number of the event that the notice is about.
    pub about: u64,
    pub why: String,
    /// When it is sent again; without it, it is not sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_at: Option<Timestamp>,
}
