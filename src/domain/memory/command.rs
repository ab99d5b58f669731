//! Commands about the memory.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{FactKey, NoteKey};
use crate::domain::ids::{AgentId, ProfileName};

/// A command about the memory. `do` names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    tag = "do",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum MemoryCommand {
    /// Record a learning. One with a key is a claim about that fact. The answer names similar facts
    /// and learnings, so that the writer can say that one of them is meant.
    Learn(Learn),
    /// Write a fact. With `expectedVersion` it is a compare-and-swap: 409 `FACT_CONFLICT` with
    /// `current` if another version is there.
    WriteFact(WriteFact),
    /// Add evidence to a fact.
    ConfirmFact(ConfirmFact),
    /// Contradict a fact, with another value or without. Both sides stay visible until somebody
    /// writes the fact.
    DisputeFact(DisputeFact),
    /// Pin a fact, or release it. Pinned facts come first, and agents cannot write them.
    #[serde(rename = "pinFact")]
    Pin {
        /// The fact.
        #[schema(value_type = String)]
        key: FactKey,
        /// Whether it is pinned from now on.
        on: bool,
    },
    /// Take back a learning, a fact, or what one agent said and no other idea supports.
    Retract {
        /// What is taken back: `{"learning": ID}`, `{"fact": KEY}`, or `{"agent": ID}` for what
        /// this agent said, unless another idea or a person supports it too.
        #[schema(value_type = Object, example = json!({"fact": "api.port"}))]
        what: Retracted,
        /// Why, for people.
        #[serde(default)]
        why: Option<String>,
    },
    /// Write or drop a note. With `expectedVersion` it is a compare-and-swap: 409 `NOTE_CONFLICT`
    /// with `current` if another version is there.
    PutNote(PutNote),
    /// Drop from the state the oldest learnings that support no fact, as far as there are more of
    /// them than `memory.window`, and all but 8 earlier values of each fact. The event log keeps
    /// them.
    #[serde(rename = "compactMemory")]
    Compact,
    /// Start a synthesis: a run of an agent that reads the new learnings and writes facts.
    Synthesize {
        /// The profile whose program reads them; default: that of the configuration.
        #[serde(default)]
        #[schema(value_type = Option<String>)]
        profile: Option<ProfileName>,
    },
}

/// Something that a piece of evidence refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged, from = "SeqOrText")]
pub enum Reference {
    /// The sequence number of an event.
    Event(u64),
    /// The id of a learning, or a sequence number as text.
    Learning(String),
}

/// A reference as a client writes it.
#[derive(Deserialize)]
#[serde(untagged)]
enum SeqOrText {
    Seq(u64),
    Text(String),
}

impl From<SeqOrText> for Reference {
    fn from(reference: SeqOrText) -> Self {
        match reference {
            SeqOrText::Seq(seq) => Self::Event(seq),
            SeqOrText::Text(text) => text.as_str().into(),
        }
    }
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Claim {
    /// What it relies on.
    pub evidence: Vec<Reference>,
    /// Files that it is about, relative to the repository.
    pub paths: Vec<String>,
    /// Why, for people.
    pub why: Option<String>,
}

/// A new learning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Learn {
    /// The sentence. It may begin with its key in brackets.
    #[schema(example = "[api.port] The API listens on 8080")]
    pub content: String,
    /// The fact that it is a claim about.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub key: Option<FactKey>,
    /// The profile that it is for; default: all agents.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub profile: Option<ProfileName>,
    /// Id of the learning that says the same in other words.
    #[serde(default)]
    pub same_as: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    pub claim: Claim,
}

/// A new value of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteFact {
    /// The fact.
    #[schema(value_type = String)]
    pub key: FactKey,
    /// The value: one line.
    pub value: String,
    /// The version that the writer saw; 0: the key never existed. Without it any version is
    /// overwritten, which only a person may do.
    #[serde(default, rename = "expectedVersion")]
    pub expected: Option<u64>,
    /// Where it comes from.
    #[serde(default)]
    pub claim: Claim,
}

/// Evidence for a fact's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfirmFact {
    /// The fact.
    #[schema(value_type = String)]
    pub key: FactKey,
    /// Version that the writer saw.
    pub version: u64,
    /// Where it comes from.
    #[serde(default)]
    pub claim: Claim,
}

/// A claim that contradicts a fact's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DisputeFact {
    /// The fact.
    #[schema(value_type = String)]
    pub key: FactKey,
    /// Version that the writer saw.
    pub version: u64,
    /// The other value; without it the claim only says that the value is wrong.
    #[serde(default)]
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
    /// A fact, by its key.
    Fact(FactKey),
    /// What this agent said, unless another idea or a person supports it too.
    Agent(AgentId),
}

/// A new text of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutNote {
    /// The note; its key may contain `/`.
    #[schema(value_type = String)]
    pub key: NoteKey,
    /// What it is about, one line; default: the old title, or the key.
    #[serde(default)]
    pub title: Option<String>,
    /// The text, at most 24 KiB; without it the note is dropped.
    #[serde(default)]
    pub content: Option<String>,
    /// The version that the writer saw; 0: there is no such note. Without it any is overwritten.
    #[serde(default, rename = "expectedVersion")]
    pub expected: Option<u64>,
    /// Keep it until it is dropped; otherwise it expires 24 hours after its last write.
    #[serde(default)]
    pub keep: bool,
}
