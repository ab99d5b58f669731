//! Bodies and parameters of the routes about the memory.
//!
//! Invariant: an unknown field or parameter is refused, so that a misspelt one is never ignored.

use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::api::error::ApiError;
use crate::domain::ids::{AgentId, ProfileName};
use crate::domain::memory::{
    Claim, ConfirmFact, DisputeFact, FactKey, Learn, NoteKey, PutNote, Reference, Retracted,
    WriteFact,
};
use crate::view::memory::MEMORY_KINDS;

/// Something that a piece of evidence refers to: the sequence number of an event, or the id of a
/// learning.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(untagged)]
pub(in crate::api) enum EvidenceRef {
    /// The sequence number of an event.
    Seq(u64),
    /// The id of a learning, or a sequence number as text.
    Id(String),
}

impl From<EvidenceRef> for Reference {
    fn from(reference: EvidenceRef) -> Self {
        match reference {
            EvidenceRef::Seq(seq) => Self::Event(seq),
            EvidenceRef::Id(text) => text.as_str().into(),
        }
    }
}

fn claim(evidence: Vec<EvidenceRef>, paths: Vec<String>, why: Option<String>) -> Claim {
    Claim {
        evidence: evidence.into_iter().map(Reference::from).collect(),
        paths,
        why,
    }
}

/// A new learning.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct NewLearning {
    /// The sentence. It may begin with its key in brackets.
    #[schema(example = "[api.port] The API listens on 8080")]
    content: String,
    /// The fact that it is a claim about.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    key: Option<FactKey>,
    /// The profile that it is for; default: all agents.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    profile: Option<ProfileName>,
    /// The learning that says the same in other words.
    #[serde(default)]
    same_as: Option<String>,
    /// What it relies on.
    #[serde(default)]
    evidence: Vec<EvidenceRef>,
    /// Files that it is about, relative to the repository.
    #[serde(default)]
    paths: Vec<String>,
    /// Why, for people.
    #[serde(default)]
    why: Option<String>,
}

impl From<NewLearning> for Learn {
    fn from(body: NewLearning) -> Self {
        Self {
            content: body.content,
            key: body.key,
            profile: body.profile,
            same_as: body.same_as,
            claim: claim(body.evidence, body.paths, body.why),
        }
    }
}

/// A new value of a fact.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct NewValue {
    /// The value: one line.
    value: String,
    /// The version that the writer saw; 0: the key never existed. Without it any version is
    /// overwritten, which only a person may do.
    #[serde(default)]
    expected_version: Option<u64>,
    /// What it relies on.
    #[serde(default)]
    evidence: Vec<EvidenceRef>,
    /// Files that it is about, relative to the repository.
    #[serde(default)]
    paths: Vec<String>,
    /// Why, for people.
    #[serde(default)]
    why: Option<String>,
}

impl NewValue {
    pub(super) fn of(self, key: FactKey) -> WriteFact {
        WriteFact {
            key,
            value: self.value,
            expected: self.expected_version,
            claim: claim(self.evidence, self.paths, self.why),
        }
    }
}

/// Evidence for a fact.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct Confirm {
    /// The version that the writer saw.
    version: u64,
    /// What it relies on.
    #[serde(default)]
    evidence: Vec<EvidenceRef>,
    /// Files that it is about, relative to the repository.
    #[serde(default)]
    paths: Vec<String>,
    /// Why, for people.
    #[serde(default)]
    why: Option<String>,
}

impl Confirm {
    pub(super) fn of(self, key: FactKey) -> ConfirmFact {
        ConfirmFact {
            key,
            version: self.version,
            claim: claim(self.evidence, self.paths, self.why),
        }
    }
}

/// A claim that contradicts a fact.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct Dispute {
    /// The version that the writer saw.
    version: u64,
    /// The other value; without it the claim only says that the value is wrong.
    #[serde(default)]
    value: Option<String>,
    /// What it relies on.
    #[serde(default)]
    evidence: Vec<EvidenceRef>,
    /// Files that it is about, relative to the repository.
    #[serde(default)]
    paths: Vec<String>,
    /// Why, for people.
    #[serde(default)]
    why: Option<String>,
}

impl Dispute {
    pub(super) fn of(self, key: FactKey) -> DisputeFact {
        DisputeFact {
            key,
            version: self.version,
            value: self.value,
            claim: claim(self.evidence, self.paths, self.why),
        }
    }
}

/// Whether a fact is pinned.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct Pin {
    /// Whether it is pinned from now on.
    pub(super) on: bool,
}

/// What is taken back: one of a learning, a fact and an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct Retract {
    /// A learning, by its id.
    #[serde(default)]
    learning: Option<String>,
    /// A fact, by its key.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    key: Option<FactKey>,
    /// What this agent said, unless another idea or a person supports it too.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    agent_id: Option<AgentId>,
    /// Why, for people.
    #[serde(default)]
    pub(super) why: Option<String>,
}

impl Retract {
    pub(super) fn what(&self) -> Result<Retracted, ApiError> {
        match (&self.learning, &self.key, &self.agent_id) {
            (Some(id), None, None) => Ok(Retracted::Learning(id.clone())),
            (None, Some(key), None) => Ok(Retracted::Fact(key.clone())),
            (None, None, Some(id)) => Ok(Retracted::Agent(id.clone())),
            _ => Err(ApiError::bad_request(
                "name exactly one of `learning`, `key` and `agentId`",
            )),
        }
    }
}

/// A new text of a note.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct NewNote {
    /// The text, at most 24 KiB.
    content: String,
    /// What it is about, one line; default: the old title, or the key.
    #[serde(default)]
    title: Option<String>,
    /// The version that the writer saw; 0: there is no such note. Without it any is overwritten.
    #[serde(default)]
    expected_version: Option<u64>,
    /// Keep it until it is dropped; otherwise it expires 24 hours after its last write.
    #[serde(default)]
    keep: bool,
}

impl NewNote {
    pub(super) fn of(self, key: NoteKey) -> PutNote {
        PutNote {
            key,
            title: self.title,
            content: Some(self.content),
            expected: self.expected_version,
            keep: self.keep,
        }
    }
}

/// Selects facts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct BoardQuery {
    /// Whether retracted facts are listed too.
    #[serde(default)]
    pub(super) all: bool,
}

/// Which moment of a fact, and how much of its history.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct FactQuery {
    /// The fact after this event, or after the last event that is not later than this time.
    #[serde(default)]
    pub(super) at: Option<String>,
    /// Most earlier values; default: 8.
    #[serde(default)]
    pub(super) history: Option<usize>,
}

/// Which moment is measured.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct StatsQuery {
    /// The measures after this event, or after the last event that is not later than this time.
    #[serde(default)]
    pub(super) at: Option<String>,
}

/// Selects events about the memory.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct LogQuery {
    /// Only events after this sequence number or time.
    #[serde(default)]
    pub(super) since: Option<String>,
    /// Only events up to this sequence number or time.
    #[serde(default)]
    pub(super) until: Option<String>,
    /// Only events of this agent.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub(super) agent: Option<AgentId>,
    /// Only events of this kind.
    #[serde(default)]
    pub(super) kind: Option<String>,
    /// At most this many events, the oldest; default and maximum: 1000.
    #[serde(default)]
    pub(super) limit: Option<usize>,
}

impl LogQuery {
    /// Refuses a kind that no event about the memory has.
    pub(super) fn check_kind(&self) -> Result<(), ApiError> {
        match self.kind.as_deref() {
            Some(kind) if !MEMORY_KINDS.contains(&kind) => Err(ApiError::bad_request(format!(
                "`{}` is not a kind of event about the memory",
                kind.escape_debug()
            ))
            .details(format!("the kinds are: {}", MEMORY_KINDS.join(", ")))),
            _ => Ok(()),
        }
    }
}

/// What is searched.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct SearchQuery {
    /// The words.
    pub(super) q: String,
    /// Most hits; default: 10, maximum: 100.
    #[serde(default)]
    pub(super) limit: Option<usize>,
    /// Whether retracted facts and learnings are found too, and learnings that only the log has.
    #[serde(default)]
    pub(super) all: bool,
}

/// Selects notes.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct ScratchQuery {
    /// Only notes whose key begins with this.
    #[serde(default)]
    pub(super) prefix: Option<String>,
}

/// Which version of a note is dropped.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct DropQuery {
    /// The version that the writer saw; default: any.
    #[serde(default)]
    pub(super) expected_version: Option<u64>,
}

/// Whose program reads the new learnings.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct Synthesize {
    /// The profile; default: that of the configuration.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(super) profile: Option<ProfileName>,
}
