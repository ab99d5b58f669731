//! The routes. A handler turns a request into a command or a view, and decides nothing itself.

mod agents;
mod checkpoints;
mod hooks;
mod ideas;
mod learnings;
mod memory;
mod merges;
mod provenance;
mod report;
mod resolution;
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
use super::extract::Asked;
use super::types::Done;
use crate::domain::command::Command;

pub(crate) use merges::approve_merge;
pub(crate) use resolution::resolve as resolve_merge;
pub(crate) use snapshot::locate as locate_state;

/// All routes, without their prefix.
pub(super) fn all() -> OpenApiRouter<Arc<ApiContext>> {
    OpenApiRouter::new()
        .routes(routes!(swarm::healthz))
        .routes(routes!(swarm::status))
        .routes(routes!(swarm::pause))
        .routes(routes!(swarm::resume))
        .routes(routes!(swarm::reload))
        .routes(routes!(swarm::clean))
        .routes(routes!(swarm::shutdown))
        .routes(routes!(swarm::page_link))
        .routes(routes!(undo::preview, undo::undo))
        .routes(routes!(ideas::list, ideas::add))
        .routes(routes!(ideas::show, ideas::edit))
        .routes(routes!(ideas::retry))
        .routes(routes!(ideas::cancel))
        .routes(routes!(ideas::assign))
        .routes(routes!(ideas::hold))
        .routes(routes!(ideas::unhold))
        .routes(routes!(agents::list))
        .routes(routes!(agents::show))
        .routes(routes!(agents::state))
        .routes(routes!(agents::stop))
        .routes(routes!(agents::say))
        .routes(routes!(agents::redirect))
        .routes(routes!(agents::import))
        .routes(routes!(super::logs::logs))
        .routes(routes!(merges::list))
        .routes(routes!(merges::target))
        .routes(routes!(merges::retry))
        .routes(routes!(merges::resolve))
        .routes(routes!(merges::diff))
        .routes(routes!(merges::approve))
        .routes(routes!(merges::reject))
        .routes(routes!(checkpoints::list, checkpoints::create))
        .routes(routes!(checkpoints::show, checkpoints::delete))
        .routes(routes!(checkpoints::preview))
        .routes(routes!(checkpoints::roll_back))
        .routes(routes!(hooks::list))
        .routes(routes!(hooks::approve))
        .merge(of_memory())
        .routes(routes!(provenance::list))
        .routes(routes!(provenance::show))
        .routes(routes!(snapshot::state))
        .routes(routes!(snapshot::diff))
        .routes(routes!(provenance::show_replay, provenance::replay_record))
        .routes(routes!(report::report))
        .routes(routes!(super::events::events))
}

/// The routes of what agents know together.
fn of_memory() -> OpenApiRouter<Arc<ApiContext>> {
    OpenApiRouter::new()
        .routes(routes!(learnings::list, learnings::learn))
        .routes(routes!(memory::facts::board))
        .routes(routes!(memory::facts::show, memory::facts::write))
        .routes(routes!(memory::facts::confirm))
        .routes(routes!(memory::facts::dispute))
        .routes(routes!(memory::facts::pin))
        .routes(routes!(memory::facts::retract))
        .routes(routes!(memory::compact::compact))
        .routes(routes!(memory::log::log))
        .routes(routes!(memory::log::search))
        .routes(routes!(memory::log::shown))
        .routes(routes!(memory::stats::stats))
        .routes(routes!(memory::synthesis::show))
        .routes(routes!(memory::synthesis::synthesize))
        .routes(routes!(memory::notes::list))
        .routes(routes!(
            memory::notes::show,
            memory::notes::put,
            memory::notes::drop_note
        ))
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

/// Executes a command.
async fn run(
    context: &ApiContext,
    asked: Asked,
    command: Command,
) -> Result<axum::Json<Done>, ApiError> {
    let accepted = context.handle.request(asked.to(command)).await?;
    Ok(axum::Json(Done { seq: accepted.seq }))
}
