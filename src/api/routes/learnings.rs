//! Learnings.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use crate::api::ApiContext;
use crate::view::{self, LearningView};

type Context = State<Arc<ApiContext>>;

/// List what agents have learned, oldest first.
#[utoipa::path(get, path = "/views/learnings", tag = "learnings",
    responses((status = 200, body = Vec<view::LearningView>)))]
pub(super) async fn list(State(context): Context) -> Json<Vec<LearningView>> {
    Json(context.handle.read(view::learnings))
}
