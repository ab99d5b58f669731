//! The merge queue.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::run;
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body, Id};
use crate::api::routes::resolution;
use crate::api::types::{Approve, Done, Nothing, Reject, SettleTarget};
use crate::daemon::review::{self, Wanted};
use crate::domain::command::Command;
use crate::domain::ids::{IdeaId, Oid};
use crate::view::{self, MergeDiff, MergeView};

type Context = State<Arc<ApiContext>>;

/// List the merge queue in order.
#[utoipa::path(get, path = "/merges", tag = "merges",
    responses((status = 200, body = Vec<view::MergeView>)))]
pub(super) async fn list(State(context): Context) -> Json<Vec<MergeView>> {
    Json(context.handle.read(view::merges))
}

/// Choose what happens to landed ideas whose work is missing after the target was rewritten.
#[utoipa::path(
    post, path = "/merges/target", tag = "merges", request_body = SettleTarget,
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn target(
    State(context): Context,
    asked: Asked,
    Body(body): Body<SettleTarget>,
) -> Result<Json<Done>, ApiError> {
    let choice = body.choice;
    run(&context, asked, Command::SettleTarget { choice }).await
}

/// Retry a waiting merge now. One that waits for review must be approved instead.
#[utoipa::path(
    post, path = "/merges/{idea}/retry", tag = "merges",
        params(("idea" = String, Path, description = "The idea whose \
        merge")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn retry(
    State(context): Context,
    asked: Asked,
    Id(id): Id<IdeaId>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    run(&context, asked, Command::RetryMerge { id }).await
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
    asked: Asked,
    Id(id): Id<IdeaId>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    let seq = resolution::resolve(&context, asked, id).await?;
    Ok(Json(Done { seq }))
}

/// Show what landing an idea would change now.
#[utoipa::path(
    get, path = "/merges/{idea}/diff", tag = "merges",
        params(("idea" = String, Path, description = "The idea whose merge")),
    responses((status = 200, body = view::MergeDiff),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn diff(
    State(context): Context,
    Id(id): Id<IdeaId>,
) -> Result<Json<MergeDiff>, ApiError> {
    let wanted = context.handle.read(|state| Wanted::of(state, &id))?;
    let diff = context.control.merge_diff(wanted).await;
    diff.map(Json).map_err(|message| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "DIFF", message)
            .suggest("see what is wrong: swarm doctor")
    })
}

/// Approve work that waits for review: it lands when its merge has passed the checks. 409
/// `WORK_CHANGED` with `current`: another commit waits than the given one.
#[utoipa::path(
    post, path = "/merges/{idea}/approve", tag = "merges", request_body = Approve,
        params(("idea" = String, Path, description = "The idea whose merge")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn approve(
    State(context): Context,
    asked: Asked,
    Id(id): Id<IdeaId>,
    Body(body): Body<Approve>,
) -> Result<Json<Done>, ApiError> {
    approve_merge(&context, asked, &id, body.commit)
        .await
        .map(Json)
}

/// Approves the work of an idea, if its branch is still at the commit that was checked.
pub(crate) async fn approve_merge(
    context: &ApiContext,
    asked: Asked,
    id: &IdeaId,
    commit: Option<Oid>,
) -> Result<Done, ApiError> {
    let in_review = |state: &_| review::branch_in_review(state, id);
    if let Some(branch) = context.handle.read(in_review) {
        let now = context.control.target(branch).await;
        let unmoved = |state: &_| review::require_unmoved(state, id, &now);
        context.handle.read(unmoved)?;
    }
    let id = id.clone();
    let Json(done) = run(context, asked, Command::ApproveMerge { id, commit }).await?;
    Ok(done)
}

/// Return work that waits for review to its agent, with a comment.
#[utoipa::path(
    post, path = "/merges/{idea}/reject", tag = "merges", request_body = Reject,
        params(("idea" = String, Path, description = "The idea whose merge")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn reject(
    State(context): Context,
    asked: Asked,
    Id(id): Id<IdeaId>,
    Body(body): Body<Reject>,
) -> Result<Json<Done>, ApiError> {
    let why = body.why;
    run(&context, asked, Command::RejectMerge { id, why }).await
}
