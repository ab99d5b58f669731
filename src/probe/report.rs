//! The result of a probe, as `--json` prints it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::classes::Class;
use super::verdict::{Dependence, Sight};

/// What was found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Number of tracked files in each class.
    pub classes: BTreeMap<Class, usize>,
    /// Number of source files that were replaced.
    pub source_files: usize,
    /// Each quality command, in order; none if nothing could be found out.
    pub commands: Vec<CommandReport>,
    /// What makes a green check worthless.
    pub alarms: Vec<Notice>,
    /// What else a person should know.
    pub notes: Vec<Notice>,
}

/// What was found out about one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandReport {
    /// The command.
    pub command: String,
    /// Whether it notices garbage in the tree.
    pub sight: Sight,
    /// What it needs of the checkout.
    pub checkout: Dependence,
    /// Duration of its run on the unchanged tree, in milliseconds.
    pub millis: u64,
    /// Why something is unknown.
    pub why: Option<String>,
    /// Files of the checkout that its output named when the checkout was hidden or replaced.
    pub paths: Vec<String>,
    /// Whether a person accepted that it is blind.
    pub accepted: bool,
}

/// An alarm or a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The command that it is about, if it is about one.
    pub command: Option<String>,
    /// What happened and why.
    pub message: String,
    /// What to do, each `words: command`.
    pub remedies: Vec<String>,
}
