//! Notes of the scratchpad.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::AuthorShape;
use crate::domain::memory::{Note, NoteKey};
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::schema;

/// A note without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NoteHead)]
pub struct NoteHeadView {
    /// Its key.
    #[schema(value_type = String, example = "tasks/auth.md")]
    pub key: NoteKey,
    /// What it is about, one line.
    pub title: String,
    /// The sequence number of the event that wrote it.
    pub version: u64,
    /// SHA-256 of its text, in hexadecimal digits.
    pub sha256: String,
    /// Size of its text in bytes.
    pub bytes: usize,
    /// When it was written.
    #[schema(schema_with = schema::time, required)]
    pub updated_at: Timestamp,
    /// When it is dropped; null if it is kept.
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<Timestamp>,
    /// Who wrote it.
    #[schema(value_type = AuthorShape)]
    pub by: Author,
}

/// A note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Note)]
pub struct NoteView {
    /// All but its text.
    #[serde(flatten)]
    pub head: NoteHeadView,
    /// Its text.
    pub content: String,
}

/// One note.
pub fn note(state: &State, key: &NoteKey) -> Option<NoteView> {
    let note = state.notes.get(key)?;
    Some(NoteView {
        head: head(key, note),
        content: note.content.clone(),
    })
}

/// The notes whose key begins with `prefix`, by key, without their texts.
pub fn notes(state: &State, prefix: &str) -> Vec<NoteHeadView> {
    let notes = state.notes.iter();
    let wanted = notes.filter(|(key, _)| key.as_str().starts_with(prefix));
    wanted.map(|(key, note)| head(key, note)).collect()
}

fn head(key: &NoteKey, note: &Note) -> NoteHeadView {
    NoteHeadView {
        key: key.clone(),
        title: note.title.clone(),
        version: note.version,
        sha256: sha256(&note.content),
        bytes: note.content.len(),
        updated_at: note.at,
        expires_at: note.expires_at,
        by: note.by.clone(),
    }
}

/// SHA-256 of a text, in hexadecimal digits.
pub(in crate::view) fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
}
