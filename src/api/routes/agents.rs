//! Agents.

use std::io;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use tokio::task::spawn_blocking;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, FileBody, Id, Params};
use crate::api::types::ImportAgentQuery;
use crate::api::{ApiContext, EventLog};
use crate::daemon::agent_import::{self, ImportError, MAX_BYTES, Sender, Wanted};
use crate::daemon::{DaemonError, Paths, agent_state};
use crate::domain::event::Event;
use crate::domain::ids::AgentId;
use crate::domain::rejection::Rejection;
use crate::view::agent_state::AgentState;
use crate::view::agent_state::import::ImportResult;
use crate::view::{self, AgentView};

type Context = State<Arc<ApiContext>>;

/// List all agents, including ended ones, oldest first.
#[utoipa::path(get, path = "/views/agents", tag = "agents",
    responses((status = 200, body = Vec<view::AgentView>)))]
pub(super) async fn list(State(context): Context) -> Json<Vec<AgentView>> {
    Json(context.handle.read(view::agents))
}

/// Show one agent, running or ended.
#[utoipa::path(
    get, path = "/views/agents/{id}", tag = "agents",
        params(("id" = String, Path, description = "The agent")),
    responses((status = 200, body = view::AgentView),
        (status = "default", description = "Refused", body = ErrorBody)),
)]
pub(super) async fn show(
    State(context): Context,
    Id(id): Id<AgentId>,
) -> Result<Json<AgentView>, ApiError> {
    let agent = context.handle.read(|state| view::agent(state, &id));
    let unknown = || ApiError::from(Rejection::AgentUnknown(id));
    agent.map(Json).ok_or_else(unknown)
}

/// The state of one agent on its own: its messages and what it was told, running or ended.
#[utoipa::path(
    get, path = "/views/agents/{id}/state", tag = "agents", params(("id" = String, Path,
        description = "The agent")),
    responses((status = 200, body = view::agent_state::AgentState),
        (status = "default", description = "Refused", body = ErrorBody)),
)]
pub(super) async fn state(
    State(context): Context,
    Id(id): Id<AgentId>,
) -> Result<Json<AgentState>, ApiError> {
    let (from, last) = context
        .handle
        .read(|state| (view::agent_state::from_state(state, &id), state.seq));
    let Some(mut from) = from else {
        return Err(Rejection::AgentUnknown(id).into());
    };
    if from.has_ended {
        let log = Arc::clone(&context.log);
        let events = spawn_blocking(move || shown_events(log.as_ref(), last)).await;
        let events = events.map_err(io::Error::other).and_then(|events| events);
        let events = events.map_err(|error| ApiError::unreadable("the event log", &error))?;
        context.handle.read(|state| from.add_shown(state, &events));
    }
    let paths = Paths::new(&context.repo_root);
    let state = spawn_blocking(move || agent_state::complete(&paths, from)).await;
    let state = state.map_err(io::Error::other).and_then(|state| state);
    let unreadable = |error| ApiError::unreadable("the agent's output", &error);
    state.map(Json).map_err(unreadable)
}

/// The events up to `last` that say what agents were shown of the memory.
fn shown_events(log: &dyn EventLog, last: u64) -> io::Result<Vec<Event>> {
    let mut events = Vec::new();
    log.scan(0, last, &mut |one| {
        if matches!(one.event, Event::MemoryShown(_)) {
            events.push(one.event);
        }
    })?;
    Ok(events)
}

/// Let an idea go on from an agent's exported state, which is the body: `GET /agents/{id}/state` of
/// the agent's own swarm, at most 64 MiB. The first prompt of each further attempt at the idea says
/// what the agent did. A packed file (`.tar.zst`) is imported on the command line only.
#[utoipa::path(
    post, path = "/agents/import", tag = "agents", params(ImportAgentQuery),
    request_body = view::agent_state::AgentState,
    responses((status = 200, body = view::agent_state::import::ImportResult),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn import(
    State(context): Context,
    asked: Asked,
    Params(query): Params<ImportAgentQuery>,
    FileBody(bytes): FileBody<MAX_BYTES>,
) -> Result<Json<ImportResult>, ApiError> {
    let paths = Paths::new(&context.repo_root);
    let wanted = Wanted {
        idea: query.idea_id,
        profile: query.profile,
        check: query.check,
    };
    let sender = Sender {
        by: asked.by,
        operation: asked.operation,
    };
    let imported = agent_import::through(&context.handle, &paths, bytes, wanted, sender).await;
    imported.map(Json).map_err(|error| match error {
        ImportError::Command(error) => error.into(),
        ImportError::Daemon(error) => refused(error),
    })
}

fn refused(error: DaemonError) -> ApiError {
    let suggestions = error.suggestions();
    let message = error.to_string();
    let (status, code) = match error {
        DaemonError::Rejected(rejection) => return rejection.into(),
        DaemonError::AgentFileRefused { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "AGENT_FILE"),
        DaemonError::Config(_) => (StatusCode::CONFLICT, "CONFIG"),
        DaemonError::NotSetUp { .. }
        | DaemonError::Locked { .. }
        | DaemonError::AgentUnusable(_)
        | DaemonError::AgentsUnfit(_)
        | DaemonError::Layout(_)
        | DaemonError::TargetMissing(_)
        | DaemonError::NoTarget
        | DaemonError::Git(_)
        | DaemonError::GitProgramsNew(_)
        | DaemonError::GitProgramsUnreadable(_)
        | DaemonError::Journal(_)
        | DaemonError::LogGone
        | DaemonError::EndGone(_)
        | DaemonError::Archive(_)
        | DaemonError::Append(_)
        | DaemonError::DiskFailed(_)
        | DaemonError::NewerRun(_)
        | DaemonError::WayNotOffered
        | DaemonError::RunsAlive(_)
        | DaemonError::NotImportable { .. }
        | DaemonError::SwarmThere { .. }
        | DaemonError::Io { .. } => (StatusCode::SERVICE_UNAVAILABLE, "DISK"),
    };
    let refused = ApiError::new(status, code, message);
    suggestions.into_iter().fold(refused, ApiError::suggest)
}
