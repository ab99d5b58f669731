//! What swarm says to coding agents and how it starts them: prompts, recovery contexts, environments and adapters.
//!
//! Invariant: everything here is a function from data to data: it starts no process, writes no file and keeps no state. The hidden
//! programs are another matter (the demo's scripted agent, the bridge to agents that speak the Agent Client Protocol). What it returns is
//! written down by the caller before anything acts on it.

pub mod acp;
pub mod adapter;
pub mod claude;
pub mod codex;
pub mod command;
pub mod demo;
pub mod environment;
pub mod gemini;
pub mod opencode;
pub mod prompt;
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
    /// Its name in the configuration.
    pub name: String,
    /// How its program is started and read.
    pub adapter: AdapterKind,
    /// The model to ask for, where the adapter's program has a choice.
    pub model: Option<String>,
    /// Whose limits it shares, where that is not its adapter's own account.
    pub account: Option<String>,
    /// The program and its first arguments; of a program that its adapter knows it may be left out.
    pub command: Vec<String>,
    /// Further arguments.
    pub args: Vec<String>,
    /// Environment variables of its own.
    pub env: BTreeMap<String, String>,
}

/// The adapters there are, by their names in the configuration: a new one is a file and its line here.
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
