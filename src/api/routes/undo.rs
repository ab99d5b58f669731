//! Takes back what a person did last.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::run;
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body, Params};
use crate::api::types::{Done, Undo, UndoQuery, Undone};
use crate::daemon::checkpoints::request::{Answer, request, undone_rollback};
use crate::domain::command::Command;
use crate::view::{self, UndoView};

type Context = State<Arc<ApiContext>>;

/// Show what an undo would take back.
#[utoipa::path(get, path = "/undo", tag = "swarm", params(UndoQuery),
    responses((status = 200, body = view::UndoView)))]
pub(super) async fn preview(
    State(context): Context,
    Params(query): Params<UndoQuery>,
) -> Json<UndoView> {
    let skip = query.skip_landed;
    Json(context.handle.read(|state| view::undo(state, skip)))
}

/// Take back the last rollback, cancellation, approval or redirect. The answer to a rollback waits
/// until it is done or abandoned.
#[utoipa::path(
    post, path = "/undo", tag = "swarm", request_body = Undo,
    responses((status = 200, body = Undone),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn undo(
    State(context): Context,
    asked: Asked,
    Body(Undo { seq, from }): Body<Undo>,
) -> Result<Json<Undone>, ApiError> {
    let command = Command::Undo { seq, from };
    let rolls_back = context
        .handle
        .read(|state| undone_rollback(state, seq).is_some());
    if !rolls_back {
        let Json(Done { seq }) = run(&context, asked, command).await?;
        let safety = None;
        return Ok(Json(Undone { seq, safety }));
    }
    match request(&context.handle, asked.to(command)).await? {
        (Answer::RolledBack { safety }, seq) => Ok(Json(Undone {
            seq,
            safety: Some(safety),
        })),
        (other, _) => Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "INTERNAL",
            format!("a rollback ended as {other:?}"),
        )),
    }
}
