//! What the first prompt of an attempt says of the agent whose state was imported.
//!
//! Invariant: the kept file is read again for each attempt, and only if it is still the one that
//! was imported; without it, the prompt has no such section. Text that looks like a secret is
//! replaced.

use std::collections::HashMap;
use std::io;

use super::{conversation, file, keep};
use crate::agents::prompt::{Brief, Known};
use crate::agents::recovery_context::RecoveryContext;
use crate::agents::text::{head, one_line};
use crate::daemon::files::paths::Paths;
use crate::domain::memory::without_invisible;
use crate::domain::secrets::redact;
use crate::domain::state::transfer::agent::ImportedAgent;
use crate::domain::state::{Attempt, Task};
use crate::view::agent_state::AgentState;
use crate::view::agent_state::contexts::{NoteItem, RecoveryContext as Told};
use crate::view::agent_state::message_log::{Message, NO_RESULT, Role, ToolCall};

/// Enough of the newest messages for the prompt, in bytes.
const ENOUGH: usize = 64 * 1024;
/// Longest input of a call in the prompt, in bytes.
const INPUT: usize = 300;

/// For the prompt of the attempt's current iteration.
pub(in crate::daemon) fn of_attempt(paths: &Paths, attempt: &Attempt) -> Option<Brief> {
    let imported = attempt.imported.as_deref()?;
    if conversation::was_told(paths, attempt) || attempt.task != Task::Work {
        return None;
    }
    match read(paths, imported) {
        Ok(state) => Some(Brief {
            known: known(paths, attempt),
            ..brief(&state, begins_with_commits(imported, attempt))
        }),
        Err(error) => {
            let agent = imported.agent.as_str();
            tracing::warn!(agent, %error, "an imported agent's file cannot be used; the prompt \
                says nothing of it");
            None
        }
    }
}

/// What a conversation that the attempt resumes has of that agent.
fn known(paths: &Paths, attempt: &Attempt) -> Known {
    match conversation::of_attempt(attempt) {
        Some(imported) if !imported.taken => Known::Moved,
        Some(_) => Known::Told,
        None if conversation::has_spoken(paths, attempt) => Known::Told,
        None => Known::Nothing,
    }
}

pub(super) fn read(paths: &Paths, imported: &ImportedAgent) -> io::Result<AgentState> {
    file::parse(&keep::read(paths, imported)?)
}

/// A later attempt begins with what the one before it left, which begins with the same commits.
fn begins_with_commits(imported: &ImportedAgent, attempt: &Attempt) -> bool {
    imported.work.is_some() && attempt.kept.is_some()
}

pub(super) fn brief(state: &AgentState, has_commits: bool) -> Brief {
    let (log, is_cut) = log(&state.message_log);
    let contexts = &state.contexts;
    let files = contexts
        .reads
        .files
        .iter()
        .map(|read| safe(&one_line(&read.path)));
    let notes = contexts.notes.items.iter().map(note);
    Brief {
        agent: state.identity.id.to_string(),
        known: Known::Nothing,
        has_commits,
        log,
        is_cut,
        files: files.collect(),
        notes: notes.collect(),
        recovery: contexts.recovery.as_ref().map_or_else(String::new, told),
    }
}

fn safe(text: &str) -> String {
    redact(&without_invisible(text)).text
}

fn note(note: &NoteItem) -> String {
    let title = one_line(&note.title);
    let title = if title.is_empty() {
        String::new()
    } else {
        format!(" ({title})")
    };
    safe(&format!(
        "{}{title}: {}",
        one_line(&note.key),
        note.content.trim()
    ))
}

/// What it was told, if that has the form of this version.
fn told(told: &Told) -> String {
    let recovery = serde_json::from_value::<RecoveryContext>(told.told.clone());
    recovery.map_or_else(|_| String::new(), |recovery| safe(&recovery.to_markdown()))
}

/// The newest words and calls, oldest first, and whether there are older ones.
fn log(messages: &[Message]) -> (Vec<String>, bool) {
    let mut newest = Vec::new();
    let mut results: HashMap<&str, &Message> = HashMap::new();
    let mut size = 0;
    let mut is_cut = false;
    for message in messages.iter().rev() {
        match message.role {
            Role::User => results.clear(),
            Role::Tool => {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                results.insert(id, message);
            }
            Role::Assistant if size > ENOUGH => {
                is_cut = true;
                break;
            }
            Role::Assistant => {
                let said = said(message, &results);
                size += said.len();
                newest.extend(Some(said).filter(|said| !said.is_empty()));
                results.clear();
            }
        }
    }
    newest.reverse();
    (newest, is_cut)
}

/// What it said, then a line for each call.
fn said(message: &Message, results: &HashMap<&str, &Message>) -> String {
    let text = safe(&message.text);
    let mut lines: Vec<String> = Vec::new();
    lines.extend(Some(text.trim_end().to_owned()).filter(|text| !text.trim().is_empty()));
    for call in &message.tool_calls {
        lines.push(called(call, results.get(call.id.as_str()).copied()));
    }
    lines.join("\n")
}

fn called(call: &ToolCall, result: Option<&Message>) -> String {
    let how = match result {
        Some(result) if result.text == NO_RESULT => " (no result)",
        Some(result) if result.ok == Some(false) => " (failed)",
        Some(_) => "",
        None => " (no result)",
    };
    let input = one_line(&safe(&call.input));
    let shown = head(&input, INPUT);
    let cut = if shown.len() < input.len() {
        " ..."
    } else {
        ""
    };
    format!("- {}: {shown}{cut}{how}", safe(&one_line(&call.tool)))
}
