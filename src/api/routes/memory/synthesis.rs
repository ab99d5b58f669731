//! What the next synthesis reads.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::blocking;
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::daemon::memory::news::news;
use crate::domain::state;
use crate::view;
use crate::view::memory::NewsView;

type Context = State<Arc<ApiContext>>;

/// Show what the next synthesis reads: new learnings, those with similar words together.
#[utoipa::path(get, path = "/views/memory/news", tag = "memory",
    responses((status = 200, body = view::memory::NewsView),
        (status = "default", description = "Failed", body = ErrorBody)))]
pub(in crate::api::routes) async fn show(
    State(context): Context,
) -> Result<Json<NewsView>, ApiError> {
    let state = context.handle.read(state::State::clone);
    blocking(move || news(&state, None)).await.map(Json)
}
