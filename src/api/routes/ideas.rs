//! Ideas.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::run;
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body, Id, Params};
use crate::api::types::{AddIdea, Added, AssignIdea, Done, EditIdea, Edited, IdeaFilter, Nothing};
use crate::domain::command::Command;
use crate::domain::ids::IdeaId;
use crate::domain::rejection::Rejection;
use crate::view::{self, IdeaDetail, IdeaView};

type Context = State<Arc<ApiContext>>;

/// List the ideas, oldest first unless `openFirst` is set.
#[utoipa::path(
    get, path = "/ideas", tag = "ideas", params(IdeaFilter),
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

/// Add an idea to the backlog.
#[utoipa::path(
    post, path = "/ideas", tag = "ideas", request_body = AddIdea,
    responses((status = 201, body = Added),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn add(
    State(context): Context,
    asked: Asked,
    Body(body): Body<AddIdea>,
) -> Result<(StatusCode, Json<Added>), ApiError> {
    let command = Command::AddIdea(body.into());
    let accepted = context.handle.request(asked.to(command)).await?;
    let id = accepted.added_idea().ok_or_else(nothing_added)?;
    let seq = accepted.seq;
    Ok((StatusCode::CREATED, Json(Added { id, seq })))
}

/// Only a file in the inbox can have been added before, and none comes this way.
fn nothing_added() -> ApiError {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    ApiError::new(
        status,
        "INTERNAL",
        "the daemon accepted the idea but returned no id",
    )
    .suggest("check whether it was added: swarm idea list")
}

/// Show one idea with its history.
#[utoipa::path(
    get, path = "/ideas/{id}", tag = "ideas", params(("id" = String, Path, description = "The \
        idea")),
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

/// Change an idea.
#[utoipa::path(
    patch, path = "/ideas/{id}", tag = "ideas", request_body = EditIdea,
        params(("id" = String, Path, description = "The idea")),
    responses((status = 200, body = Edited), (status = "default", description = "Refused or \
        failed", body = ErrorBody)),
)]
pub(super) async fn edit(
    State(context): Context,
    asked: Asked,
    Id(id): Id<IdeaId>,
    Body(body): Body<EditIdea>,
) -> Result<Json<Edited>, ApiError> {
    let (edit, of) = (body.into(), id.clone());
    let Json(Done { seq }) = run(&context, asked, Command::EditIdea { id, edit }).await?;
    let note = context.handle.read(|state| view::edited(state, &of));
    Ok(Json(Edited { seq, note }))
}

/// Give a failed, timed-out or blocked idea a fresh start, or continue an attempt that waits for a
/// person.
#[utoipa::path(
    post, path = "/ideas/{id}/retry", tag = "ideas",
        params(("id" = String, Path, description = "The idea")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn retry(
    State(context): Context,
    asked: Asked,
    Id(id): Id<IdeaId>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    run(&context, asked, Command::RetryIdea { id }).await
}

/// Cancel an idea and stop the agent that works on it.
#[utoipa::path(
    post, path = "/ideas/{id}/cancel", tag = "ideas",
        params(("id" = String, Path, description = "The idea")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn cancel(
    State(context): Context,
    asked: Asked,
    Id(id): Id<IdeaId>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    run(&context, asked, Command::CancelIdea { id }).await
}

/// Start an idea now, even in semi-auto mode.
#[utoipa::path(
    post, path = "/ideas/{id}/assign", tag = "ideas", request_body = AssignIdea,
        params(("id" = String, Path, description = "The idea")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn assign(
    State(context): Context,
    asked: Asked,
    Id(id): Id<IdeaId>,
    Body(body): Body<AssignIdea>,
) -> Result<Json<Done>, ApiError> {
    let profile = body.profile;
    run(&context, asked, Command::AssignIdea { id, profile }).await
}

/// Hold an idea: it does not start until it is released. A running attempt goes on; `note` then
/// says so.
#[utoipa::path(
    post, path = "/ideas/{id}/hold", tag = "ideas",
        params(("id" = String, Path, description = "The idea")),
    responses((status = 200, body = Edited),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn hold(
    State(context): Context,
    asked: Asked,
    Id(id): Id<IdeaId>,
    _: Body<Nothing>,
) -> Result<Json<Edited>, ApiError> {
    let Json(Done { seq }) = run(&context, asked, Command::HoldIdea { id: id.clone() }).await?;
    let note = context.handle.read(|state| view::held(state, &id));
    Ok(Json(Edited { seq, note }))
}

/// Let a held idea start again.
#[utoipa::path(
    post, path = "/ideas/{id}/unhold", tag = "ideas",
        params(("id" = String, Path, description = "The idea")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn unhold(
    State(context): Context,
    asked: Asked,
    Id(id): Id<IdeaId>,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    run(&context, asked, Command::UnholdIdea { id }).await
}
