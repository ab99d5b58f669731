//! The board of facts.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::types::{BoardQuery, Confirm, Dispute, FactQuery, NewValue, Pin, Retract};
use super::{Key, aged, ask, similar, state_then, taken};
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body, Params, Reader};
use crate::api::types::Done;
use crate::daemon::memory::tally::ReadOf;
use crate::domain::event::ShownItem;
use crate::domain::memory::{FactKey, MemoryCommand, MemoryRefusal};
use crate::domain::rejection::Rejection;
use crate::domain::state;
use crate::view;
use crate::view::memory::{
    FactChangedView, FactDetail, FactView, RetractedView, SHOWN_HISTORY, WrittenView,
};

type Context = State<Arc<ApiContext>>;

/// List the board: pinned facts first, then by confidence, then by key.
#[utoipa::path(
    get, path = "/memory/facts", tag = "memory", params(BoardQuery),
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
    get, path = "/memory/facts/{key}", tag = "memory", params(FactQuery,
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

/// Write a fact. With `expectedVersion` it is a compare-and-swap: 409 `FACT_CONFLICT` with
/// `current` if another version is there.
#[utoipa::path(
    put, path = "/memory/facts/{key}", tag = "memory", request_body = NewValue,
        params(("key" = String, Path, description = "The fact")),
    responses((status = 200, body = view::memory::WrittenView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn write(
    State(context): Context,
    asked: Asked,
    Key(key): Key<FactKey>,
    Body(body): Body<NewValue>,
) -> Result<Json<WrittenView>, ApiError> {
    let write = body.of(key.clone());
    let text = format!("{key} {}", write.value);
    let accepted = ask(&context, asked, MemoryCommand::WriteFact(write)).await?;
    let similar = similar(&context, &text, &[key.as_str()]).await?;
    let taken = taken(&accepted);
    let answer = |state: &_| view::memory::written(state, &key, &taken, similar);
    Ok(Json(context.handle.read(answer)))
}

/// Add evidence to a fact.
#[utoipa::path(
    post, path = "/memory/facts/{key}/confirm", tag = "memory", request_body = Confirm,
        params(("key" = String, Path, description = "The fact")),
    responses((status = 200, body = view::memory::FactChangedView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn confirm(
    State(context): Context,
    asked: Asked,
    Key(key): Key<FactKey>,
    Body(body): Body<Confirm>,
) -> Result<Json<FactChangedView>, ApiError> {
    let command = MemoryCommand::ConfirmFact(body.of(key.clone()));
    changed(&context, asked, &key, command).await
}

/// Contradict a fact, with another value or without. Both sides stay visible until somebody writes
/// the fact.
#[utoipa::path(
    post, path = "/memory/facts/{key}/dispute", tag = "memory", request_body = Dispute,
        params(("key" = String, Path, description = "The fact")),
    responses((status = 200, body = view::memory::FactChangedView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn dispute(
    State(context): Context,
    asked: Asked,
    Key(key): Key<FactKey>,
    Body(body): Body<Dispute>,
) -> Result<Json<FactChangedView>, ApiError> {
    let command = MemoryCommand::DisputeFact(body.of(key.clone()));
    changed(&context, asked, &key, command).await
}

async fn changed(
    context: &ApiContext,
    asked: Asked,
    key: &FactKey,
    command: MemoryCommand,
) -> Result<Json<FactChangedView>, ApiError> {
    let accepted = ask(context, asked, command).await?;
    let answer = |state: &_| view::memory::changed_fact(state, key, &taken(&accepted));
    Ok(Json(context.handle.read(answer)))
}

/// Pin a fact, or release it. Pinned facts come first, and agents cannot write them.
#[utoipa::path(
    post, path = "/memory/facts/{key}/pin", tag = "memory", request_body = Pin,
        params(("key" = String, Path, description = "The fact")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn pin(
    State(context): Context,
    asked: Asked,
    Key(key): Key<FactKey>,
    Body(body): Body<Pin>,
) -> Result<Json<Done>, ApiError> {
    let command = MemoryCommand::Pin { key, on: body.on };
    let seq = ask(&context, asked, command).await?.seq;
    Ok(Json(Done { seq }))
}

/// Take back a learning, a fact, or what one agent said and no other idea supports.
#[utoipa::path(
    post, path = "/memory/retract", tag = "memory", request_body = Retract,
    responses((status = 200, body = view::memory::RetractedView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn retract(
    State(context): Context,
    asked: Asked,
    Body(body): Body<Retract>,
) -> Result<Json<RetractedView>, ApiError> {
    let what = body.what()?;
    let why = body.why;
    let accepted = ask(&context, asked, MemoryCommand::Retract { what, why }).await?;
    Ok(Json(view::memory::retracted(&taken(&accepted))))
}
