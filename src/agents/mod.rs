//! Coding agents: prompts, recovery contexts, environments, and one adapter for each kind of
//! program. Called by `daemon`.
//!
//! Invariant: everything here maps data to data. It starts no process, writes no file and keeps no
//! state; callers persist what it returns before they act on it. The exceptions are the two hidden
//! programs (the demo's scripted agent, the bridge to the Agent Client Protocol), and
//! `conversation`, which copies a program's own file.

pub mod acp;
pub mod adapter;
pub mod checkout_variables;
pub mod claude;
pub mod codex;
pub mod command;
pub mod conversation;
pub mod demo;
pub mod environment;
pub mod gemini;
pub mod memory_server;
pub mod opencode;
pub mod prompt;
pub mod read_guard;
pub mod recovery_context;
pub mod stream;
pub mod test_status;
pub mod text;
pub mod transcript;

use std::collections::BTreeMap;

use adapter::Adapter;

pub use crate::config::Adapter as AdapterKind;

/// An agent profile as the configuration describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Name in the configuration.
    pub name: String,
    /// How swarm starts the program and reads its output.
    pub adapter: AdapterKind,
    /// Model to request; `None` means the program's own choice.
    pub model: Option<String>,
    /// Account whose limits it shares; `None` means that of its adapter.
    pub account: Option<String>,
    /// The program and its first arguments. May be empty if the adapter knows its program.
    pub command: Vec<String>,
    /// Further arguments, after those of the adapter.
    pub args: Vec<String>,
    /// Environment variables of this profile.
    pub env: BTreeMap<String, String>,
}

/// The adapter of a kind. A new adapter needs a file and a line here.
pub fn adapter(kind: AdapterKind) -> &'static dyn Adapter {
    match kind {
        AdapterKind::Command => &command::CommandAdapter,
        AdapterKind::Demo => &demo::DemoAdapter,
        AdapterKind::Claude => &claude::ClaudeAdapter,
        AdapterKind::Codex => &codex::CodexAdapter,
        AdapterKind::Gemini => &gemini::GeminiAdapter,
        AdapterKind::Opencode => &opencode::OpencodeAdapter,
        AdapterKind::Acp => &acp::AcpAdapter,
    }
}

#[cfg(test)]
mod tests;
