//! What the next synthesis reads, and its start.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::types::Synthesize;
use super::{ask, blocking, taken};
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body};
use crate::daemon::memory::news::news;
use crate::domain::memory::MemoryCommand;
use crate::domain::state;
use crate::view;
use crate::view::memory::{NewsView, SynthesisBegunView};

type Context = State<Arc<ApiContext>>;

/// Show what the next synthesis reads: new learnings, those with similar words together.
#[utoipa::path(get, path = "/memory/news", tag = "memory",
    responses((status = 200, body = view::memory::NewsView),
        (status = "default", description = "Failed", body = ErrorBody)))]
pub(in crate::api::routes) async fn show(
    State(context): Context,
) -> Result<Json<NewsView>, ApiError> {
    let state = context.handle.read(state::State::clone);
    blocking(move || news(&state, None)).await.map(Json)
}

/// Start a synthesis: a run of an agent that reads the new learnings and writes facts.
#[utoipa::path(
    post, path = "/memory/synthesize", tag = "memory", request_body = Synthesize,
    responses((status = 200, body = view::memory::SynthesisBegunView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn synthesize(
    State(context): Context,
    asked: Asked,
    Body(body): Body<Synthesize>,
) -> Result<Json<SynthesisBegunView>, ApiError> {
    let profile = body.profile;
    let accepted = ask(&context, asked, MemoryCommand::Synthesize { profile }).await?;
    Ok(Json(view::memory::synthesis_begun(&taken(&accepted))))
}
