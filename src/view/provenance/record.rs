//! The content of a provenance record, and its JSON Schema.
//!
//! Invariant: every key is in every record, so that nothing is missing by mistake: what is not
//! known is null and named in `unknown`. Two records of the same run have the same bytes. The
//! schema comes from these types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::list::MatchStatus;
use super::outputs::{Metrics, Outputs};
use crate::domain::time::Timestamp;

/// Version of the format that this program writes.
pub const VERSION: &str = "1.0";
/// Name of the schema.
const SCHEMA_ID: &str = "urn:swarm:provenance-record:1.0";

/// What an iteration was given, what it did and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceRecord)]
pub struct Record {
    /// A UUID made from the run, its start and its prompt.
    #[schemars(extend("format" = "uuid"))]
    pub snapshot_id: String,
    /// Version of this format.
    #[schemars(extend("const" = VERSION))]
    pub version: String,
    /// When the iteration ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    #[schema(value_type = String, format = DateTime)]
    pub captured_at: Timestamp,
    /// When it started.
    #[schemars(with = "String", extend("format" = "date-time"))]
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// The idea.
    pub workflow_id: String,
    /// The agent.
    pub agent: String,
    /// Number of the attempt at the idea, from 1.
    pub attempt: u32,
    /// Number of the iteration in the attempt, from 1.
    pub iteration: u32,
    /// The run.
    pub run: String,
    /// What the iteration was for.
    pub task: Task,
    /// How the agent was set up.
    pub config: RunConfig,
    /// What the agent was given.
    pub inputs: Inputs,
    /// What came of it.
    pub outputs: Outputs,
    /// What it took.
    pub metrics: Metrics,
    /// What replays found when the record was written: nothing yet.
    pub replay_status: ReplayStatus,
    /// Names of the parts that are null because swarm does not know them, such as `config.seed`.
    pub unknown: Vec<String>,
}

/// What an iteration was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceTask)]
pub enum Task {
    /// To work on the idea.
    Work,
    /// To resolve a conflict with the target branch.
    Resolve,
}

/// How the agent was set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceConfig)]
pub struct RunConfig {
    /// The model.
    pub model: Model,
    /// How far the run can be repeated.
    pub execution_mode: ExecutionMode,
    /// Sampling temperature.
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// Random seed.
    pub seed: Option<i64>,
    /// Most tokens of an answer.
    pub max_tokens: Option<u64>,
    /// Share of the probability that is sampled.
    pub top_p: Option<f64>,
    /// Texts that end an answer.
    pub stop_sequences: Option<Vec<String>>,
    /// SHA-256 of the instructions that do not depend on the idea: swarm's own words, the quality
    /// commands, the shared rules, and the profile's prompt and rules.
    pub system_prompt_hash: Option<String>,
    /// The agent's program.
    pub agent: Program,
    /// SHA-256 of the effective configuration.
    pub config_hash: Option<String>,
}

/// How far a run can be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceExecutionMode)]
pub enum ExecutionMode {
    /// Everything is logged; the model may answer differently.
    Logged,
}

/// The model of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceModel)]
pub struct Model {
    /// The model that was used most; if the program does not say, the one that was asked for.
    pub id: Option<String>,
    /// The model that the profile asks for; null means the program's own choice.
    pub asked: Option<String>,
    /// The models that the program says it used, by name.
    pub used: Vec<String>,
    /// Who makes the model, as far as its name says.
    pub provider: Option<String>,
    /// The date at the end of its name.
    pub version: Option<String>,
}

/// The program of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceAgent)]
pub struct Program {
    /// The profile.
    pub name: String,
    /// The adapter that parses the program's output.
    pub adapter: Option<String>,
    /// The program's version.
    pub version: Option<String>,
    /// The tools that it called, by name.
    pub tools: Vec<String>,
    /// The rules in its prompt.
    pub rules: Vec<FileDigest>,
}

/// A file and its content's digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceFile)]
pub struct FileDigest {
    /// Its path, relative to the repository.
    pub path: String,
    /// SHA-256 of its content, in hex.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
}

/// What the agent was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceInputs)]
pub struct Inputs {
    /// The prompt as it was sent.
    pub prompt: Option<Text>,
    /// The files whose content went into the prompt.
    pub context_files: Vec<FileDigest>,
    /// The files that the agent read by itself.
    pub files_read: Vec<FileDigest>,
    /// What the prompt shows of the memory that agents share.
    pub memory: Vec<MemoryItem>,
    /// The conversation that the run belongs to.
    pub conversation: Option<Conversation>,
    /// The worktree before the iteration.
    pub before: TreeState,
    /// The environment of the program.
    pub environment: Environment,
}

/// A text, or only its digest if it is too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceText)]
pub struct Text {
    /// The text, with `[redacted:RULE]` in place of each secret; null if it has more than 256 KiB.
    pub text: Option<String>,
    /// SHA-256 of the whole text before anything was replaced, in hex.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
    /// How many secrets were replaced in `text`.
    pub redacted: u64,
}

/// A part of the memory that agents share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceMemoryItem)]
pub struct MemoryItem {
    /// Id of a learning, or key of a fact.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Version of the fact; 1 for a learning.
    pub version: u64,
}

/// A conversation between an agent's program and its model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceConversation)]
pub struct Conversation {
    /// Its id.
    pub id: Option<String>,
    /// Whether the run resumed it; then the prompt says only what is new.
    pub resumed: bool,
    /// SHA-256 of the prompt that would say everything, if it was resumed.
    pub sha256: Option<String>,
    /// The size of that prompt in bytes.
    pub size: Option<u64>,
}

/// The state of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceTree)]
pub struct TreeState {
    /// The tip of its branch.
    pub commit: Option<String>,
    /// Its files with uncommitted changes: a commit if there are none, else a tree.
    pub tree: Option<String>,
}

/// The environment of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceEnvironment)]
pub struct Environment {
    /// The names of all variables.
    pub names: Vec<String>,
    /// The values of those that can be no secret.
    pub values: BTreeMap<String, String>,
}

/// What replays of an iteration found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProvenanceReplayStatus)]
pub struct ReplayStatus {
    /// Whether it was ever replayed.
    pub replayed: bool,
    /// How often.
    pub replay_count: u32,
    /// The last verdict.
    pub match_status: MatchStatus,
}

impl ReplayStatus {
    /// Never replayed.
    pub const fn never() -> Self {
        Self {
            replayed: false,
            replay_count: 0,
            match_status: MatchStatus::NotReplayed,
        }
    }
}

/// The schema of a record.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::default()
        .into_generator()
        .into_root_schema_for::<Record>()
        .to_value();
    schema["$id"] = json!(SCHEMA_ID);
    schema["title"] = json!("swarm provenance record");
    require_all(&mut schema);
    join_lines(&mut schema);
    schema
}

/// Requires every property: what is not known is null.
fn require_all(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(require_all);
            let properties = object.get("properties").and_then(Value::as_object);
            if let Some(names) = properties.map(|all| all.keys().cloned().collect::<Vec<_>>()) {
                object.insert("required".to_owned(), names.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(require_all),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Joins the lines of a description. A doc comment wraps, but readers see each line break.
fn join_lines(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            object.values_mut().for_each(join_lines);
        }
        Value::Array(items) => items.iter_mut().for_each(join_lines),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
