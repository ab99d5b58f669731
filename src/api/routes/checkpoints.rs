//! Checkpoints and rollback.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body, Id};
use crate::api::types::{Done, NewCheckpoint, Nothing, RollBack, RolledBack};
use crate::api::{ApiContext, schema};
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::checkpoints::request::{Answer, AskError, request};
use crate::domain::command::Command;
use crate::domain::decide::unknown_checkpoint;
use crate::domain::ids::CheckpointName;

type Context = State<Arc<ApiContext>>;

/// List all checkpoints, oldest first, without their states.
#[utoipa::path(get, path = "/checkpoints", tag = "checkpoints",
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
    get, path = "/checkpoints/{name}", tag = "checkpoints",
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

/// Create a checkpoint. The answer waits until it is created.
#[utoipa::path(
    post, path = "/checkpoints", tag = "checkpoints", request_body = NewCheckpoint,
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn create(
    State(context): Context,
    asked: Asked,
    Body(body): Body<NewCheckpoint>,
) -> Result<Json<Done>, ApiError> {
    let NewCheckpoint { name, tag } = body;
    let (_, seq) = request(
        &context.handle,
        asked.to(Command::CreateCheckpoint { name, tag }),
    )
    .await?;
    Ok(Json(Done { seq }))
}

/// Delete a checkpoint with its file and references.
#[utoipa::path(
    delete, path = "/checkpoints/{name}", tag = "checkpoints",
        params(("name" = String, Path, description = "The checkpoint's name")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn delete(
    State(context): Context,
    asked: Asked,
    Id(name): Id<CheckpointName>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    let (_, seq) = request(
        &context.handle,
        asked.to(Command::DeleteCheckpoint { name }),
    )
    .await?;
    Ok(Json(Done { seq }))
}

/// Show what a rollback would change.
#[utoipa::path(
    get, path = "/checkpoints/{name}/preview", tag = "checkpoints",
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

/// Roll the target and the ideas back to a checkpoint. The answer waits until it is done or
/// abandoned; 409 `ROLLBACK_ABANDONED` says why.
#[utoipa::path(
    post, path = "/checkpoints/{name}/rollback", tag = "checkpoints", request_body = RollBack,
    params(("name" = String, Path, description = "The checkpoint's name")),
    responses((status = 200, body = RolledBack), (status = "default", description = "Refused or \
        failed", body = ErrorBody)),
)]
pub(super) async fn roll_back(
    State(context): Context,
    asked: Asked,
    Id(name): Id<CheckpointName>,
    Body(body): Body<RollBack>,
) -> Result<Json<RolledBack>, ApiError> {
    let command = Command::RollBack {
        name,
        pause: body.pause,
        from: body.from,
    };
    match request(&context.handle, asked.to(command)).await? {
        (Answer::RolledBack { safety }, seq) => Ok(Json(RolledBack { seq, safety })),
        (other, _) => Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "INTERNAL",
            format!("a rollback ended as {other:?}"),
        )),
    }
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
