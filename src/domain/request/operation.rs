//! Operations: requests that carry an id, so that one sent again is done once.
//!
//! Invariant: an operation counts as done from the fold of the event that it is about, so that a
//! torn log cannot contain the one without the other. The last [`KEPT`] are known.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::event::CommandTaken;

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
    /// Seq of its first event.
    pub seq: u64,
    /// The id or version that it made, if it made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// The operations that are remembered, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Operations {
    /// Announced by the last event; done if the next one is of the announced kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    announced: Option<CommandTaken>,
    done: VecDeque<Operation>,
}

impl Operations {
    /// Whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        self.announced.is_none() && self.done.is_empty()
    }

    /// The operation with this id, if it was done.
    pub fn find(&self, op: &OperationId) -> Option<&Operation> {
        self.done.iter().rev().find(|done| done.op == *op)
    }

    pub(in crate::domain) fn announce(&mut self, taken: &CommandTaken) {
        self.announced = Some(taken.clone());
    }

    /// The next event: an operation announced for its kind is done.
    pub(in crate::domain) fn see(&mut self, kind: &str, seq: u64) {
        let Some(taken) = self.announced.take().filter(|taken| taken.of == kind) else {
            return;
        };
        if self.done.len() >= KEPT {
            self.done.pop_front();
        }
        self.done.push_back(Operation {
            op: taken.op,
            seq,
            answer: taken.answer,
        });
    }
}
