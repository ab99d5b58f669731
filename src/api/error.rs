//! The answer to a refused or failed request.
//!
//! Invariant: every answer that is not a success has the shape
//! `{"error":{"code","message","details","suggestions"}}`, with a stable code.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::daemon::CommandError;
use crate::domain::memory::MemoryRefusal;
use crate::domain::rejection::Rejection;

/// The suggestion for a request that the API does not know.
const DESCRIPTION: &str = "see the description of the API: GET /api/v1/openapi.json";

/// A request without effect, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// A stable code for programs: `IDEA_UNKNOWN`.
    pub code: String,
    /// What happened and why, in one sentence.
    pub message: String,
    /// Further details; may be empty.
    pub details: String,
    /// What to do next.
    pub suggestions: Vec<String>,
    /// What is there instead of what the request expected.
    pub current: Option<Box<Value>>,
}

/// An [`ApiError`] on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// The error itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ErrorDetail {
    /// A stable code for programs.
    #[schema(example = "IDEA_UNKNOWN")]
    pub code: String,
    /// What happened and why, in one sentence.
    pub message: String,
    /// Further details; may be empty.
    #[serde(default)]
    pub details: String,
    /// What to do next.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// What is there instead of what the request expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    #[schema(value_type = Option<Value>)]
    pub current: Option<Value>,
}

impl ApiError {
    /// An error without details and suggestions.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.into(),
            details: String::new(),
            suggestions: vec![],
            current: None,
        }
    }

    /// A request that the API does not know; `message` says what is wrong with it.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message).suggest(DESCRIPTION)
    }

    /// There is nothing at this path.
    pub fn not_found(path: &str) -> Self {
        let path: String = path.chars().take(200).collect();
        let message = format!("there is nothing at `{}`", path.escape_debug());
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message).suggest(DESCRIPTION)
    }

    /// The request could not be worked on.
    pub fn failed(error: &dyn std::fmt::Display) -> Self {
        let message = format!("the request failed: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", message)
    }

    /// A file of the daemon cannot be read.
    pub fn unreadable(what: &str, error: &std::io::Error) -> Self {
        let message = format!("{what} cannot be read: {error}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "DISK", message)
            .suggest("see what is wrong: swarm doctor")
    }

    /// Sets the details.
    #[must_use]
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestions.push(suggestion.into());
        self
    }

    /// The error as it is sent.
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            error: ErrorDetail {
                code: self.code.clone(),
                message: self.message.clone(),
                details: self.details.clone(),
                suggestions: self.suggestions.clone(),
                current: self.current.as_deref().cloned(),
            },
        }
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        let mut error = Self::new(
            status_of(&rejection),
            rejection.code(),
            rejection.to_string(),
        );
        error.suggestions = rejection.suggestions();
        error.current = current_of(&rejection).map(Box::new);
        error.details("nothing was changed")
    }
}

/// What is there instead of what the command expected.
pub fn current_of(rejection: &Rejection) -> Option<Value> {
    if let Rejection::Memory(refusal) = rejection {
        return refusal.current().map(|current| json!(current));
    }
    rejection.current().map(|oid| json!(oid))
}

/// Unknown names are 404, commands that are not possible now 409, values out of bounds 422.
fn status_of(rejection: &Rejection) -> StatusCode {
    match rejection {
        Rejection::IdeaUnknown(_)
        | Rejection::AgentUnknown(_)
        | Rejection::CheckpointUnknown { .. } => StatusCode::NOT_FOUND,
        Rejection::NotForAgents { .. } => StatusCode::FORBIDDEN,
        Rejection::Memory(refusal) => status_of_memory(refusal),
        Rejection::AgentOver { .. }
        | Rejection::CheckpointTaken(_)
        | Rejection::Cycle(_)
        | Rejection::WorkChanged { .. }
        | Rejection::Moved { .. }
        | Rejection::NotNow { .. }
        | Rejection::Illegal(_) => StatusCode::CONFLICT,
        Rejection::ProfileUnknown { .. }
        | Rejection::TextEmpty
        | Rejection::NothingSaid
        | Rejection::NoReason(_)
        | Rejection::TextTooLong { .. }
        | Rejection::TooMuch(_) => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// As [`status_of`]; what the writer may not do is 403.
fn status_of_memory(refusal: &MemoryRefusal) -> StatusCode {
    match refusal {
        MemoryRefusal::FactUnknown(_)
        | MemoryRefusal::NoteUnknown(_)
        | MemoryRefusal::LearningUnknown(_)
        | MemoryRefusal::LearningCompacted(_) => StatusCode::NOT_FOUND,
        MemoryRefusal::FactConflict { .. } | MemoryRefusal::NoteConflict { .. } => {
            StatusCode::CONFLICT
        }
        MemoryRefusal::Pinned(_) | MemoryRefusal::NotYours { .. } | MemoryRefusal::RunOver => {
            StatusCode::FORBIDDEN
        }
        MemoryRefusal::KeyIsGlobal
        | MemoryRefusal::SaysTheSame(_)
        | MemoryRefusal::VersionMissing(_)
        | MemoryRefusal::EvidenceUnknown(_)
        | MemoryRefusal::EvidenceLacks { .. }
        | MemoryRefusal::EvidenceMissing
        | MemoryRefusal::Empty(_)
        | MemoryRefusal::TooLarge { .. }
        | MemoryRefusal::Quota(_)
        | MemoryRefusal::SecretSuspected { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

impl From<CommandError> for ApiError {
    fn from(error: CommandError) -> Self {
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        match error {
            CommandError::Rejected(rejection) => rejection.into(),
            CommandError::Unavailable(_) => Self::new(unavailable, "DISK", error.to_string())
                .details("nothing was changed; the daemon continues when it can write again")
                .suggest("free some disk space, then try again")
                .suggest("see what is wrong: swarm doctor"),
            CommandError::Lost(_) => Self::new(unavailable, "DISK", error.to_string())
                .details(UNKNOWN_EFFECT)
                .suggest("repair the disk, then start again: swarm start")
                .suggest("see what is wrong: swarm doctor"),
            CommandError::Ended => ending().details("nothing was changed; ask the next daemon"),
            CommandError::Unknown => Self::new(unavailable, "UNKNOWN", error.to_string())
                .details(UNKNOWN_EFFECT)
                .suggest("start it again: swarm start"),
        }
    }
}

/// The details where the daemon cannot say whether a command took effect.
const UNKNOWN_EFFECT: &str =
    "the request may have taken effect or not; after the next start, `swarm status` shows it";

/// The daemon is stopping and answers no more.
pub(super) fn ending() -> ApiError {
    let message = CommandError::Ended.to_string();
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "ENDING", message)
        .details(UNKNOWN_EFFECT)
        .suggest("start it again: swarm start")
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body())).into_response()
    }
}
