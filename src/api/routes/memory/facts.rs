//! The board of facts.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::types::{BoardQuery, FactQuery};
use super::{Key, aged, state_then};
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Params, Reader};
use crate::daemon::memory::tally::ReadOf;
use crate::domain::event::ShownItem;
use crate::domain::memory::{FactKey, MemoryRefusal};
use crate::domain::rejection::Rejection;
use crate::domain::state;
use crate::view;
use crate::view::memory::{FactDetail, FactView, SHOWN_HISTORY};

type Context = State<Arc<ApiContext>>;

/// List the board: pinned facts first, then by confidence, then by key.
#[utoipa::path(
    get, path = "/views/memory/facts", tag = "memory", params(BoardQuery),
    responses((status = 200, body = Vec<view::memory::FactView>),
        (status = "default", description = "Refused", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn board(
    State(context): Context,
    reader: Reader,
    Params(query): Params<BoardQuery>,
) -> Result<Json<Vec<FactView>>, ApiError> {
    reader.reads(&context, ReadOf::Board, Vec::new());
    let aged = aged(&context, None).await?;
    let board = |state: &_| view::memory::board(state, &aged, query.all);
    Ok(Json(context.handle.read(board)))
}

/// Show one fact with its history, as it is or as it was.
#[utoipa::path(
    get, path = "/views/memory/facts/{key}", tag = "memory", params(FactQuery,
        ("key" = String, Path, description = "The fact")),
    responses((status = 200, body = view::memory::FactDetail),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn show(
    State(context): Context,
    reader: Reader,
    Key(key): Key<FactKey>,
    Params(query): Params<FactQuery>,
) -> Result<Json<FactDetail>, ApiError> {
    let history = query.history.unwrap_or(SHOWN_HISTORY);
    let then = match &query.at {
        Some(at) => Some(state_then(&context, at).await?),
        None => None,
    };
    let aged = aged(&context, then.as_ref()).await?;
    let read = |state: &state::State| {
        let found = view::memory::fact(state, &aged, &key, history);
        found.ok_or_else(|| unknown(state, &key))
    };
    let found = match &then {
        Some(state) => read(state),
        None => context.handle.read(read),
    }?;
    let item = ShownItem {
        reference: key.to_string(),
        version: found.fact.version,
    };
    reader.reads(&context, ReadOf::Fact, vec![item]);
    Ok(Json(found))
}

fn unknown(state: &state::State, key: &FactKey) -> ApiError {
    let refusal = MemoryRefusal::no_fact(state, key);
    let mut error = ApiError::from(Rejection::from(refusal));
    error
        .suggestions
        .splice(0..0, view::memory::suggestions(state, key));
    error
}
