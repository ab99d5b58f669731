//! What an attempt was shown of the memory, and has written into it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::ids::RunId;
use crate::domain::time::Timestamp;

/// Most items that one event says an iteration read, so that the event stays small.
pub const MAX_READ: usize = 256;

/// An attempt's use of the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryUse {
    /// What its conversation was shown, with the versions: ids of learnings and keys of facts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub shown: BTreeMap<String, u64>,
    /// When it was last shown something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_at: Option<Timestamp>,
    /// Run whose prompt showed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_by: Option<RunId>,
    /// Last run of which the log says what it read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_by: Option<RunId>,
    /// Whether its prompts show nothing, to measure what that is worth.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// What the current run has written.
    #[serde(skip_serializing_if = "is_zero")]
    pub writes: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_zero(number: &u32) -> bool {
    *number == 0
}
