//! Notes: the scratchpad that all agents share.
//!
//! Invariant: a note's version is the seq of the event that wrote it, so a version never comes
//! back, even if the note was dropped and written again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::NoteKey;
use crate::domain::request::Author;
use crate::domain::time::Timestamp;

/// A text under a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// Seq of the event that wrote it.
    pub version: u64,
    /// What it is about, one line.
    pub title: String,
    /// Its text, at most 24 KiB.
    pub content: String,
    /// Who wrote it.
    pub by: Author,
    /// When.
    pub at: Timestamp,
    /// When it is dropped; `None` for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// All notes, by key. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Notes {
    notes: BTreeMap<NoteKey, Arc<Note>>,
}

impl Notes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.notes.len()
    }

    /// Size of all titles and texts, in bytes.
    pub fn bytes(&self) -> usize {
        let size = |note: &Arc<Note>| note.title.len() + note.content.len();
        self.notes.values().map(size).sum()
    }

    /// One note.
    pub fn get(&self, key: &NoteKey) -> Option<&Note> {
        self.notes.get(key).map(Arc::as_ref)
    }

    /// All notes, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&NoteKey, &Note)> {
        self.notes.iter().map(|(key, note)| (key, note.as_ref()))
    }

    /// When the first of them expires.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.notes.values().filter_map(|note| note.expires_at).min()
    }

    pub(in crate::domain) fn insert(&mut self, key: NoteKey, note: Note) {
        self.notes.insert(key, Arc::new(note));
    }

    pub(in crate::domain) fn remove(&mut self, key: &NoteKey) {
        self.notes.remove(key);
    }
}
