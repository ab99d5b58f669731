//! The routes: `commands` changes the state, all others read it or ask the daemon for something
//! that is no part of the state. A handler decides nothing itself.

mod agents;
mod checkpoints;
mod commands;
mod hooks;
mod ideas;
mod learnings;
mod memory;
mod merges;
mod provenance;
mod report;
mod snapshot;
mod swarm;
mod undo;

use std::sync::Arc;

use axum::extract::OriginalUri;
use axum::http::{Method, StatusCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::ApiContext;
use super::error::ApiError;

pub(crate) use snapshot::locate as locate_state;

/// All routes, without their prefix.
pub(super) fn all() -> OpenApiRouter<Arc<ApiContext>> {
    OpenApiRouter::new()
        .routes(routes!(commands::command))
        .routes(routes!(swarm::healthz))
        .routes(routes!(swarm::status))
        .routes(routes!(swarm::reload))
        .routes(routes!(swarm::clean))
        .routes(routes!(swarm::page_link))
        .routes(routes!(undo::preview))
        .routes(routes!(ideas::list))
        .routes(routes!(ideas::show))
        .routes(routes!(agents::list))
        .routes(routes!(agents::show))
        .routes(routes!(agents::state))
        .routes(routes!(agents::import))
        .routes(routes!(super::logs::logs))
        .routes(routes!(merges::list))
        .routes(routes!(merges::diff))
        .routes(routes!(checkpoints::list))
        .routes(routes!(checkpoints::show))
        .routes(routes!(checkpoints::preview))
        .routes(routes!(hooks::list))
        .merge(of_memory())
        .routes(routes!(provenance::list))
        .routes(routes!(provenance::show))
        .routes(routes!(snapshot::state))
        .routes(routes!(snapshot::diff))
        .routes(routes!(provenance::show_replay))
        .routes(routes!(provenance::replay_record))
        .routes(routes!(report::report))
        .routes(routes!(super::events::events))
}

/// The routes of what agents know together.
fn of_memory() -> OpenApiRouter<Arc<ApiContext>> {
    OpenApiRouter::new()
        .routes(routes!(learnings::list))
        .routes(routes!(memory::facts::board))
        .routes(routes!(memory::facts::show))
        .routes(routes!(memory::log::log))
        .routes(routes!(memory::log::search))
        .routes(routes!(memory::log::shown))
        .routes(routes!(memory::stats::stats))
        .routes(routes!(memory::synthesis::show))
        .routes(routes!(memory::notes::list))
        .routes(routes!(memory::notes::show))
}

/// Answers a request for an unknown path.
pub(super) async fn nothing_here(OriginalUri(uri): OriginalUri) -> ApiError {
    ApiError::not_found(uri.path())
}

/// Answers a request with a method that the path does not support.
pub(super) async fn wrong_method(method: Method, OriginalUri(uri): OriginalUri) -> ApiError {
    let path: String = uri.path().chars().take(200).collect();
    let message = format!("`{}` does not support {method}", path.escape_debug());
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
        message,
    )
    .suggest("see the header `Allow` of this answer for the supported methods")
}
