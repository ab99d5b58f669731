//! The memory that agents share: `facts`, the `log` and searches, the scratchpad's `notes`, what a
//! `compact` drops and the `synthesis` of learnings. `stats` says what all of it is worth.
//!
//! Invariant: every change goes through [`ask`], so that none is without its author.

pub(super) mod compact;
pub(super) mod facts;
pub(super) mod log;
pub(super) mod notes;
pub(super) mod stats;
pub(super) mod synthesis;
mod types;

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;

use super::snapshot::state_at;
use crate::api::ApiContext;
use crate::api::error::ApiError;
use crate::api::extract::Asked;
use crate::daemon::actor::handle::Accepted;
use crate::daemon::memory::freshness;
use crate::domain::command::Command;
use crate::domain::memory::{BadKey, MemoryCommand};
use crate::domain::state::State;
use crate::view::describe::{self, Point};
use crate::view::memory::{Aged, HitView, Taken};

pub(super) use types::NewLearning;

/// Sends a command of whoever asks.
pub(super) async fn ask(
    context: &ApiContext,
    asked: Asked,
    command: MemoryCommand,
) -> Result<Accepted, ApiError> {
    let request = asked.to(Command::Memory(command));
    Ok(context.handle.request(request).await?)
}

/// What an accepted command did, for its answer.
pub(super) fn taken(accepted: &Accepted) -> Taken<'_> {
    Taken {
        seq: accepted.seq,
        events: &accepted.events,
        before: accepted.before.as_ref(),
    }
}

/// The paths of evidence that had changed on the target in this state.
async fn aged(context: &Arc<ApiContext>, then: Option<&State>) -> Result<Aged, ApiError> {
    let read = |state: &State| (freshness::seen_files(state), freshness::target_of(state));
    let (seen, target) = match then {
        Some(state) => read(state),
        None => context.handle.read(read),
    };
    let root = context.repo_root.clone();
    let aged = blocking(move || freshness::aged_in(&root, &seen, target.as_ref())).await?;
    Ok(aged.into())
}

/// The facts and learnings that are most similar to a text, without those in `except`.
pub(super) async fn similar(
    context: &Arc<ApiContext>,
    text: &str,
    except: &[&str],
) -> Result<Vec<HitView>, ApiError> {
    let (context, text) = (Arc::clone(context), text.to_owned());
    let except: Vec<String> = except.iter().map(ToString::to_string).collect();
    blocking(move || {
        let except: Vec<&str> = except.iter().map(String::as_str).collect();
        let read = |each: &mut dyn FnMut(&State)| context.handle.read(|state| each(state));
        context.finder.similar(&read, &text, &except)
    })
    .await
}

/// Does work that may take a while without holding up other requests.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiError::new(status, "INTERNAL", format!("the request failed: {error}"))
    })
}

/// A point in the log: a sequence number, or a time with its zone.
pub(super) fn point(text: &str) -> Result<Point, ApiError> {
    let seq = text.parse().ok().map(Point::Seq);
    let time = || describe::read(text, &jiff::tz::TimeZone::UTC).map(Point::Time);
    seq.or_else(time).ok_or_else(|| {
        let shown: String = text.chars().take(100).collect();
        ApiError::bad_request(format!(
            "`{}` is no sequence number and no time",
            shown.escape_debug()
        ))
    })
}

/// The state after a point of the log.
async fn state_then(context: &Arc<ApiContext>, at: &str) -> Result<State, ApiError> {
    state_at(context, point(at)?).await
}

/// The key in the path.
pub(super) struct Key<T>(pub(super) T);

impl<T, S> FromRequestParts<S> for Key<T>
where
    T: std::str::FromStr<Err = BadKey>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|rejection| {
            ApiError::bad_request(format!("the path is invalid: {rejection}"))
        })?;
        text.parse().map(Self).map_err(|error: BadKey| {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            ApiError::new(status, "KEY_INVALID", error.to_string())
        })
    }
}
