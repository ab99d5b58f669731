//! What a refused or failed request is answered with: one shape for all of them.
//!
//! Invariant: every answer that is not a success carries
//! `{"error":{"code","message","details","suggestions"}}`, with a stable code.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::daemon::CommandError;
use crate::domain::rejection::Rejection;

/// Where the interface is described, for those who sent something that it does not know.
const DESCRIPTION: &str = "the interface is described by GET /api/v1/openapi.json";

/// A request that has no effect, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// A stable code for programs: `IDEA_UNKNOWN`.
    pub code: String,
    /// What and why, in one sentence.
    pub message: String,
    /// More of it; may be empty.
    pub details: String,
    /// What to do next.
    pub suggestions: Vec<String>,
}

/// An [`ApiError`] on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ErrorDetail {
    /// A stable code for programs.
    #[schema(example = "IDEA_UNKNOWN")]
    pub code: String,
    /// What and why, in one sentence.
    pub message: String,
    /// More of it; may be empty.
    #[serde(default)]
    pub details: String,
    /// What to do next.
    #[serde(default)]
    pub suggestions: Vec<String>,
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
        }
    }

    /// The request is not one that the interface knows; `message` says what is allowed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message).suggest(DESCRIPTION)
    }

    /// There is nothing at this path.
    pub fn not_found(path: &str) -> Self {
        let path: String = path.chars().take(200).collect();
        let message = format!("there is nothing at `{}`", path.escape_debug());
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message).suggest(DESCRIPTION)
    }

    /// What the daemon has on disk cannot be read.
    pub fn unreadable(what: &str, error: &std::io::Error) -> Self {
        let message = format!("{what} cannot be read: {error}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "DISK", message)
            .suggest("look at the disk and at `.swarm`: swarm doctor")
    }

    /// With more details.
    #[must_use]
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// With one more suggestion.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestions.push(suggestion.into());
        self
    }

    /// As it goes over the wire.
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            error: ErrorDetail {
                code: self.code.clone(),
                message: self.message.clone(),
                details: self.details.clone(),
                suggestions: self.suggestions.clone(),
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
        error.details("nothing has changed")
    }
}

/// Unknown names are 404, what has no meaning now is 409, values out of bounds are 422.
fn status_of(rejection: &Rejection) -> StatusCode {
    match rejection {
        Rejection::IdeaUnknown(_)
        | Rejection::AgentUnknown(_)
        | Rejection::CheckpointUnknown { .. } => StatusCode::NOT_FOUND,
        Rejection::AgentOver { .. }
        | Rejection::CheckpointTaken(_)
        | Rejection::Cycle(_)
        | Rejection::NotNow { .. }
        | Rejection::Illegal(_) => StatusCode::CONFLICT,
        Rejection::ProfileUnknown { .. }
        | Rejection::TextEmpty
        | Rejection::NothingSaid
        | Rejection::TextTooLong { .. }
        | Rejection::TooMuch(_) => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

impl From<CommandError> for ApiError {
    fn from(error: CommandError) -> Self {
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        match error {
            CommandError::Rejected(rejection) => rejection.into(),
            CommandError::Unavailable(_) => Self::new(unavailable, "DISK", error.to_string())
                .details("nothing has changed; the daemon goes on by itself when it can write")
                .suggest("make room on the disk, then try again")
                .suggest("see what is wrong: swarm doctor"),
            CommandError::Lost(_) => Self::new(unavailable, "DISK", error.to_string())
                .details(
                    "whether the request took effect is not known; the next daemon's status \
                    shows it",
                )
                .suggest("mend the disk, then start again: swarm start")
                .suggest("see what is wrong: swarm doctor"),
            CommandError::Ended => {
                ending().details("nothing has changed; the next daemon can be asked")
            }
            CommandError::Unknown => Self::new(unavailable, "UNKNOWN", error.to_string())
                .details(
                    "whether the request took effect is not known; the next daemon's status \
                    shows it",
                )
                .suggest("start it again: swarm start"),
        }
    }
}

/// The daemon is ending: nobody will answer any more.
pub(super) fn ending() -> ApiError {
    let message = CommandError::Ended.to_string();
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "ENDING", message)
        .details("whether the request took effect is not known; the next daemon's status shows it")
        .suggest("start it again: swarm start")
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body())).into_response()
    }
}
