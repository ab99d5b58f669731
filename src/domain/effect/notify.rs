//! The effect that tells the webhook.

#![allow(missing_docs)] // the variants of `Effect` describe the structs, field names most fields

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notify {
    /// Sequence number of the event that the notice is about; the state has its text.
    pub about: u64,
}
