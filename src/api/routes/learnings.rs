//! Learnings.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::memory::{NewLearning, ask, similar, taken};
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body};
use crate::domain::memory::{Learn, MemoryCommand};
use crate::view::memory::LearnedView;
use crate::view::{self, LearningView};

type Context = State<Arc<ApiContext>>;

/// List what agents have learned, oldest first.
#[utoipa::path(get, path = "/learnings", tag = "learnings",
    responses((status = 200, body = Vec<view::LearningView>)))]
pub(super) async fn list(State(context): Context) -> Json<Vec<LearningView>> {
    Json(context.handle.read(view::learnings))
}

/// Record a learning. One with a key is a claim about that fact. The answer names similar facts and
/// learnings, so that the writer can say that one of them is meant.
#[utoipa::path(
    post, path = "/learnings", tag = "learnings", request_body = NewLearning,
    responses((status = 200, body = view::memory::LearnedView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn learn(
    State(context): Context,
    asked: Asked,
    Body(body): Body<NewLearning>,
) -> Result<Json<LearnedView>, ApiError> {
    let learn = Learn::from(body);
    let accepted = ask(&context, asked, MemoryCommand::Learn(learn.clone())).await?;
    let taken = taken(&accepted);
    let own = |state: &_| view::memory::learned_references(state, &learn, &taken);
    let own = context.handle.read(own);
    let except: Vec<&str> = own.iter().map(String::as_str).collect();
    let similar = similar(&context, &learn.content, &except).await?;
    let answer = |state: &_| view::memory::learned(state, &learn, &taken, similar);
    Ok(Json(context.handle.read(answer)))
}
