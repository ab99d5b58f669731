//! Hooks.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::{ApiContext, schema};
use crate::daemon::hooks::HookView;

type Context = State<Arc<ApiContext>>;

/// List the hooks, whether each may run, and how its last call ended.
#[utoipa::path(
    get, path = "/views/hooks", tag = "hooks",
    responses((status = 200, body = Vec<schema::Hook>),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn list(State(context): Context) -> Result<Json<Vec<HookView>>, ApiError> {
    let hooks = context.control.hooks().await;
    hooks.map(Json).map_err(|message| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "HOOKS", message)
            .suggest("see what is wrong: swarm doctor")
    })
}
