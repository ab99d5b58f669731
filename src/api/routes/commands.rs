//! The one route that changes the state of a swarm.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::api::ApiContext;
use crate::api::command_json::{self, SentCommand};
use crate::api::error::{ApiError, ErrorBody};
use crate::api::execute::execute;
use crate::api::extract::{Asked, Body};
use crate::view::answer::Answer;

/// Execute a command. The answer comes when its events are on disk, and for a checkpoint, a
/// rollback and a resolution when that has ended.
#[utoipa::path(
    post, path = "/commands", tag = "commands", request_body = SentCommand,
    responses((status = 200, body = Answer),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn command(
    State(context): State<Arc<ApiContext>>,
    asked: Asked,
    Body(body): Body<Value>,
) -> Result<Json<Answer>, ApiError> {
    let command = command_json::read(body)
        .map_err(|error| ApiError::bad_request(format!("the command is invalid: {error}")))?;
    execute(&context, asked.to(command)).await.map(Json)
}
