//! The setup that a tree still needs before it is used.
//!
//! Invariant: only [`evolve`](crate::domain::evolve) changes it; JSON names are part of snapshots.
//! A setup counts as done in `State::setups`, by the name of the worktree, once all its commands
//! have passed there.

use serde::{Deserialize, Serialize};

use super::is_zero;
use crate::domain::observation::RunEndKind;

/// Name under which `State::setups` has the merge worktree.
pub const VERIFY_TREE: &str = "verify";
/// Name under which `State::setups` has the worktree of controls.
pub const CONTROL_TREE: &str = "control";

/// A setup that must run in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetupDue {
    /// Digest of the commands and of the files that they depend on; empty if unknown, so that the
    /// setup runs again at the next use.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Index of the next setup command, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub next: usize,
    /// How often in a row that command has failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: u32,
}

impl SetupDue {
    /// A setup that has not begun.
    pub fn new(key: &str) -> Box<Self> {
        Box::new(Self {
            key: key.to_owned(),
            next: 0,
            tries: 0,
        })
    }

    /// How often in a row its command has failed, once a run of it has ended like this.
    #[must_use]
    pub fn tries_after(&self, how: &RunEndKind) -> u32 {
        failures_after(self.tries, how)
    }
}

/// Failures of a setup in a row, once another run of one of its commands has ended like this.
#[must_use]
pub fn failures_after(failures: u32, how: &RunEndKind) -> u32 {
    match how {
        RunEndKind::Exited { code: 0 } => 0,
        RunEndKind::Stopped | RunEndKind::LeaseExpired | RunEndKind::Lost => failures,
        RunEndKind::Exited { .. }
        | RunEndKind::Signalled { .. }
        | RunEndKind::TimedOut
        | RunEndKind::Idle
        | RunEndKind::OutputLimit
        | RunEndKind::NotStarted { .. } => failures + 1,
    }
}
