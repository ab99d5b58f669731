//! What the memory is worth.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::types::StatsQuery;
use super::{aged, state_then};
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::Params;
use crate::domain::state;
use crate::view;
use crate::view::memory::StatsView;

/// Measure what the memory is worth, now or then.
///
/// `sinceStart` counts what is not in the log: refused writes, since the daemon started.
#[utoipa::path(
    get, path = "/views/memory/stats", tag = "memory", params(StatsQuery),
    responses((status = 200, body = view::memory::StatsView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn stats(
    State(context): State<Arc<ApiContext>>,
    Params(query): Params<StatsQuery>,
) -> Result<Json<StatsView>, ApiError> {
    let then = match &query.at {
        Some(at) => Some(state_then(&context, at).await?),
        None => None,
    };
    let aged = aged(&context, then.as_ref()).await?;
    let seq = |state: &state::State| state.seq;
    let seq = then.as_ref().map_or_else(|| context.handle.read(seq), seq);
    let measures = context.measured.at(&context.log, seq).await;
    let measures = measures.map_err(|error| ApiError::unreadable("the event log", &error))?;
    let counts = then.is_none().then(|| context.handle.tally().since_start());
    let read = |state: &state::State| view::memory::stats(state, &aged, &measures, counts);
    Ok(Json(match &then {
        Some(state) => read(state),
        None => context.handle.read(read),
    }))
}
