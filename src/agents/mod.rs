//! What swarm says to coding agents and how it starts them: prompts, recovery contexts, environments and adapters.
//!
//! Invariant: everything here is a function from data to data (the demo's scripted agent aside): it starts no process,
//! writes no file and keeps no state. What it returns is written down by the caller before anything acts on it.

pub mod adapter;
pub mod command;
pub mod demo;
pub mod environment;
pub mod prompt;
pub mod recovery_context;
pub mod test_status;
pub mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use adapter::Adapter;

/// An agent profile as the configuration describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name in the configuration.
    pub name: String,
    /// How its program is started and read.
    pub adapter: AdapterKind,
    /// The model to ask for, where the adapter's program has a choice.
    pub model: Option<String>,
    /// The program and its first arguments (adapter `command`).
    pub command: Vec<String>,
    /// Further arguments.
    pub args: Vec<String>,
    /// Environment variables of its own.
    pub env: BTreeMap<String, String>,
}

/// The adapters there are, by their names in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AdapterKind {
    /// Any program that reads the prompt on standard input and writes plain text.
    Command,
    /// The scripted agent of `swarm demo`, which is this very program.
    Demo,
}

impl AdapterKind {
    /// What starts and reads the programs of this kind.
    pub fn adapter(self) -> &'static dyn Adapter {
        match self {
            Self::Command => &command::CommandAdapter,
            Self::Demo => &demo::DemoAdapter,
        }
    }
}
