//! Writes and drops the notes of the scratchpad.

use super::writer::{self, Writer};
use crate::domain::decide::decision::Plan;
use crate::domain::event::{NotePut, NotesDropped};
use crate::domain::memory::{MemoryRefusal, NoteKey, PutNote};
use crate::domain::rejection::Rejection;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// Longest text, in bytes: with every character escaped it still fits into an event.
const MAX_CONTENT: usize = 24 * 1024;
/// Longest title, in bytes.
const MAX_TITLE: usize = 200;
/// Most notes, and their size in bytes.
const MAX_NOTES: usize = 1_000;
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// How long a note stays that is not kept: 24 hours after its last write.
const EXPIRES_AFTER_MS: i64 = 24 * 60 * 60 * 1_000;
/// Most notes that one event drops.
const DROPPED_AT_ONCE: usize = 100;

/// Writes or drops a note; returns the version of what was written.
pub(super) fn put(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    put: &PutNote,
) -> Result<Option<String>, Rejection> {
    let known = plan.state.notes.get(&put.key);
    let version = known.map_or(0, |note| note.version);
    if let Some(expected) = put.expected
        && expected != version
    {
        return Err(MemoryRefusal::NoteConflict {
            key: put.key.clone(),
            expected,
            current: version,
        }
        .into());
    }
    let Some(content) = &put.content else {
        if known.is_none() {
            return Err(MemoryRefusal::NoteUnknown(put.key.clone()).into());
        }
        plan.emit(NotesDropped {
            keys: vec![put.key.clone()],
            by: Some(writer.author.clone()),
        });
        return Ok(None);
    };
    let title = match (&put.title, known) {
        (Some(title), _) => writer::line("title", title, MAX_TITLE)?,
        (None, Some(known)) => known.title.clone(),
        (None, None) => put.key.to_string(),
    };
    let content = text(content)?;
    writer::check_secrets("key", put.key.as_str())?;
    check_room(plan.state, &put.key, title.len() + content.len())?;
    let expires_at = (!put.keep).then(|| plan.now.plus_millis(EXPIRES_AFTER_MS));
    plan.emit(NotePut {
        key: put.key.clone(),
        title,
        content,
        by: writer.author.clone(),
        expires_at,
    });
    // The version is the seq of this event, its only one but for an announced hook call.
    Ok(None)
}

/// The text without control characters other than line ends and tabs.
fn text(content: &str) -> Result<String, MemoryRefusal> {
    writer::check_size("note", content, MAX_CONTENT)?;
    if content.trim().is_empty() {
        return Err(MemoryRefusal::Empty("note"));
    }
    let plain = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    let content: String = content.replace("\r\n", "\n").chars().map(plain).collect();
    writer::check_size("note", &content, MAX_CONTENT)?;
    writer::check_secrets("note", &content)?;
    Ok(content)
}

fn check_room(state: &State, key: &NoteKey, bytes: usize) -> Result<(), MemoryRefusal> {
    let old = state.notes.get(key);
    if old.is_none() && state.notes.len() >= MAX_NOTES {
        return Err(MemoryRefusal::Quota(format!(
            "there are {MAX_NOTES} notes; no more fit"
        )));
    }
    let old = old.map_or(0, |note| note.title.len() + note.content.len());
    if state.notes.bytes() - old + bytes > MAX_BYTES {
        return Err(MemoryRefusal::Quota(format!(
            "the notes take {} KiB; no more fit",
            MAX_BYTES / 1024
        )));
    }
    Ok(())
}

/// When the next note expires.
pub(in crate::domain::decide) fn next_expiry(state: &State) -> Option<Timestamp> {
    state.notes.next_expiry()
}

/// Drops notes that have expired.
pub(in crate::domain::decide) fn expire(plan: &mut Plan<'_>) {
    let over = |at: Option<Timestamp>| at.is_some_and(|at| at <= plan.now);
    let notes = plan.state.notes.iter();
    let over = notes.filter(|(_, note)| over(note.expires_at));
    let keys: Vec<NoteKey> = over
        .map(|(key, _)| key.clone())
        .take(DROPPED_AT_ONCE)
        .collect();
    if !keys.is_empty() {
        plan.emit(NotesDropped { keys, by: None });
    }
}
