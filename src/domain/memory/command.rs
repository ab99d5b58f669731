//! Commands about the memory.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{FactKey, NoteKey};
use crate::domain::ids::{AgentId, ProfileName};

/// A command about the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MemoryCommand {
    /// Record a sentence; with a key, it is a claim about a fact.
    Learn(Learn),
    /// Write a fact.
    WriteFact(WriteFact),
    /// Add evidence to a fact.
    ConfirmFact(ConfirmFact),
    /// Contradict a fact.
    DisputeFact(DisputeFact),
    /// Pin a fact, or release it.
    Pin {
        /// The fact.
        key: FactKey,
        /// Whether it is pinned from now on.
        on: bool,
    },
    /// Take something back.
    Retract {
        /// What.
        what: Retracted,
        /// Why, for people.
        why: Option<String>,
    },
    /// Write or drop a note.
    PutNote(PutNote),
    /// Drop what is old from the state.
    Compact,
    /// Start a run that makes facts of new learnings.
    Synthesize {
        /// Profile that it runs under; `None` for the configured one.
        profile: Option<ProfileName>,
    },
}

/// Something that a piece of evidence refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reference {
    /// An event, by its seq.
    Event(u64),
    /// A learning, by its id.
    Learning(String),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(seq) => write!(f, "{seq}"),
            Self::Learning(id) => f.write_str(id),
        }
    }
}

impl From<&str> for Reference {
    /// A number is the seq of an event, everything else the id of a learning.
    fn from(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Learning(text.to_owned()), Self::Event)
    }
}

/// What the writer says about where a claim comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Claim {
    /// What it relies on.
    pub evidence: Vec<Reference>,
    /// Files that it is about, relative to the repository.
    pub paths: Vec<String>,
    /// Why, for people.
    pub why: Option<String>,
}

/// A new learning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Learn {
    /// The sentence. It may begin with its key in brackets.
    pub content: String,
    /// Fact that it is a claim about.
    #[serde(default)]
    pub key: Option<FactKey>,
    /// Profile that it is for; `None` for all agents.
    #[serde(default)]
    pub profile: Option<ProfileName>,
    /// Id of the learning that says the same in other words.
    #[serde(default)]
    pub same_as: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    pub claim: Claim,
}

/// A new value of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFact {
    /// The fact.
    pub key: FactKey,
    /// The value: one line.
    pub value: String,
    /// Version that the writer saw, 0 for none; `None` overwrites any, which only people may.
    pub expected: Option<u64>,
    /// Where it comes from.
    #[serde(default)]
    pub claim: Claim,
}

/// Evidence for a fact's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmFact {
    /// The fact.
    pub key: FactKey,
    /// Version that the writer saw.
    pub version: u64,
    /// Where it comes from.
    #[serde(default)]
    pub claim: Claim,
}

/// A claim that contradicts a fact's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DisputeFact {
    /// The fact.
    pub key: FactKey,
    /// Version that the writer saw.
    pub version: u64,
    /// The other value; `None` to say only that it is wrong.
    pub value: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    pub claim: Claim,
}

/// What is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Retracted {
    /// A learning, by its id.
    Learning(String),
    /// A fact.
    Fact(FactKey),
    /// What this agent said, unless another idea or a person supports it too.
    Agent(AgentId),
}

/// A new text of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PutNote {
    /// The note.
    pub key: NoteKey,
    /// What it is about, one line; `None` leaves it as it is.
    #[serde(default)]
    pub title: Option<String>,
    /// The text; `None` drops the note.
    pub content: Option<String>,
    /// Version that the writer saw, 0 for none; `None` overwrites any.
    #[serde(default)]
    pub expected: Option<u64>,
    /// Whether it stays until it is dropped.
    #[serde(default)]
    pub keep: bool,
}
