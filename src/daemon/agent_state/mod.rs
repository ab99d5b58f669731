//! Gathers an agent's state on its own from the state, the log, the files of its runs and git.
//! Called by the API and by `swarm agent export`, with and without a daemon. `pack` makes a file of
//! it that has the conversation and the commits, too.
//!
//! Invariant: only reads. What is gone or cannot be read is missing in the result, and no error.

mod messages;
mod pack;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)] // a test fails by panicking
mod tests;

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::error::DaemonError;
use super::files::config_loader::Loader;
use super::files::hash::{sha256, sha256_of, swarm_id};
use super::offline;
use super::runs::{launch_record, prompt_inputs};
use crate::agents;
use crate::agents::adapter::StartedAs;
use crate::daemon::Paths;
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::reads::Collector;
use crate::domain::secrets::redact;
use crate::domain::session::SessionId;
use crate::git::Repo;
use crate::journal::{self, JournalError, Record, Segments};
use crate::plain_file;
use crate::view::agent_state as view;
use crate::view::agent_state::contexts::{ProfileContext, RecoveryContext, RulesFile};
use crate::view::agent_state::{AgentState, ConversationFile, FromState};

pub use pack::{Packed, pack};

/// Most bytes of a file of rules or of a recovery context.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// An agent's state, running or ended; `None` if there is no such agent. Needs no lock; it blocks.
///
/// # Errors
/// The log is damaged; the output of a run cannot be read.
pub fn read(paths: &Paths, id: &AgentId) -> Result<Option<AgentState>, DaemonError> {
    Ok(gather(paths, id)?.map(|gathered| gathered.state))
}

/// An agent's state, and where its conversation is.
struct Gathered {
    state: AgentState,
    /// The file of its conversation, as the program keeps it.
    conversation: Option<PathBuf>,
}

fn gather(paths: &Paths, id: &AgentId) -> Result<Option<Gathered>, DaemonError> {
    let state = offline::read(paths)?;
    let Some(mut from) = view::from_state(&state, id) else {
        return Ok(None);
    };
    if from.has_ended {
        from.add_shown(&state, &shown_events(paths, state.seq)?);
    }
    let gathered = with_files(paths, from);
    gathered
        .map(Some)
        .map_err(DaemonError::io("read what the agent said"))
}

/// The events up to `last` that say what agents were shown of the memory.
fn shown_events(paths: &Paths, last: u64) -> Result<Vec<Event>, JournalError> {
    let segments = Segments::open(&paths.state)?;
    let first = segments.iter().next().map_or(1, |segment| segment.first);
    let mut events = Vec::new();
    journal::select(
        &segments,
        (first, last),
        &|line| line.kind == "memoryShown",
        &mut |record: Record<Event>| {
            events.push(record.event);
            ControlFlow::Continue(())
        },
    )?;
    Ok(events)
}

/// Adds what the log, git and files say. It blocks.
///
/// # Errors
/// The log is damaged; the output of a run cannot be read.
pub fn complete(paths: &Paths, from: FromState) -> io::Result<AgentState> {
    Ok(with_files(paths, from)?.state)
}

fn with_files(paths: &Paths, from: FromState) -> io::Result<Gathered> {
    let heard = messages::read(paths, &from.runs, !from.has_ended)?;
    let mut state = from.state;
    let (messages, repairs) = heard.log.finish();
    (state.message_log, state.repairs) = (messages, repairs);
    state.model.used = heard.models;
    let source = &mut state.source;
    source.swarm_id = Some(swarm_id(paths).map_err(io::Error::other)?);
    let position = journal::position_of(&paths.state, source.seq);
    let position = position.map_err(io::Error::other)?;
    source.log_crc = position.map(|position| format!("{:08x}", position.crc));
    state.identity.uuid = source.swarm_id.as_ref().map(|swarm| {
        let name = format!("{swarm}/{}", state.identity.id);
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
    });
    let worktree = paths.worktree(&from.worktree);
    let mut file = None;
    if let Some(started) = &heard.started {
        state.model.adapter = Some(started.adapter.name().to_owned());
        state.model.asked.clone_from(&started.model);
        let session = from.session.as_ref().or(started.session.as_ref());
        let found = session.and_then(|session| conversation(started, session, &worktree));
        (state.conversation, file) = found.unzip();
    }
    let profile = profile(paths, state.identity.name.as_str());
    let program = profile.as_ref().and_then(|it| it.command.first().cloned());
    state.model.program = program;
    let contexts = &mut state.contexts;
    contexts.profile = profile;
    contexts.rules.files = rules(paths, state.identity.name.as_str());
    contexts.recovery = recovery(paths, &from.runs);
    // Without git, the commits and the files that were read are missing.
    let repo = Repo::open(&paths.root).ok();
    let tip = repo
        .as_ref()
        .and_then(|repo| repo.branch_commit(&from.branch).ok().flatten());
    if let Some(tip) = tip {
        contexts.worktree.tip = Some(tip.to_string());
    }
    if let (Some(repo), Some(tip)) = (&repo, tip) {
        let is_tracked = |path: &str| matches!(repo.blob_at(tip, path), Ok(Some(_)));
        let mut reads = Collector::new(worktree.to_string_lossy().into_owned(), is_tracked);
        let calls = state.message_log.iter().flat_map(|it| &it.tool_calls);
        calls.for_each(|call| reads.add(&call.tool, &call.input));
        contexts.reads.files = reads.finish();
    }
    Ok(Gathered {
        state,
        conversation: file,
    })
}

/// The conversation's file, as its program keeps it, and where it is.
fn conversation(
    started: &StartedAs,
    session: &SessionId,
    worktree: &Path,
) -> Option<(ConversationFile, PathBuf)> {
    let records = started.records.as_deref()?;
    let adapter = agents::adapter(started.adapter);
    let found = adapter.conversation_file(records, session, worktree);
    let file = found
        .inspect_err(|error| tracing::warn!(%error, "the conversation cannot be read"))
        .ok()??;
    let about = ConversationFile {
        kind: started.adapter.name().to_owned(),
        session: session.clone(),
        file: file.file_name()?.to_str()?.to_owned(),
        sha256: sha256_of(plain_file::open(&file).ok()?).ok()?,
    };
    Some((about, file))
}

/// The profile as it is configured now, without values of its environment.
fn profile(paths: &Paths, name: &str) -> Option<ProfileContext> {
    let config = Loader::new(paths).load().ok()?;
    let profile = config.agents.profiles.get(name)?;
    let safe = |words: &[String]| words.iter().map(|word| redact(word).text).collect();
    Some(ProfileContext {
        id: name.to_owned(),
        adapter: profile.adapter.name().to_owned(),
        model: profile.model.clone(),
        command: safe(&profile.command),
        args: safe(&profile.args),
        env_names: profile.env.keys().cloned().collect(),
    })
}

/// The files of rules that a prompt of this profile has.
fn rules(paths: &Paths, profile: &str) -> Vec<RulesFile> {
    let shared = prompt_inputs::shared_rules(&paths.swarm.join("rules")).unwrap_or_default();
    let shared = shared
        .into_iter()
        .map(|(name, text)| (format!("rules/{name}"), text));
    let own = ["prompt.md", "rules.md"].into_iter().filter_map(|name| {
        let path = format!("agents/{profile}/{name}");
        let text = launch_record::text(&paths.swarm.join(&path), FILE_MAX).ok()?;
        Some((path, text))
    });
    let files = shared.chain(own).map(|(path, text)| RulesFile {
        path,
        sha256: sha256(text.as_bytes()),
        text,
    });
    files.collect()
}

/// What the last run that was told of an earlier attempt was told.
fn recovery(paths: &Paths, runs: &[RunId]) -> Option<RecoveryContext> {
    runs.iter().rev().find_map(|run| {
        let path = paths.runs.join(run.as_str()).join(prompt_inputs::RECOVERY);
        let text = launch_record::text(&path, FILE_MAX).ok()?;
        Some(RecoveryContext {
            id: run.to_string(),
            told: serde_json::from_str(&text).ok()?,
        })
    })
}
