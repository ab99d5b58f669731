//! The swarm as a whole.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::Body;
use crate::api::schema;
use crate::api::types::{Clean, Health, Nothing, PageLink};
use crate::api::{ApiContext, ReloadError};
use crate::daemon::clean::Report;
use crate::view::answer::Done;
use crate::view::{self, Outside, StatusView, TargetNow};

type Context = State<Arc<ApiContext>>;

/// Check that the daemon is running.
#[utoipa::path(get, path = "/healthz", tag = "swarm", responses((status = 200, body = Health)))]
pub(super) async fn healthz(State(context): Context) -> Json<Health> {
    Json(Health {
        pid: context.pid,
        version: env!("CARGO_PKG_VERSION"),
        repo: context.repo_root.to_string_lossy().into_owned(),
        last_seq: context.handle.read(|state| state.seq),
    })
}

/// Show the swarm at a glance.
#[utoipa::path(get, path = "/views/status", tag = "swarm",
    responses((status = 200, body = view::StatusView)))]
pub(super) async fn status(State(context): Context) -> Json<StatusView> {
    let branch = context.handle.read(|state| {
        let settings = state.settings.as_deref();
        settings.map(|settings| settings.target.clone())
    });
    let target = match branch {
        Some(branch) => context.control.target(branch).await,
        None => TargetNow::Unknown,
    };
    let outside = Outside {
        is_past: false,
        pid: Some(context.pid),
        web_url: context.web_url.clone(),
        target,
        stalled: context.handle.stalled(),
        left_running: Vec::new(),
        killed: None,
    };
    Json(context.handle.read(|state| view::status(state, outside)))
}

/// Reload the configuration. An invalid one is refused, and the previous one stays in force.
#[utoipa::path(
    post, path = "/config/reload", tag = "swarm",
    responses((status = 200, body = Done),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn reload(
    State(context): Context,
    _: Body<Nothing>,
) -> Result<Json<Done>, ApiError> {
    let seq = context.control.reload().await?;
    Ok(Json(Done::at(seq)))
}

impl From<ReloadError> for ApiError {
    fn from(error: ReloadError) -> Self {
        let message = error.to_string();
        match error {
            ReloadError::Command(error) => error.into(),
            ReloadError::Invalid { suggestions, .. } => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                let mut error = Self::new(status, "CONFIG_INVALID", message);
                error.suggestions = suggestions;
                error.details("nothing was changed")
            }
        }
    }
}

/// Remove old output and leftovers, as far as that is safe while the daemon runs. The answer comes
/// when the names are gone; their content may still be being deleted.
#[utoipa::path(
    post, path = "/clean", tag = "swarm", request_body = Clean,
    responses((status = 200, body = schema::CleanReport),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn clean(
    State(context): Context,
    Body(body): Body<Clean>,
) -> Result<Json<Report>, ApiError> {
    let failed = |message: String| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "CLEAN_FAILED", message)
            .details("nothing was removed")
            .suggest("see what is wrong: swarm doctor")
    };
    let report = context.control.clean(body.dry_run).await;
    report.map(Json).map_err(failed)
}

/// Make a link that opens the web page once.
#[utoipa::path(
    post, path = "/page/links", tag = "swarm",
    responses((status = 200, body = PageLink),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn page_link(
    State(context): Context,
    _: Body<Nothing>,
) -> Result<Json<PageLink>, ApiError> {
    let Some(entrance) = &context.entrance else {
        let message = "this daemon was started without a web page";
        let error = ApiError::new(StatusCode::CONFLICT, "NO_PAGE", message);
        return Err(error.suggest("start it with one: swarm stop && swarm start"));
    };
    let (url, seconds) = entrance.link();
    Ok(Json(PageLink { url, seconds }))
}
