//! Agents.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::run;
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body, Id};
use crate::api::types::{Done, Nothing, Redirect, Say};
use crate::domain::command::Command;
use crate::domain::ids::AgentId;
use crate::domain::rejection::Rejection;
use crate::view::{self, AgentView};

type Context = State<Arc<ApiContext>>;

/// List all agents, including ended ones, oldest first.
#[utoipa::path(get, path = "/agents", tag = "agents",
    responses((status = 200, body = Vec<view::AgentView>)))]
pub(super) async fn list(State(context): Context) -> Json<Vec<AgentView>> {
    Json(context.handle.read(view::agents))
}

/// Show one agent, running or ended.
#[utoipa::path(
    get, path = "/agents/{id}", tag = "agents", params(("id" = String, Path, description = "The \
        agent")),
    responses((status = 200, body = view::AgentView),
        (status = "default", description = "Refused", body = ErrorBody)),
)]
pub(super) async fn show(
    State(context): Context,
    Id(id): Id<AgentId>,
) -> Result<Json<AgentView>, ApiError> {
    let agent = context.handle.read(|state| view::agent(state, &id));
    let unknown = || ApiError::from(Rejection::AgentUnknown(id));
    agent.map(Json).ok_or_else(unknown)
}

/// Stop an agent. Its idea becomes pending again and its worktree is kept.
#[utoipa::path(
    post, path = "/agents/{id}/stop", tag = "agents",
        params(("id" = String, Path, description = "The agent")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn stop(
    State(context): Context,
    asked: Asked,
    Id(id): Id<AgentId>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    run(&context, asked, Command::StopAgent { id }).await
}

/// Stop an agent and give its place to another pending idea. Its work is committed, and its own
/// idea becomes pending again and continues from that work.
#[utoipa::path(
    post, path = "/agents/{id}/redirect", tag = "agents", request_body = Redirect,
        params(("id" = String, Path, description = "The agent")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn redirect(
    State(context): Context,
    asked: Asked,
    Id(id): Id<AgentId>,
    Body(body): Body<Redirect>,
) -> Result<Json<Done>, ApiError> {
    let command = Command::RedirectAgent {
        id,
        idea: body.idea_id,
        new_worktree: body.new_worktree,
    };
    run(&context, asked, command).await
}

/// Send an agent a message with its next prompt.
#[utoipa::path(
    post, path = "/agents/{id}/say", tag = "agents", request_body = Say,
        params(("id" = String, Path, description = "The agent")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn say(
    State(context): Context,
    asked: Asked,
    Id(id): Id<AgentId>,
    Body(body): Body<Say>,
) -> Result<Json<Done>, ApiError> {
    let text = body.text;
    run(&context, asked, Command::SayToAgent { id, text }).await
}
