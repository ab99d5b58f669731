//! Checkpoints and rollback.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::Id;
use crate::api::{ApiContext, schema};
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::checkpoints::request::AskError;
use crate::domain::decide::unknown_checkpoint;
use crate::domain::ids::CheckpointName;

type Context = State<Arc<ApiContext>>;

/// List all checkpoints, oldest first, without their states.
#[utoipa::path(get, path = "/views/checkpoints", tag = "checkpoints",
    responses((status = 200, body = Vec<schema::Checkpoint>)))]
pub(super) async fn list(State(context): Context) -> Result<Json<Vec<Value>>, ApiError> {
    context
        .control
        .checkpoints()
        .await
        .map(Json)
        .map_err(unread)
}

/// Show one checkpoint.
#[utoipa::path(
    get, path = "/views/checkpoints/{name}", tag = "checkpoints",
        params(("name" = String, Path, description = "The checkpoint's name")),
    responses((status = 200, body = schema::Checkpoint),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn show(
    State(context): Context,
    Id(name): Id<CheckpointName>,
) -> Result<Json<Value>, ApiError> {
    known(&context, &name)?;
    let all = context.control.checkpoints().await.map_err(unread)?;
    let found = all
        .into_iter()
        .find(|one| one["name"].as_str() == Some(name.as_str()));
    found
        .map(Json)
        .ok_or_else(|| ApiError::not_found(&format!("checkpoints/{name}")))
}

fn known(context: &ApiContext, name: &CheckpointName) -> Result<(), ApiError> {
    let known = context.handle.read(|state| {
        let there = state.checkpoints.contains_key(name);
        there
            .then_some(())
            .ok_or_else(|| unknown_checkpoint(state, name))
    });
    Ok(known?)
}

/// Show what a rollback would change.
#[utoipa::path(
    get, path = "/views/checkpoints/{name}/preview", tag = "checkpoints",
        params(("name" = String, Path, description = "The checkpoint's name")),
    responses((status = 200, body = schema::RollbackPreview),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn preview(
    State(context): Context,
    Id(name): Id<CheckpointName>,
) -> Result<Json<Preview>, ApiError> {
    known(&context, &name)?;
    let preview = context.control.preview(&name).await;
    preview.map(Json).map_err(unread)
}

fn unread(message: String) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "CHECKPOINTS", message)
        .details("nothing was changed")
        .suggest("see what is wrong: swarm doctor")
}

impl From<AskError> for ApiError {
    fn from(error: AskError) -> Self {
        let message = error.to_string();
        match error {
            AskError::Command(error) => error.into(),
            AskError::Failed(_) => Self::new(StatusCode::CONFLICT, "CHECKPOINT_FAILED", message)
                .suggest("see the current state: swarm status"),
            AskError::Abandoned { files, .. } => {
                let error = Self::new(StatusCode::CONFLICT, "ROLLBACK_ABANDONED", message)
                    .suggest("see what a rollback would change: swarm rollback NAME --dry-run");
                if files.is_empty() {
                    error.details(
                        "the target and the ideas were not changed; stopped agents continue",
                    )
                } else {
                    error.details(format!(
                        "in the way: {}; the target and the ideas were not changed",
                        files.join(", ")
                    ))
                }
            }
            AskError::Ended => Self::new(StatusCode::SERVICE_UNAVAILABLE, "GOES_ON_LATER", message)
                .suggest("the next start finishes it: swarm start"),
        }
    }
}
