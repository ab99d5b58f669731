//! Operations: requests that carry an id, so that one sent again is done once.
//!
//! Invariant: an operation counts as done from the fold of the event that it is about, so that a
//! torn log cannot contain the one without the other. Events of one decision have the same time, so
//! a later event never counts for an operation that was torn off. The last [`KEPT`] are known, each
//! for its sender alone.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Author;
use crate::domain::event::CommandTaken;
use crate::domain::time::Timestamp;

/// Operations that are remembered; the oldest goes first.
const KEPT: usize = 1_024;
/// Longest id, in bytes.
const MAX_BYTES: usize = 128;

/// Id of an operation, chosen by the client: 1 to 128 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OperationId(String);

/// The text is not a valid operation id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an operation id has 1 to {MAX_BYTES} visible ASCII characters")]
pub struct BadOperation;

impl OperationId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for OperationId {
    type Error = BadOperation;

    fn try_from(text: String) -> Result<Self, BadOperation> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > MAX_BYTES || !visible {
            return Err(BadOperation);
        }
        Ok(Self(text))
    }
}

impl FromStr for OperationId {
    type Err = BadOperation;

    fn from_str(text: &str) -> Result<Self, BadOperation> {
        text.to_owned().try_into()
    }
}

impl From<OperationId> for String {
    fn from(id: OperationId) -> Self {
        id.0
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// An operation that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Its id.
    pub op: OperationId,
    /// Who sent it.
    pub by: Author,
    /// Seq of its first event.
    pub seq: u64,
    /// The id or version that it made, if it made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// An operation whose event has not been seen yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Announced {
    taken: CommandTaken,
    at: Timestamp,
}

/// The operations that are remembered, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Operations {
    /// Announced by the last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    announced: Option<Announced>,
    done: VecDeque<Operation>,
}

impl Operations {
    /// Whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        self.announced.is_none() && self.done.is_empty()
    }

    /// The operation of this sender with this id, if it was done.
    pub fn find(&self, op: &OperationId, by: &Author) -> Option<&Operation> {
        let same = |done: &&Operation| done.op == *op && done.by == *by;
        self.done.iter().rev().find(same)
    }

    pub(in crate::domain) fn announce(&mut self, taken: &CommandTaken, at: Timestamp) {
        let taken = taken.clone();
        self.announced = Some(Announced { taken, at });
    }

    /// The next event: an operation announced for its kind, at the same time, is done.
    pub(in crate::domain) fn see(&mut self, kind: &str, seq: u64, at: Timestamp) {
        let of_this = |it: &Announced| it.taken.of == kind && it.at == at;
        let Some(Announced { taken, .. }) = self.announced.take().filter(of_this) else {
            return;
        };
        if self.done.len() >= KEPT {
            self.done.pop_front();
        }
        self.done.push_back(Operation {
            op: taken.op,
            by: taken.by,
            seq,
            answer: taken.answer,
        });
    }
}
