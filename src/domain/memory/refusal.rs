//! Why a command about the memory was refused.

use serde::{Deserialize, Serialize};

use super::{FactKey, NoteKey};
use crate::domain::request::Author;
use crate::domain::state::State;

/// A refused command about the memory. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryRefusal {
    /// The fact has another version than the writer saw.
    #[error("`{key}` is at version {}, not {expected}", .current.version)]
    FactConflict {
        /// The fact.
        key: FactKey,
        /// Version that the writer expected.
        expected: u64,
        /// What is there.
        current: Box<CurrentValue>,
    },
    /// The note has another version than the writer saw.
    #[error("the note `{key}` is at version {current}, not {expected}")]
    NoteConflict {
        /// The note.
        key: NoteKey,
        /// Version that the writer expected.
        expected: u64,
        /// Its version; 0 if there is none.
        current: u64,
    },
    /// No fact has this key.
    #[error("there is no fact `{0}`")]
    FactUnknown(FactKey),
    /// No note has this key.
    #[error("there is no note `{0}`")]
    NoteUnknown(NoteKey),
    /// No learning has this id.
    #[error("there is no learning `{0}`")]
    LearningUnknown(String),
    /// The learning was dropped from the state.
    #[error("`{0}` was compacted: only the event log has it")]
    LearningCompacted(String),
    /// A local learning has a key.
    #[error("a fact is for all agents, so a learning with a key cannot be local")]
    KeyIsGlobal,
    /// A dispute names the value that is there.
    #[error("`{0}` says the same already")]
    SaysTheSame(FactKey),
    /// A person pinned the fact.
    #[error("`{0}` is pinned: only a person can change it")]
    Pinned(FactKey),
    /// An agent must name the version that it saw.
    #[error("agents must name the version of `{0}` that they saw")]
    VersionMissing(FactKey),
    /// A piece of evidence does not exist.
    #[error("there is no {0} to refer to as evidence")]
    EvidenceUnknown(String),
    /// A value holds something that is in none of its evidence.
    #[error("{what} is in none of the evidence")]
    EvidenceLacks {
        /// The numbers, paths or identifiers.
        what: String,
    },
    /// The synthesis names no evidence.
    #[error("name the learnings or events that say so")]
    EvidenceMissing,
    /// A text is empty.
    #[error("the {0} is empty")]
    Empty(&'static str),
    /// A text is too long.
    #[error("the {what} takes {bytes} bytes; at most {max} are allowed")]
    TooLarge {
        /// Which text.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// Largest allowed size.
        max: usize,
    },
    /// Too much was written.
    #[error("{0}")]
    Quota(String),
    /// The run that asks has ended.
    #[error("this run has ended, so it can write no more")]
    RunOver,
    /// Others support it, contradict it, or wrote an earlier value.
    #[error("{what} is not only yours: others have a say in it")]
    NotYours {
        /// What was to be taken back.
        what: String,
    },
    /// It holds what looks like a secret.
    #[error("the {what} holds what looks like a secret ({rule}), so it was not stored")]
    SecretSuspected {
        /// Which text.
        what: &'static str,
        /// The rule that matched.
        rule: &'static str,
    },
}

/// What a fact or a note is now, for a writer who saw something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrentValue {
    /// Its version; 0 if it does not exist.
    pub version: u64,
    /// Its value; absent if it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
}

impl MemoryRefusal {
    /// No learning has this id: none ever had it, or it was dropped from the state.
    pub fn no_learning(state: &State, id: &str) -> Self {
        let id = id.to_owned();
        if state.compacted.has(&id, &state.learnings) {
            Self::LearningCompacted(id)
        } else {
            Self::LearningUnknown(id)
        }
    }

    /// No fact has this key, which may be the id of a learning that was dropped from the state.
    pub fn no_fact(state: &State, key: &FactKey) -> Self {
        let id = key.as_str();
        if state.compacted.has(id, &state.learnings) {
            Self::LearningCompacted(id.to_owned())
        } else {
            Self::FactUnknown(key.clone())
        }
    }

    /// Stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FactConflict { .. } => "FACT_CONFLICT",
            Self::NoteConflict { .. } => "NOTE_CONFLICT",
            Self::FactUnknown(_) => "FACT_UNKNOWN",
            Self::NoteUnknown(_) => "NOTE_UNKNOWN",
            Self::LearningUnknown(_) => "LEARNING_UNKNOWN",
            Self::LearningCompacted(_) => "LEARNING_COMPACTED",
            Self::KeyIsGlobal => "KEY_INVALID",
            Self::SaysTheSame(_) => "SAYS_THE_SAME",
            Self::Pinned(_) => "FACT_PINNED",
            Self::VersionMissing(_) => "VERSION_MISSING",
            Self::EvidenceUnknown(_) => "EVIDENCE_UNKNOWN",
            Self::EvidenceLacks { .. } | Self::EvidenceMissing => "EVIDENCE_LACKS",
            Self::Empty(_) => "TEXT_EMPTY",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::Quota(_) => "QUOTA",
            Self::RunOver => "RUN_OVER",
            Self::NotYours { .. } => "NOT_YOURS",
            Self::SecretSuspected { .. } => "SECRET_SUSPECTED",
        }
    }

    /// Next steps; each names a command where one helps.
    pub fn suggestions(&self) -> Vec<String> {
        let one = match self {
            Self::FactConflict { key, current, .. } => {
                let version = current.version;
                format!("look at it, then name version {version}: swarm memory get {key}")
            }
            Self::NoteConflict { key, .. } => format!("read it again: swarm scratch get {key}"),
            Self::FactUnknown(_) => "see the facts: swarm memory board".into(),
            Self::NoteUnknown(_) => "see the notes: swarm scratch list".into(),
            Self::LearningUnknown(_) => "see the learnings: swarm memory learnings".into(),
            Self::LearningCompacted(_) => {
                "find it by its words: swarm memory search --all WORDS".into()
            }
            Self::KeyIsGlobal => "leave out the key, or the profile".into(),
            Self::SaysTheSame(key) => {
                format!("add your evidence: swarm memory confirm {key} VERSION")
            }
            Self::Pinned(key) => format!("say that it is wrong: swarm memory dispute {key} VALUE"),
            Self::VersionMissing(key) => format!("read it first: swarm memory get {key}"),
            Self::EvidenceUnknown(_) => "see what can be referred to: swarm memory log".into(),
            Self::EvidenceLacks { .. } => "name evidence that contains it".into(),
            Self::EvidenceMissing => "name it: --evidence learning-001".into(),
            Self::Empty(_) => "say it in one sentence".into(),
            Self::TooLarge { .. } => "shorten it, or put the text into a file".into(),
            Self::Quota(_) => "remove what is no longer needed: swarm memory retract, swarm \
                               scratch drop"
                .into(),
            Self::RunOver => "start again in a new iteration".into(),
            Self::NotYours { .. } => "say that it is wrong: swarm memory dispute".into(),
            Self::SecretSuspected { .. } => "leave the secret out, and say where it is kept".into(),
        };
        vec![one]
    }

    /// What is there instead of what the writer expected.
    pub fn current(&self) -> Option<CurrentValue> {
        if let Self::FactConflict { current, .. } = self {
            return Some(CurrentValue::clone(current));
        }
        if let Self::NoteConflict { current, .. } = self {
            return Some(CurrentValue {
                version: *current,
                value: None,
                by: None,
            });
        }
        None
    }
}
