//! Hooks: which there are, and approving what agents made of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::run;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Body, Id};
use crate::api::types::{ApproveHook, Done};
use crate::api::{ApiContext, schema};
use crate::daemon::hooks::HookView;
use crate::domain::command::Command;
use crate::domain::hook::HookName;

type Context = State<Arc<ApiContext>>;

/// The hooks that there are, whether each may run, and how its last call ended.
#[utoipa::path(
    get, path = "/hooks", tag = "hooks",
    responses((status = 200, body = Vec<schema::Hook>), (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn list(State(context): Context) -> Result<Json<Vec<HookView>>, ApiError> {
    let hooks = context.control.hooks().await;
    hooks.map(Json).map_err(|message| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "HOOKS", message)
            .suggest("see what is wrong: swarm doctor")
    })
}

/// Approve what an agent's landed work made of a hook: this content, and no other.
#[utoipa::path(
    post, path = "/hooks/{hook}/approve", tag = "hooks", request_body = ApproveHook,
    params(("hook" = String, Path, description = "Which")),
    responses((status = 200, body = Done), (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn approve(
    State(context): Context,
    Id(hook): Id<HookName>,
    Body(ApproveHook { content: looked_at }): Body<ApproveHook>,
) -> Result<Json<Done>, ApiError> {
    let approve = Command::ApproveHook {
        hook,
        content: looked_at,
    };
    let done = run(&context, approve).await?;
    // One that was deleted is there no more.
    context.control.reload().await?;
    Ok(done)
}
