//! The scratchpad: notes that all agents share.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::types::{DropQuery, NewNote, ScratchQuery};
use super::{Key, ask, taken};
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body, Params};
use crate::api::types::Done;
use crate::domain::memory::{MemoryCommand, MemoryRefusal, NoteKey, PutNote};
use crate::domain::rejection::Rejection;
use crate::view;
use crate::view::memory::{NoteHeadView, NotePutView, NoteView};

type Context = State<Arc<ApiContext>>;

/// List the notes by key, without their texts.
#[utoipa::path(
    get, path = "/scratch", tag = "scratch", params(ScratchQuery),
    responses((status = 200, body = Vec<view::memory::NoteHeadView>),
        (status = "default", description = "Refused", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn list(
    State(context): Context,
    Params(query): Params<ScratchQuery>,
) -> Json<Vec<NoteHeadView>> {
    let prefix = query.prefix.unwrap_or_default();
    let notes = |state: &_| view::memory::notes(state, &prefix);
    Json(context.handle.read(notes))
}

/// Show one note.
#[utoipa::path(
    get, path = "/scratch/{*key}", tag = "scratch",
        params(("key" = String, Path, description = "The note; its key may contain `/`")),
    responses((status = 200, body = view::memory::NoteView),
        (status = "default", description = "Refused", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn show(
    State(context): Context,
    Key(key): Key<NoteKey>,
) -> Result<Json<NoteView>, ApiError> {
    context.handle.read(|state| {
        let unknown = || {
            let refusal = MemoryRefusal::NoteUnknown(key.clone());
            let mut error = ApiError::from(Rejection::from(refusal));
            let near = view::memory::note_suggestions(state, &key);
            error.suggestions.splice(0..0, near);
            error
        };
        let note = view::memory::note(state, &key);
        note.map(Json).ok_or_else(unknown)
    })
}

/// Write a note. With `expectedVersion` it is a compare-and-swap: 409 `NOTE_CONFLICT` with
/// `current` if another version is there.
#[utoipa::path(
    put, path = "/scratch/{*key}", tag = "scratch", request_body = NewNote,
        params(("key" = String, Path, description = "The note; its key may contain `/`")),
    responses((status = 200, body = view::memory::NotePutView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn put(
    State(context): Context,
    asked: Asked,
    Key(key): Key<NoteKey>,
    Body(body): Body<NewNote>,
) -> Result<Json<NotePutView>, ApiError> {
    let put = MemoryCommand::PutNote(body.of(key.clone()));
    let accepted = ask(&context, asked, put).await?;
    let answer = |state: &_| view::memory::put_note(state, &key, &taken(&accepted));
    Ok(Json(context.handle.read(answer)))
}

/// Drop a note.
#[utoipa::path(
    delete, path = "/scratch/{*key}", tag = "scratch", params(DropQuery,
        ("key" = String, Path, description = "The note; its key may contain `/`")),
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn drop_note(
    State(context): Context,
    asked: Asked,
    Key(key): Key<NoteKey>,
    Params(query): Params<DropQuery>,
) -> Result<Json<Done>, ApiError> {
    let put = PutNote {
        key,
        title: None,
        content: None,
        expected: query.expected_version,
        keep: false,
    };
    let seq = ask(&context, asked, MemoryCommand::PutNote(put)).await?.seq;
    Ok(Json(Done { seq }))
}
