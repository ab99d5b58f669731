//! The merge queue.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::Id;
use crate::daemon::review::Wanted;
use crate::domain::ids::IdeaId;
use crate::view::{self, MergeDiff, MergeView};

type Context = State<Arc<ApiContext>>;

/// List the merge queue in order.
#[utoipa::path(get, path = "/views/merges", tag = "merges",
    responses((status = 200, body = Vec<view::MergeView>)))]
pub(super) async fn list(State(context): Context) -> Json<Vec<MergeView>> {
    Json(context.handle.read(view::merges))
}

/// Show what landing an idea would change now.
#[utoipa::path(
    get, path = "/views/merges/{idea}/diff", tag = "merges",
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
