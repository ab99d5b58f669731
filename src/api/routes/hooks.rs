//! Hooks: listing, and approving changes that agents landed.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::run;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body, Id};
use crate::api::types::{ApproveHook, Done};
use crate::api::{ApiContext, schema};
use crate::daemon::hooks::HookView;
use crate::domain::command::Command;
use crate::domain::hook::HookName;

type Context = State<Arc<ApiContext>>;

/// List the hooks, whether each may run, and how its last call ended.
#[utoipa::path(
    get, path = "/hooks", tag = "hooks",
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

/// Approve a hook that an agent's landed work changed: exactly this content.
#[utoipa::path(
    post, path = "/hooks/{hook}/approve", tag = "hooks", request_body = ApproveHook,
    params(("hook" = String, Path, description = "The hook's name")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn approve(
    State(context): Context,
    asked: Asked,
    Id(hook): Id<HookName>,
    Body(ApproveHook { content: looked_at }): Body<ApproveHook>,
) -> Result<Json<Done>, ApiError> {
    let approve = Command::ApproveHook {
        hook,
        content: looked_at,
    };
    let done = run(&context, asked, approve).await?;
    // Reload: a deleted hook must disappear from the list.
    context.control.reload().await?;
    Ok(done)
}
