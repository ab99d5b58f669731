//! Request bodies and parameters, and small answers.
//!
//! Invariant: an unknown field or parameter is refused, so that a misspelt one is never ignored.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::ids::{IdeaId, ProfileName, RunId};
use crate::domain::state::IdeaStatus;
use crate::domain::time::Timestamp;

/// How long an answer waits for the judgement of a resolution.
pub const JUDGEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// An empty body, or `{}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct Nothing {}

/// Filters ideas.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IdeaFilter {
    /// Only ideas with this status.
    #[serde(default)]
    #[param(schema_with = crate::view::schema::words::<IdeaStatus>, required = false)]
    pub status: Option<IdeaStatus>,
    /// Whether open ideas come first, in the order of their start, each with what it used.
    #[serde(default)]
    pub open_first: Option<bool>,
}

/// Selects an agent's output.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Only the last `lines` lines; default: 200.
    #[serde(default)]
    pub lines: Option<u64>,
    /// Keep sending new output until the agent has ended.
    #[serde(default)]
    pub follow: bool,
    /// Only the output of this run.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub run: Option<RunId>,
    /// The program's output unchanged, not as text for people.
    #[serde(default)]
    pub raw: bool,
}

/// The period of a report.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportQuery {
    /// The start of the period; default: everything.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub since: Option<Timestamp>,
}

/// Which action an undo is about.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UndoQuery {
    /// Skip approvals whose work has landed, which cannot be taken back.
    #[serde(default)]
    pub skip_landed: bool,
}

/// How to import an agent's state.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ImportAgentQuery {
    /// The idea that goes on from it: pending, failed, blocked or timed out. Without it, one is
    /// added.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub idea_id: Option<IdeaId>,
    /// The profile of the next attempts. Default: the agent's own if it is configured here, else
    /// the idea's, else the default one.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub profile: Option<ProfileName>,
    /// Check the file and answer what would happen, but change nothing.
    #[serde(default)]
    pub check: bool,
}

/// Options of a clean.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Clean {
    /// Remove nothing; list what would be removed.
    #[serde(default)]
    pub dry_run: bool,
}

/// Selects events.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only events after this sequence number; default: all. The header `Last-Event-ID` overrides
    /// it.
    #[serde(default)]
    pub since: Option<u64>,
    /// Only events of this kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// At most this many events. Default: 1000 for an array, which is also its maximum; all for a
    /// stream.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Keep sending new events. Default: true for server-sent events, otherwise false.
    #[serde(default)]
    pub follow: Option<bool>,
}

/// The daemon is running.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// The daemon's process id.
    pub pid: u32,
    /// The daemon's version.
    pub version: &'static str,
    /// The repository's root.
    pub repo: String,
    /// The sequence number of the last event.
    pub last_seq: u64,
}

/// A link to the web page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageLink {
    /// The link; it opens one session.
    pub url: String,
    /// For how many seconds it can be used.
    pub seconds: u64,
}
