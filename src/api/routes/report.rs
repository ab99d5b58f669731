//! The report.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use crate::api::ApiContext;
use crate::api::extract::Params;
use crate::api::types::ReportQuery;
use crate::view::{self, ReportView};

/// Report what landed, failed, waits and was used, since a time or overall.
#[utoipa::path(get, path = "/views/report", tag = "swarm", params(ReportQuery),
    responses((status = 200, body = view::ReportView)))]
pub(super) async fn report(
    State(context): State<Arc<ApiContext>>,
    Params(query): Params<ReportQuery>,
) -> Json<ReportView> {
    Json(
        context
            .handle
            .read(|state| view::report(state, query.since)),
    )
}
