//! Checkpoints and rollback.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Body, Id};
use crate::api::types::{Done, NewCheckpoint, Nothing, RollBack, RolledBack};
use crate::api::{ApiContext, schema};
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::checkpoints::request::{Answer, AskError, request};
use crate::domain::command::Command;
use crate::domain::decide::unknown_checkpoint;
use crate::domain::ids::CheckpointName;

type Context = State<Arc<ApiContext>>;

/// All checkpoints, oldest first, without the state in them.
#[utoipa::path(get, path = "/checkpoints", tag = "checkpoints", responses((status = 200, body = Vec<schema::Checkpoint>)))]
pub(super) async fn list(State(context): Context) -> Result<Json<Vec<Value>>, ApiError> {
    context
        .control
        .checkpoints()
        .await
        .map(Json)
        .map_err(unread)
}

/// One checkpoint.
#[utoipa::path(
    get, path = "/checkpoints/{name}", tag = "checkpoints", params(("name" = String, Path, description = "Its name")),
    responses((status = 200, body = schema::Checkpoint), (status = "default", description = "Refused or failed", body = ErrorBody)),
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

/// Make a checkpoint. The answer waits until it is there.
#[utoipa::path(
    post, path = "/checkpoints", tag = "checkpoints", request_body = NewCheckpoint,
    responses((status = 200, body = Done), (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn create(
    State(context): Context,
    Body(body): Body<NewCheckpoint>,
) -> Result<Json<Done>, ApiError> {
    let name = body.name;
    let (_, seq) = request(&context.handle, Command::CreateCheckpoint { name }).await?;
    Ok(Json(Done { seq }))
}

/// Delete a checkpoint: its file, its tag, its references.
#[utoipa::path(
    delete, path = "/checkpoints/{name}", tag = "checkpoints", params(("name" = String, Path, description = "Its name")),
    responses((status = 200, body = Done), (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn delete(
    State(context): Context,
    Id(name): Id<CheckpointName>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    let (_, seq) = request(&context.handle, Command::DeleteCheckpoint { name }).await?;
    Ok(Json(Done { seq }))
}

/// What a rollback would change.
#[utoipa::path(
    get, path = "/checkpoints/{name}/preview", tag = "checkpoints", params(("name" = String, Path, description = "Its name")),
    responses((status = 200, body = schema::RollbackPreview), (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn preview(
    State(context): Context,
    Id(name): Id<CheckpointName>,
) -> Result<Json<Preview>, ApiError> {
    known(&context, &name)?;
    let preview = context.control.preview(&name).await;
    preview.map(Json).map_err(unread)
}

/// Take the target and the ideas back to a checkpoint. The answer waits until it is done, or was
/// given up: 409 `ROLLBACK_ABANDONED` says why.
#[utoipa::path(
    post, path = "/checkpoints/{name}/rollback", tag = "checkpoints", request_body = RollBack,
    params(("name" = String, Path, description = "Its name")),
    responses((status = 200, body = RolledBack), (status = "default", description = "Refused or \
        failed", body = ErrorBody)),
)]
pub(super) async fn roll_back(
    State(context): Context,
    Id(name): Id<CheckpointName>,
    Body(body): Body<RollBack>,
) -> Result<Json<RolledBack>, ApiError> {
    let command = Command::RollBack {
        name,
        pause: body.pause,
        from: body.from,
    };
    match request(&context.handle, command).await? {
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
        .details("nothing has changed")
        .suggest("see what is wrong: swarm doctor")
}

impl From<AskError> for ApiError {
    fn from(error: AskError) -> Self {
        let message = error.to_string();
        match error {
            AskError::Command(error) => error.into(),
            AskError::Failed(_) => Self::new(StatusCode::CONFLICT, "CHECKPOINT_FAILED", message)
                .suggest("see how things stand: swarm status"),
            AskError::Abandoned { files, .. } => {
                let error = Self::new(StatusCode::CONFLICT, "ROLLBACK_ABANDONED", message)
                    .suggest("see what a rollback would do: swarm rollback NAME --dry-run");
                if files.is_empty() {
                    error.details(
                        "the target and the ideas are as they were; agents that were stopped go on",
                    )
                } else {
                    error.details(format!(
                        "in the way: {}; the target and the ideas are as they were",
                        files.join(", ")
                    ))
                }
            }
            AskError::Ended => Self::new(StatusCode::SERVICE_UNAVAILABLE, "GOES_ON_LATER", message)
                .suggest("start the next daemon: swarm start"),
        }
    }
}
