//! Ideas.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Id, Params};
use crate::api::types::IdeaFilter;
use crate::domain::ids::IdeaId;
use crate::domain::rejection::Rejection;
use crate::view::{self, IdeaDetail, IdeaView};

type Context = State<Arc<ApiContext>>;

/// List the ideas, oldest first unless `openFirst` is set.
#[utoipa::path(
    get, path = "/views/ideas", tag = "ideas", params(IdeaFilter),
    responses((status = 200, body = Vec<view::IdeaView>),
        (status = "default", description = "Refused", body = ErrorBody)),
)]
pub(super) async fn list(
    State(context): Context,
    Params(filter): Params<IdeaFilter>,
) -> Json<Vec<IdeaView>> {
    let list = match filter.open_first {
        Some(true) => view::ideas_open_first,
        Some(false) | None => view::ideas,
    };
    Json(context.handle.read(|state| list(state, filter.status)))
}

/// Show one idea with its history.
#[utoipa::path(
    get, path = "/views/ideas/{id}", tag = "ideas",
        params(("id" = String, Path, description = "The idea")),
    responses((status = 200, body = view::IdeaDetail),
        (status = "default", description = "Refused", body = ErrorBody)),
)]
pub(super) async fn show(
    State(context): Context,
    Id(id): Id<IdeaId>,
) -> Result<Json<IdeaDetail>, ApiError> {
    let detail = context.handle.read(|state| view::idea_detail(state, &id));
    let unknown = || ApiError::from(Rejection::IdeaUnknown(id));
    detail.map(Json).ok_or_else(unknown)
}
