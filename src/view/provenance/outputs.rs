//! The parts of a provenance record about what came of an iteration, and what it took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::{Text, TreeState};

/// What came of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceOutputs)]
pub struct Outputs {
    /// All messages of the agent, joined; neither its thoughts nor the output of its tools.
    pub response: Option<Text>,
    /// The worktree after the iteration.
    pub after: TreeState,
    /// The files that differ between both states of the worktree, by path; at most 2,000.
    pub artifacts: Vec<Artifact>,
    /// How many more files differ.
    pub artifacts_omitted: u64,
    /// The calls of tools, in order; at most 2,000.
    pub tool_calls: Vec<ToolCall>,
    /// How many more calls there were.
    pub tool_calls_omitted: u64,
    /// The last signal of the agent.
    pub signal: Option<Signal>,
    /// How the run ended, for people.
    pub end: String,
    /// The exit code of the program, if it exited by itself.
    pub exit_code: Option<i32>,
    /// The quality commands that judged the work, in order.
    pub gate: Vec<GateCommand>,
}

/// A file that an iteration changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceArtifact)]
pub struct Artifact {
    /// Its path, relative to the repository.
    pub path: String,
    /// What happened to it.
    pub operation: Operation,
    /// SHA-256 of its content, in hex; null if it was deleted or has more than 64 MiB.
    pub sha256: Option<String>,
    /// Its size in bytes; null if it was deleted.
    pub size: Option<u64>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceOperation)]
pub enum Operation {
    /// It is new.
    Created,
    /// It has another content or mode.
    Modified,
    /// It is gone.
    Deleted,
}

impl Operation {
    /// Its name in a record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceToolCall)]
pub struct ToolCall {
    /// The tool.
    pub tool: String,
    /// SHA-256 of its input as the adapter reads it: a shell's command, a file's path, else JSON.
    pub input_hash: String,
    /// SHA-256 of its output; null if there was none before the run ended.
    pub output_hash: Option<String>,
    /// Whether it went well.
    pub ok: Option<bool>,
}

/// A signal of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceSignal)]
pub struct Signal {
    /// Its word: `COMPLETE`, `RESOLVED`, `BLOCKED` or `NEEDS_HUMAN`.
    pub word: String,
    /// What the agent said with it.
    pub text: Option<String>,
}

/// A quality command that judged the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceGateCommand)]
pub struct GateCommand {
    /// The command.
    pub command: String,
    /// Its run.
    pub run: String,
    /// Whether it passed; null if it was cut off.
    pub ok: Option<bool>,
    /// Its exit code; null if it did not exit by itself.
    pub code: Option<i32>,
    /// How it failed, for people.
    pub how: Option<String>,
    /// Tests that passed, if the end of its output counts them.
    pub passed: Option<u64>,
    /// Tests that failed, likewise.
    pub failed: Option<u64>,
}

/// What an iteration took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceMetrics)]
pub struct Metrics {
    /// Its duration in milliseconds.
    pub duration_ms: i64,
    /// Its tokens.
    pub tokens: Option<TokenCounts>,
    /// Its cost in US dollars.
    pub usd: Option<f64>,
    /// Whether the cost comes from configured prices, not from the program.
    pub estimated: bool,
    /// Whether tokens and cost are lower bounds, because the run was cut off.
    pub partial: bool,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Iterations of the attempt up to this one.
    pub iterations: u32,
}

/// Token counts; the kinds do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceTokens)]
pub struct TokenCounts {
    /// Input that was not cached.
    pub input: u64,
    /// Input read from the cache.
    pub cached: u64,
    /// Input written to the cache.
    pub cache_written: u64,
    /// Output, thinking included.
    pub output: u64,
}
