//! Drops what is old from the state of the memory.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::{ask, taken};
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body};
use crate::api::types::Nothing;
use crate::domain::memory::MemoryCommand;
use crate::view;
use crate::view::memory::CompactedView;

/// Drop from the state the oldest learnings that support no fact, as far as there are more of them
/// than `memory.window`, and all but 8 earlier values of each fact. The event log keeps them.
#[utoipa::path(
    post, path = "/memory/compact", tag = "memory",
    responses((status = 200, body = view::memory::CompactedView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn compact(
    State(context): State<Arc<ApiContext>>,
    asked: Asked,
    _: Body<Nothing>,
) -> Result<Json<CompactedView>, ApiError> {
    let accepted = ask(&context, asked, MemoryCommand::Compact).await?;
    Ok(Json(view::memory::compacted(&taken(&accepted))))
}
