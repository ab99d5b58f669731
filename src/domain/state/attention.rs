//! What people were told, and what the webhook must still be told.
//!
//! Invariant: only [`evolve`](crate::domain::evolve) changes it. It stays empty until somebody is
//! to be told: the hook `on-needs-you` exists or `notify.webhook` is configured.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::is_zero;
use crate::domain::attention::{NeedKey, NoticeKind};
use crate::domain::ids::IdeaId;
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

/// What people were told, and what the webhook must still be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Attention {
    /// Needs that people were told of and that are not settled.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub told: BTreeSet<NeedKey>,
    /// The night in progress: work that began and has not come to rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub night: Option<Box<Night>>,
    /// Notices for the webhook, oldest first; one is sent at a time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outgoing: Vec<Notice>,
}

/// What happened since work began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Night {
    /// When it began.
    pub since: Timestamp,
    /// Ideas that landed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub landed: BTreeSet<IdeaId>,
    /// Ideas of which an attempt ended badly.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub bad: BTreeSet<IdeaId>,
    /// Usage of the runs that ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub spent: Spent,
}

/// Something that people are told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// Sequence number of its event, by which receivers recognise a repetition.
    pub seq: u64,
    /// Time of its event.
    pub at: Timestamp,
    /// Kind of the thing.
    pub kind: NoticeKind,
    /// The idea that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idea: Option<IdeaId>,
    /// What happened and why.
    pub message: String,
    /// The commands to type.
    pub commands: Vec<String>,
    /// Deliveries that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: u32,
    /// Must not be sent before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}
