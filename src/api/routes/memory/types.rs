//! Parameters of the routes about the memory.
//!
//! Invariant: an unknown parameter is refused, so that a misspelt one is never ignored.

use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::error::ApiError;
use crate::domain::ids::AgentId;
use crate::view::memory::MEMORY_KINDS;

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
