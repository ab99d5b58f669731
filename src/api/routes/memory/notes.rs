//! The scratchpad: notes that all agents share.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::Key;
use super::types::ScratchQuery;
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::Params;
use crate::domain::memory::{MemoryRefusal, NoteKey};
use crate::domain::rejection::Rejection;
use crate::view;
use crate::view::memory::{NoteHeadView, NoteView};

type Context = State<Arc<ApiContext>>;

/// List the notes by key, without their texts.
#[utoipa::path(
    get, path = "/views/scratch", tag = "scratch", params(ScratchQuery),
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
    get, path = "/views/scratch/{*key}", tag = "scratch",
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
