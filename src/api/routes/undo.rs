//! What an undo would take back.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use crate::api::ApiContext;
use crate::api::extract::Params;
use crate::api::types::UndoQuery;
use crate::view::{self, UndoView};

type Context = State<Arc<ApiContext>>;

/// Show what an undo would take back.
#[utoipa::path(get, path = "/views/undo", tag = "swarm", params(UndoQuery),
    responses((status = 200, body = view::UndoView)))]
pub(super) async fn preview(
    State(context): Context,
    Params(query): Params<UndoQuery>,
) -> Json<UndoView> {
    let skip = query.skip_landed;
    Json(context.handle.read(|state| view::undo(state, skip)))
}
