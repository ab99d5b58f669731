//! A record in the names of the AIWG execution snapshot schema (`execution-snapshot/v1`).
//!
//! Invariant: that schema knows no null, so what is not known is left out. What it has no name for
//! is left out too: the other format has all of it.

use serde_json::{Map, Value, json};

use super::outputs::{Artifact, ToolCall};
use super::record::{FileDigest, Record, Text};

/// A model whose name nobody said; the schema requires one.
const NO_MODEL: &str = "unknown";

/// The record in the other names.
pub fn aiwg(record: &Record) -> Value {
    object([
        ("snapshot_id", json!(record.snapshot_id)),
        ("workflow_id", json!(record.workflow_id)),
        ("version", json!(record.version)),
        ("captured_at", json!(record.captured_at)),
        ("config", config(record)),
        ("inputs", inputs(record)),
        ("outputs", outputs(record)),
        ("metrics", metrics(record)),
        (
            "replay_status",
            json!({
                "replayed": record.replay_status.replayed,
                "replay_count": record.replay_status.replay_count,
                "match_status": record.replay_status.match_status,
            }),
        ),
    ])
}

fn config(record: &Record) -> Value {
    let config = &record.config;
    object([
        (
            "model",
            object([
                ("id", json!(config.model.id.as_deref().unwrap_or(NO_MODEL))),
                ("provider", json!(config.model.provider)),
                ("version", json!(config.model.version)),
            ]),
        ),
        ("execution_mode", json!(config.execution_mode)),
        ("temperature", json!(config.temperature)),
        ("seed", json!(config.seed)),
        ("max_tokens", json!(config.max_tokens)),
        ("top_p", json!(config.top_p)),
        ("stop_sequences", json!(config.stop_sequences)),
        ("system_prompt_hash", json!(config.system_prompt_hash)),
        (
            "agent",
            object([
                ("name", json!(config.agent.name)),
                ("version", json!(config.agent.version)),
                ("tools", json!(config.agent.tools)),
                (
                    "rules_active",
                    config
                        .agent
                        .rules
                        .iter()
                        .map(|rule| json!(rule.path))
                        .collect(),
                ),
            ]),
        ),
    ])
}

fn inputs(record: &Record) -> Value {
    let inputs = &record.inputs;
    let files = inputs.context_files.iter().chain(&inputs.files_read);
    object([
        ("user_prompt", words(inputs.prompt.as_ref())),
        ("user_prompt_hash", hash(inputs.prompt.as_ref())),
        ("context_files", files.map(file).collect()),
        ("environment", json!(inputs.environment.values)),
    ])
}

fn outputs(record: &Record) -> Value {
    let outputs = &record.outputs;
    object([
        ("response", words(outputs.response.as_ref())),
        ("response_hash", hash(outputs.response.as_ref())),
        (
            "artifacts_created",
            outputs.artifacts.iter().map(artifact).collect(),
        ),
        ("tool_calls", outputs.tool_calls.iter().map(call).collect()),
    ])
}

fn metrics(record: &Record) -> Value {
    let metrics = &record.metrics;
    let read = |of: fn(u64, u64) -> u64| {
        let tokens = metrics.tokens?;
        Some(of(of(tokens.input, tokens.cached), tokens.cache_written))
    };
    object([
        ("duration_ms", json!(metrics.duration_ms)),
        ("tokens_input", json!(read(u64::saturating_add))),
        ("tokens_output", json!(metrics.tokens.map(|it| it.output))),
        ("tool_calls_count", json!(metrics.tool_calls)),
        ("iterations", json!(metrics.iterations)),
    ])
}

fn file(file: &FileDigest) -> Value {
    json!({ "path": file.path, "hash": file.sha256, "size_bytes": file.size })
}

fn artifact(artifact: &Artifact) -> Value {
    object([
        ("path", json!(artifact.path)),
        ("hash", json!(artifact.sha256)),
        ("operation", json!(artifact.operation)),
    ])
}

fn call(call: &ToolCall) -> Value {
    object([
        ("tool", json!(call.tool)),
        ("input_hash", json!(call.input_hash)),
        ("output_hash", json!(call.output_hash)),
    ])
}

fn words(text: Option<&Text>) -> Value {
    json!(text.and_then(|text| text.text.as_deref()))
}

fn hash(text: Option<&Text>) -> Value {
    json!(text.map(|text| &text.sha256))
}

/// An object without what is null.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let known = fields.into_iter().filter(|(_, value)| !value.is_null());
    let fields: Map<String, Value> = known
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    Value::Object(fields)
}
