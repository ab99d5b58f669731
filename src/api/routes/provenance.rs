//! Provenance records: what each iteration was given, what it did, and what came of it.
//!
//! Invariant: reads only, but for the request of a replay. A record that differs from its digest in
//! the event log is refused.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::memory::{blocking, point};
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::{Asked, Body, Id, Params};
use crate::daemon::Paths;
use crate::daemon::provenance::verify::{Condition, Unserved, load};
use crate::daemon::provenance::{find, log, replay};
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, IdeaId, ProfileName};
use crate::domain::operation::Command;
use crate::view::provenance::replay::under_way;
use crate::view::provenance::{MatchStatus, Record, RecordFilter, RecordView, ReplayView};

type Context = State<Arc<ApiContext>>;

/// The most records in one answer.
const MAX_RECORDS: usize = 1_000;

/// Selects provenance records.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct RecordQuery {
    /// Only records of this idea.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    idea: Option<IdeaId>,
    /// Only records of this agent.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    agent: Option<AgentId>,
    /// Only records whose last replay had this verdict.
    #[serde(default, rename = "match")]
    matches: Option<MatchStatus>,
    /// Only what was recorded after this sequence number or time.
    #[serde(default)]
    since: Option<String>,
    /// At most this many records, the newest; default and maximum: 1000.
    #[serde(default)]
    limit: Option<usize>,
}

/// List the provenance records, newest first.
///
/// The list comes from the event log alone, so it names records that have expired too.
#[utoipa::path(
    get, path = "/views/provenance", tag = "provenance", params(RecordQuery),
    responses((status = 200, body = Vec<RecordView>),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn list(
    State(context): Context,
    Params(query): Params<RecordQuery>,
) -> Result<Json<Vec<RecordView>>, ApiError> {
    let limit = query.limit.unwrap_or(MAX_RECORDS).min(MAX_RECORDS);
    let filter = RecordFilter {
        idea: query.idea,
        agent: query.agent,
        matches: query.matches,
        since: query.since.as_deref().map(point).transpose()?,
    };
    let (paths, last) = place(&context);
    let read = blocking(move || log::records(&paths, last)).await?;
    let log = read.map_err(|error| unreadable(&error))?;
    Ok(Json(log.wanted(&filter, limit)))
}

/// Show one provenance record.
///
/// The id is that of a run, an idea (its last record) or a commit.
#[utoipa::path(
    get, path = "/views/provenance/{id}", tag = "provenance",
        params(("id" = String, Path, description = "A run, an idea or a commit")),
    responses((status = 200, body = Record),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn show(
    State(context): Context,
    Id(id): Id<String>,
) -> Result<Json<Record>, ApiError> {
    let (_, record) = served(&context, id).await?;
    Ok(Json(record))
}

/// The line and the record that are meant. The record says what replays found since.
async fn served(context: &ApiContext, id: String) -> Result<(RecordView, Record), ApiError> {
    let (paths, last) = place(context);
    let landings = context.handle.read(find::landings);
    let work = move || {
        let log = log::records(&paths, last).map_err(|error| unreadable(&error))?;
        let line = meant(&paths, &log, &landings, &id)?;
        let bytes = load(&paths, &log, &line).map_err(|error| unserved(&error))?;
        let record = serde_json::from_slice(&bytes);
        let mut record: Record = record.map_err(|error| unreadable(&error))?;
        record.replay_status = line.replay_status();
        Ok((line, record))
    };
    blocking(work).await?
}

fn meant(
    paths: &Paths,
    log: &log::RecordLog,
    landings: &find::Landings,
    id: &str,
) -> Result<RecordView, ApiError> {
    let found = find::find(paths, log, landings, id);
    let found = found.map_err(|error| unreadable(&error))?;
    found.cloned().ok_or_else(|| unknown(id))
}

/// How to replay a record.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ReplayRecord)]
pub(in crate::api) struct ReplayBody {
    /// The profile; default: that of the recorded iteration.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    profile: Option<ProfileName>,
}

/// A replay that was accepted.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::api) struct ReplayBegun {
    /// The recorded run.
    of: String,
    /// The run of the replay.
    run: String,
    /// The event that says so.
    seq: u64,
}

/// Replay a recorded iteration: today's program gets the recorded prompt, in a worktree of its own.
///
/// It takes a slot and spends money, and it never lands. Ask for the result with GET.
#[utoipa::path(
    post, path = "/provenance/{id}/replay", tag = "provenance", request_body = ReplayBody,
        params(("id" = String, Path, description = "A run, an idea or a commit")),
    responses((status = 200, body = ReplayBegun),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn replay_record(
    State(context): Context,
    Id(id): Id<String>,
    asked: Asked,
    Body(body): Body<ReplayBody>,
) -> Result<Json<ReplayBegun>, ApiError> {
    let (line, record) = served(&context, id).await?;
    let profile = if let Some(profile) = body.profile {
        profile
    } else {
        let recorded = record.config.agent.name.parse();
        recorded.map_err(|_| {
            not_replayable(&line, "it names no profile")
                .suggest("name one in the body: {\"profile\": \"NAME\"}")
        })?
    };
    let paths = Paths::new(&context.repo_root);
    let start = blocking(move || replay::start_of(&paths, &record)).await?;
    start
        .map_err(|error| unreadable(&error))?
        .map_err(|why| not_replayable(&line, &why))?;
    let sha256 = line.sha256.clone();
    let sha256 = sha256.ok_or_else(|| not_replayable(&line, "it was never written"))?;
    let of = line.run;
    let command = Command::ReplayRecord {
        of: of.clone(),
        sha256,
        profile,
    };
    let accepted = context.handle.request(asked.to(command)).await?;
    let asked = accepted.events.iter().find_map(|event| {
        let Event::ReplayAsked(asked) = event else {
            return None;
        };
        Some(asked.run.to_string())
    });
    let before = accepted.before.and_then(|before| before.answer);
    Ok(Json(ReplayBegun {
        of: of.to_string(),
        run: asked.or(before).ok_or_else(|| {
            let message = "the replay was asked for, but its run is not known".to_owned();
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", message)
                .suggest("see it: swarm provenance list")
        })?,
        seq: accepted.seq,
    }))
}

/// Show the replay of a record that is under way, or else the last verdict with all its measures.
#[utoipa::path(
    get, path = "/views/provenance/{id}/replay", tag = "provenance",
        params(("id" = String, Path, description = "A run, an idea or a commit")),
    responses((status = 200, body = ReplayView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn show_replay(
    State(context): Context,
    Id(id): Id<String>,
) -> Result<Json<ReplayView>, ApiError> {
    // Whoever waits for the end asks often: while it is under way, the log is not read.
    if let Ok(run) = id.parse()
        && let Some(current) = context.handle.read(|state| under_way(state, &run))
    {
        return Ok(Json(ReplayView {
            run,
            under_way: Some(current),
            last: None,
        }));
    }
    let (paths, last) = place(&context);
    let landings = context.handle.read(find::landings);
    let work = move || {
        let log = log::records(&paths, last).map_err(|error| unreadable(&error))?;
        let run = meant(&paths, &log, &landings, &id)?.run;
        let last = log::last_replay(&paths, last, &run).map_err(|error| unreadable(&error))?;
        Ok::<_, ApiError>((run, last))
    };
    let (run, last) = blocking(work).await??;
    let under_way = context.handle.read(|state| under_way(state, &run));
    Ok(Json(ReplayView {
        last: last.filter(|_| under_way.is_none()),
        run,
        under_way,
    }))
}

fn not_replayable(line: &RecordView, why: &str) -> ApiError {
    let message = format!("the record of {} cannot be replayed: {why}", line.run);
    ApiError::new(StatusCode::CONFLICT, "RECORD_NOT_REPLAYABLE", message)
        .suggest("list the records: swarm provenance list")
}

/// The files of the repository, and the last event.
fn place(context: &ApiContext) -> (Paths, u64) {
    let last = context.handle.read(|state| state.seq);
    (Paths::new(&context.repo_root), last)
}

fn unreadable(error: &dyn std::fmt::Display) -> ApiError {
    let message = format!("the provenance records cannot be read: {error}");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "DISK", message)
        .suggest("see what is wrong: swarm doctor")
}

fn unknown(id: &str) -> ApiError {
    let id: String = id.chars().take(100).collect();
    let message = format!("no record belongs to `{}`", id.escape_debug());
    ApiError::new(StatusCode::NOT_FOUND, "RECORD_UNKNOWN", message)
        .suggest("list them: swarm provenance list")
}

fn unserved(error: &Unserved) -> ApiError {
    let status = match error {
        Unserved::Daemon(error) => return unreadable(error),
        Unserved::Record { condition, .. } => match condition {
            Condition::NotRecorded => StatusCode::NOT_FOUND,
            Condition::Expired => StatusCode::GONE,
            Condition::Intact
            | Condition::Missing
            | Condition::Damaged
            | Condition::TreeMissing => StatusCode::CONFLICT,
        },
    };
    ApiError::new(status, error.code(), error.to_string())
        .suggest("check all of them: swarm provenance verify --all")
}
