//! Makes the provenance record of an iteration that is over, from its run's directory, from git and
//! from what the state knows of it.
//!
//! Invariant: only reads, and made twice it is the same record. Agents can write to the directory,
//! so only regular files are opened. What cannot be read for good is null and named in `unknown`;
//! what another try may read is an error.

use std::fs;
use std::io;
use std::path::Path;

use uuid::Uuid;

use super::inputs::RunInputs;
use super::response::{self, Response, text};
use super::{artifacts, gate, reads};
use crate::agents::AdapterKind;
use crate::agents::adapter::StartedAs;
use crate::daemon::Paths;
use crate::daemon::runs::launch_record::{
    CONVERSATION, PROMPT, PROMPT_MAX, is_transient, reader_of, started_as, text as read_text,
};
use crate::daemon::runs::shown_memory;
use crate::domain::ids::RunId;
use crate::domain::reads::Collector;
use crate::domain::state::records::OwedRecord;
use crate::domain::state::{Said, Task};
use crate::domain::usage::{MicroUsd, undated};
use crate::git::{GitError, Oid, Repo};
use crate::plain_file;
use crate::process::RunDir;
use crate::view::provenance::outputs::{
    Artifact, GateCommand, Metrics, Outputs, Signal, TokenCounts,
};
use crate::view::provenance::record::{
    self, Conversation, ExecutionMode, FileDigest, Inputs, MemoryItem, Model, Program, Record,
    ReplayStatus, RunConfig, Text, TreeState, VERSION,
};

/// What no program says of its sampling.
const NEVER_KNOWN: [&str; 6] = [
    "config.temperature",
    "config.seed",
    "config.maxTokens",
    "config.topP",
    "config.stopSequences",
    "config.agent.version",
];

/// Why there is no record now.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The run's directory is gone, so there will never be one.
    #[error("the directory of its run is gone")]
    Gone,
    /// A file cannot be read now; another try may read it.
    #[error("{what} cannot be read: {error}")]
    Io {
        /// The part of the record.
        what: &'static str,
        /// The system's reason.
        error: io::Error,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl RecordError {
    /// Whether no later try can succeed.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Gone | Self::Git(GitError::CommitMissing { .. }))
    }
}

/// Makes the record of an iteration.
///
/// # Errors
/// [`RecordError::Gone`] is final; after the others, try again later.
pub fn build(
    paths: &Paths,
    repo: &Repo,
    run: &RunId,
    owed: &OwedRecord,
) -> Result<Record, RecordError> {
    let dir = directory(paths, run)?;
    let mut parts = Parts::default();
    let found = parts.read(repo, &dir, owed)?;
    let after = TreeState {
        commit: owed.end.head.as_ref().map(ToString::to_string),
        tree: parts.known(
            "outputs.after.tree",
            owed.end.tree.clone().filter(|it| oid(it).is_some()),
        ),
    };
    let before = found.before();
    parts.known("inputs.before.tree", before.tree.clone());
    let (changed, omitted) = parts.artifacts(repo, &before, &after)?;
    let prompt_hash = found.prompt.as_ref().map_or("", |it| it.sha256.as_str());
    let name = format!("urn:swarm:run:{run}:{}:{prompt_hash}", owed.started_at);
    let config = found.config(owed, &mut parts);
    let metrics = metrics(owed, found.response.as_ref());
    let gate = gate::commands(&paths.runs, &owed.gate);
    let (inputs, response) = found.inputs(owed, before);
    let outputs = outputs(owed, response, after, (changed, omitted), gate);
    Ok(Record {
        snapshot_id: Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string(),
        version: VERSION.to_owned(),
        captured_at: owed.ended_at,
        started_at: owed.started_at,
        workflow_id: owed.idea.to_string(),
        agent: owed.agent.to_string(),
        attempt: owed.attempt,
        iteration: owed.iteration,
        run: run.to_string(),
        task: match owed.task {
            Task::Work => record::Task::Work,
            Task::Resolve { .. } => record::Task::Resolve,
        },
        config,
        inputs,
        outputs,
        metrics,
        replay_status: ReplayStatus::never(),
        unknown: parts.unknown,
    })
}

/// The run's directory, if it is still there.
fn directory(paths: &Paths, run: &RunId) -> Result<RunDir, RecordError> {
    match fs::symlink_metadata(paths.runs.join(run.as_str())) {
        Err(error) if is_transient(&error) => Err(RecordError::Io {
            what: "the directory of its run",
            error,
        }),
        Err(_) => Err(RecordError::Gone),
        Ok(_) => RunDir::open(&paths.runs, run.as_str()).map_err(|_| RecordError::Gone),
    }
}

/// Reads the parts of a record, and notes those that are unknown.
struct Parts {
    unknown: Vec<String>,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            unknown: NEVER_KNOWN.map(str::to_owned).to_vec(),
        }
    }
}

/// What a run's directory says.
struct Found {
    started: Option<StartedAs>,
    inputs: Option<RunInputs>,
    prompt: Option<Text>,
    whole_prompt: Option<Text>,
    memory: Vec<MemoryItem>,
    response: Option<Response>,
    files_read: Vec<FileDigest>,
}

impl Parts {
    /// The part, or `None` if nobody will ever know it.
    fn part<T>(
        &mut self,
        name: &'static str,
        read: io::Result<T>,
    ) -> Result<Option<T>, RecordError> {
        match read {
            Ok(part) => Ok(Some(part)),
            // Not as it was written.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(self.known(name, None))
            }
            Err(error) if is_transient(&error) => Err(RecordError::Io { what: name, error }),
            Err(_) => Ok(self.known(name, None)),
        }
    }

    /// Passes a part on, and notes its name if it is unknown.
    fn known<T>(&mut self, name: &str, part: Option<T>) -> Option<T> {
        if part.is_none() {
            self.unknown.push(name.to_owned());
        }
        part
    }

    fn read(&mut self, repo: &Repo, dir: &RunDir, owed: &OwedRecord) -> Result<Found, RecordError> {
        let path = dir.path();
        let started = match started_as(path) {
            Err(error) if is_transient(&error) => {
                return Err(RecordError::Io {
                    what: "config.agent.adapter",
                    error,
                });
            }
            started => started.ok().or_else(|| logged_adapter(owed)),
        };
        let started = self.known("config.agent.adapter", started);
        let prompt = read_text(&path.join(PROMPT), PROMPT_MAX).map(|it| text(it.as_bytes()));
        let whole = match read_text(&path.join(CONVERSATION), PROMPT_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            whole => self.part("inputs.conversation.sha256", whole)?,
        };
        let memory = self.part("inputs.memory", shown_memory::read(path))?;
        let memory = memory.unwrap_or_default().into_iter();
        let inputs = self.part("inputs", RunInputs::read(path))?;
        let reads = reads::collector(repo, inputs.as_ref());
        let response = self.response(dir, started.as_ref(), owed, reads)?;
        Ok(Found {
            files_read: files_read(repo, inputs.as_ref(), response.as_ref())?,
            inputs,
            prompt: self.part("inputs.prompt", prompt)?,
            whole_prompt: whole.map(|it| text(it.as_bytes())),
            memory: memory
                .map(|it| MemoryItem {
                    reference: it.reference,
                    version: it.version,
                })
                .collect(),
            response,
            started,
        })
    }

    fn response(
        &mut self,
        dir: &RunDir,
        started: Option<&StartedAs>,
        owed: &OwedRecord,
        reads: Collector<'_>,
    ) -> Result<Option<Response>, RecordError> {
        const NAME: &str = "outputs.response";
        let Some(started) = started else {
            return Ok(self.known(NAME, None));
        };
        let read = || {
            let output = plain_file::open(&dir.stdout())?;
            let length = match owed.end.stdout_bytes {
                0 => output.metadata()?.len(),
                length => length,
            };
            response::read(output, length, reader_of(started), reads)
        };
        self.part(NAME, read())
    }

    /// The files that the iteration changed, and how many more there are.
    fn artifacts(
        &mut self,
        repo: &Repo,
        before: &TreeState,
        after: &TreeState,
    ) -> Result<(Vec<Artifact>, u64), RecordError> {
        let id = |state: &TreeState| oid(state.tree.as_deref()?);
        if let (Some(before), Some(after)) = (id(before), id(after))
            && repo.has_object(before)?
            && repo.has_object(after)?
        {
            return Ok(artifacts::between(repo, before, after)?);
        }
        self.known::<()>("outputs.artifacts", None);
        Ok((Vec::new(), 0))
    }
}

/// The object that a record or a run's file names; `None` if it is no whole id. Agents can write to
/// those files.
pub(super) fn oid(text: &str) -> Option<Oid> {
    // Git would take a shorter one for the beginning of an id.
    let is_whole = matches!(text.len(), 40 | 64);
    is_whole.then(|| Oid::from_str(text).ok()).flatten()
}

/// How the run was started, by the log alone.
fn logged_adapter(owed: &OwedRecord) -> Option<StartedAs> {
    let name = owed.adapter.as_deref()?;
    let adapter: AdapterKind = serde_json::from_value(name.into()).ok()?;
    Some(StartedAs::new(adapter))
}

impl Found {
    fn before(&self) -> TreeState {
        let inputs = self.inputs.as_ref();
        inputs.and_then(|it| it.before.clone()).unwrap_or_default()
    }

    fn config(&self, owed: &OwedRecord, parts: &mut Parts) -> RunConfig {
        let inputs = self.inputs.as_ref();
        let response = self.response.as_ref();
        let given = inputs.map(|it| &it.given);
        let asked = self.started.as_ref().and_then(|it| it.model.clone());
        let mut used = response.map_or_else(Default::default, |it| it.models.clone());
        let main = owed.end.usage.as_ref().and_then(|it| it.model.clone());
        used.extend(main.clone());
        let id = main
            .or_else(|| used.last().cloned())
            .or_else(|| asked.clone());
        let id = parts.known("config.model.id", id);
        RunConfig {
            model: Model {
                provider: id.as_deref().and_then(maker),
                version: id.as_deref().and_then(version),
                id,
                asked,
                used: used.into_iter().collect(),
            },
            execution_mode: ExecutionMode::Logged,
            temperature: None,
            seed: None,
            max_tokens: None,
            top_p: None,
            stop_sequences: None,
            system_prompt_hash: given.map(|it| it.system_prompt_hash.clone()),
            agent: Program {
                name: owed.profile.to_string(),
                adapter: self.started.as_ref().map(|it| it.adapter.name().to_owned()),
                version: None,
                tools: response.map_or_else(Vec::new, |it| it.tools.clone()),
                rules: given.map_or_else(Vec::new, |it| {
                    let files = it.context_files.iter();
                    files.filter(|file| is_rule(&file.path)).cloned().collect()
                }),
            },
            config_hash: inputs.map(|it| it.config_hash.clone()),
        }
    }

    fn inputs(self, owed: &OwedRecord, before: TreeState) -> (Inputs, Option<Response>) {
        let started = self.started.as_ref();
        let named = started.and_then(|it| it.session.clone());
        let session = owed.session.clone().or(owed.end.session.clone()).or(named);
        let resumed = started.is_some_and(|it| it.resumed);
        let conversation = (session.is_some() || resumed).then(|| Conversation {
            id: session.map(|it| it.to_string()),
            resumed,
            sha256: self.whole_prompt.as_ref().map(|it| it.sha256.clone()),
            size: self.whole_prompt.as_ref().map(|it| it.size),
        });
        let launch = self.inputs;
        let inputs = Inputs {
            prompt: self.prompt,
            context_files: launch
                .as_ref()
                .map_or_else(Vec::new, |it| it.given.context_files.clone()),
            files_read: self.files_read,
            memory: self.memory,
            conversation,
            before,
            environment: launch.map(|it| it.environment).unwrap_or_default(),
        };
        (inputs, self.response)
    }
}

/// What the agent read by itself, as it was before the iteration.
fn files_read(
    repo: &Repo,
    inputs: Option<&RunInputs>,
    response: Option<&Response>,
) -> Result<Vec<FileDigest>, GitError> {
    let before = inputs.and_then(RunInputs::files_before);
    match (before, response) {
        (Some(before), Some(response)) => reads::digests(repo, before.tree, &response.reads),
        _ => Ok(Vec::new()),
    }
}

fn is_rule(path: &str) -> bool {
    path.starts_with(".swarm/rules/")
        || Path::new(path)
            .file_name()
            .is_some_and(|it| it == "rules.md")
}

/// Who makes a model, as far as its name says (`openai/gpt-5`, `claude-opus-4`).
fn maker(model: &str) -> Option<String> {
    const MAKERS: [(&str, &str); 3] = [
        ("claude", "anthropic"),
        ("gpt", "openai"),
        ("gemini", "google"),
    ];
    if let Some((provider, _)) = model.split_once('/') {
        return Some(provider.to_owned());
    }
    let known = MAKERS.iter().find(|(begin, _)| model.starts_with(begin));
    known.map(|(_, maker)| (*maker).to_owned())
}

/// The date at the end of a model's name.
fn version(model: &str) -> Option<String> {
    let version = model.strip_prefix(undated(model))?.strip_prefix('-')?;
    Some(version.to_owned())
}

fn outputs(
    owed: &OwedRecord,
    response: Option<Response>,
    after: TreeState,
    (artifacts, artifacts_omitted): (Vec<Artifact>, u64),
    gate: Vec<GateCommand>,
) -> Outputs {
    let (text, calls, omitted) = match response {
        Some(response) => (Some(response.text), response.calls, response.calls_omitted),
        None => (None, Vec::new(), 0),
    };
    Outputs {
        response: text,
        after,
        artifacts,
        artifacts_omitted,
        tool_calls: calls,
        tool_calls_omitted: omitted,
        signal: owed.said.as_ref().map(signal),
        end: owed.end.how.to_string(),
        exit_code: owed.end.how.exit_code(),
        gate,
    }
}

fn signal(said: &Said) -> Signal {
    let (word, text) = match said {
        Said::Complete => ("COMPLETE", None),
        Said::Resolved => ("RESOLVED", None),
        Said::Blocked(reason) => ("BLOCKED", Some(reason.clone())),
        Said::NeedsHuman(question) => ("NEEDS_HUMAN", Some(question.clone())),
    };
    Signal {
        word: word.to_owned(),
        text,
    }
}

fn metrics(owed: &OwedRecord, response: Option<&Response>) -> Metrics {
    let bill = owed.end.bill.unwrap_or_default();
    Metrics {
        duration_ms: owed.end.duration_ms,
        tokens: bill.tokens.map(|tokens| TokenCounts {
            input: tokens.input,
            cached: tokens.cached,
            cache_written: tokens.cache_written,
            output: tokens.output,
        }),
        usd: bill.cost.map(MicroUsd::dollars),
        estimated: bill.estimated,
        partial: bill.partial,
        tool_calls: response.map_or(0, |it| it.calls.len() as u64 + it.calls_omitted),
        iterations: owed.iteration,
    }
}
