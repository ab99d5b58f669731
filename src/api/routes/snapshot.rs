//! Earlier states, and what differs between two.
//!
//! Invariant: only reads. The states and differences are those of `swarm replay --at` and `swarm
//! snapshot diff`, by the same functions.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::memory::blocking;
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::extract::Params;
use crate::daemon::Paths;
use crate::daemon::offline::{self, Upto};
use crate::domain::decide::unknown_checkpoint;
use crate::domain::ids::CheckpointName;
use crate::domain::state;
use crate::domain::time::Timestamp;
use crate::view::describe::{self, POINTS, Point};
use crate::view::snapshot::{Comparison, Named, STATES, Section};

type Context = State<Arc<ApiContext>>;

/// The longest part of a wrong value that an error repeats, in characters.
const REPEATED: usize = 100;

/// Selects a state.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct AtQuery {
    /// The state after this event, or after the last event that is not later than this time or
    /// age; default: now.
    #[serde(default)]
    at: Option<String>,
}

/// Selects two states.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct DiffQuery {
    /// The first state: `now`, `prev`, an event number, a time, an age or `checkpoint:NAME`.
    #[serde(default)]
    #[param(required = true)]
    from: Option<String>,
    /// The second state, likewise; default: `now`.
    #[serde(default)]
    to: Option<String>,
    /// Compare only this section.
    #[serde(default)]
    section: Option<Section>,
}

/// Show the whole state, now or at an earlier event.
///
/// It is what `swarm replay --at` prints, and may change with every version.
#[utoipa::path(
    get, path = "/views/state", tag = "swarm", params(AtQuery),
    responses((status = 200, body = Object, content_type = "application/json"),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn state(
    State(context): Context,
    Params(query): Params<AtQuery>,
) -> Result<Response, ApiError> {
    let found = match &query.at {
        None => context.handle.read(state::State::clone),
        Some(text) => state_at(&context, point(text)?).await?,
    };
    json(move || found).await
}

/// Show what differs between two states.
#[utoipa::path(
    get, path = "/views/snapshot/diff", tag = "swarm", params(DiffQuery),
    responses((status = 200, body = Comparison),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(super) async fn diff(
    State(context): Context,
    Params(query): Params<DiffQuery>,
) -> Result<Response, ApiError> {
    let from = query.from.ok_or_else(|| {
        ApiError::bad_request("the query is invalid: `from` is missing").suggest(STATES)
    })?;
    let from = named(&context, &from).await?;
    let to = named(&context, query.to.as_deref().unwrap_or("now")).await?;
    json(move || Comparison::of(&from, &to, query.section)).await
}

/// An answer that may be large, made without holding up other requests.
async fn json<T: Serialize>(
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<Response, ApiError> {
    let written = blocking(move || serde_json::to_vec(&make())).await?;
    let bytes = written.map_err(|error| {
        let message = format!("the answer cannot be written: {error}");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", message)
    })?;
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes).into_response())
}

async fn named(context: &Arc<ApiContext>, text: &str) -> Result<state::State, ApiError> {
    match locate(context, text).await? {
        None => Ok(context.handle.read(state::State::clone)),
        Some(point) => state_at(context, point).await,
    }
}

/// Where in the log the state is that somebody named; `None` is the present state.
///
/// # Errors
/// The text names no state; there is no such checkpoint or snapshot.
pub(crate) async fn locate(
    context: &Arc<ApiContext>,
    text: &str,
) -> Result<Option<Point>, ApiError> {
    let named = Named::parse(text, &TimeZone::system(), now());
    let named = named.ok_or_else(|| no_state(text))?;
    match named {
        Named::Now => Ok(None),
        Named::Point(point) => Ok(Some(point)),
        Named::Checkpoint(name) => {
            let name: CheckpointName = name.parse().map_err(|_| no_state(text))?;
            let seq = context
                .handle
                .read(|state| match state.checkpoints.get(&name) {
                    Some(checkpoint) => Ok(checkpoint.seq),
                    None => Err(unknown_checkpoint(state, &name)),
                });
            Ok(Some(Point::Seq(seq?)))
        }
        Named::Previous => {
            let paths = Paths::new(&context.repo_root);
            let seq = blocking(move || offline::previous_snapshot(&paths)).await?;
            let seq = seq.ok_or_else(|| {
                let message =
                    "there is no earlier snapshot yet; swarm takes one every 1,000 events";
                ApiError::new(StatusCode::NOT_FOUND, "SNAPSHOT_NONE", message).suggest(STATES)
            })?;
            Ok(Some(Point::Seq(seq)))
        }
    }
}

fn no_state(text: &str) -> ApiError {
    ApiError::bad_request(format!("`{}` is no state", repeated(text)))
        .suggest(STATES)
        .suggest(POINTS)
}

fn point(text: &str) -> Result<Point, ApiError> {
    describe::point(text, &TimeZone::system(), now()).ok_or_else(|| {
        let message = format!("`{}` is no event number, age or time", repeated(text));
        ApiError::bad_request(message).suggest(POINTS)
    })
}

fn repeated(text: &str) -> String {
    let shown: String = text.chars().take(REPEATED).collect();
    shown.escape_debug().to_string()
}

fn now() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}

/// The state at a point of the log.
pub(super) async fn state_at(
    context: &Arc<ApiContext>,
    point: Point,
) -> Result<state::State, ApiError> {
    let last = context.handle.read(|state| state.seq);
    let upto = match point {
        Point::Seq(seq) if seq > last => {
            let message = format!("there is no event {seq} yet; the last one is {last}");
            return Err(
                ApiError::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
                    .suggest("see the events: swarm events")
                    .suggest(POINTS),
            );
        }
        Point::Seq(seq) => Upto::Seq(seq),
        Point::Time(time) => Upto::Time(time),
    };
    let log = Arc::clone(&context.log);
    let state = blocking(move || log.state_at(upto)).await?;
    let state = state.map_err(|error| ApiError::unreadable("the event log", &error))?;
    match upto {
        Upto::Seq(seq) if state.seq != seq => {
            let message = format!("event {seq} is gone: the repaired log starts later");
            Err(ApiError::new(StatusCode::NOT_FOUND, "EVENT_GONE", message)
                .suggest("see its first event: swarm events"))
        }
        Upto::Seq(_) | Upto::Time(_) | Upto::End => Ok(state),
    }
}
