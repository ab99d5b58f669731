//! The merge queue.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::run;
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Body, Id};
use crate::api::routes::resolution;
use crate::api::types::{Done, Nothing, SettleTarget};
use crate::domain::command::Command;
use crate::domain::ids::IdeaId;
use crate::view::{self, MergeView};

type Context = State<Arc<ApiContext>>;

/// List the merge queue in order.
#[utoipa::path(get, path = "/merges", tag = "merges",
    responses((status = 200, body = Vec<view::MergeView>)))]
pub(super) async fn list(State(context): Context) -> Json<Vec<MergeView>> {
    Json(context.handle.read(view::merges))
}

/// Choose what happens to waiting work after the target was force-pushed.
#[utoipa::path(
    post, path = "/merges/target", tag = "merges", request_body = SettleTarget,
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn target(
    State(context): Context,
    Body(body): Body<SettleTarget>,
) -> Result<Json<Done>, ApiError> {
    let choice = body.choice;
    run(&context, Command::SettleTarget { choice }).await
}

/// Retry a waiting merge now, or approve one that waits for approval.
#[utoipa::path(
    post, path = "/merges/{idea}/retry", tag = "merges",
        params(("idea" = String, Path, description = "The idea whose \
        merge")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn retry(
    State(context): Context,
    Id(id): Id<IdeaId>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    run(&context, Command::RetryMerge { id }).await
}

/// Continue a merge after its conflict was resolved in the worktree. The answer waits up to a
/// minute for the check; 409 `NOT_RESOLVED` says what is still in conflict.
#[utoipa::path(
    post, path = "/merges/{idea}/resolve", tag = "merges",
        params(("idea" = String, Path, description = "The idea whose \
        merge")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn resolve(
    State(context): Context,
    Id(id): Id<IdeaId>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    let seq = resolution::resolve(&context, id).await?;
    Ok(Json(Done { seq }))
}
