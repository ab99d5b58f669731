//! The effect that judges a replay.

use serde::{Deserialize, Serialize};

use crate::domain::ids::RunId;

/// Data of [`Effect::JudgeReplay`](super::Effect::JudgeReplay).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeReplay {
    /// Run of the recorded iteration.
    pub of: RunId,
    /// SHA-256 of the record's file, in hex.
    pub sha256: String,
    /// Run of the replay.
    pub run: RunId,
    /// Why there is nothing to compare, for people; `None` if there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
