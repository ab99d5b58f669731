//! What agents know together, read: `facts`, the `log` and searches, the scratchpad's `notes`, and
//! what the next `synthesis` reads. `stats` says what all of it is worth.
//!
//! Invariant: reading is open to everybody, and what an iteration reads is counted.

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
use crate::daemon::memory::freshness;
use crate::domain::memory::BadKey;
use crate::domain::state::State;
use crate::view::describe::{self, Point};
use crate::view::memory::Aged;

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

/// Does work that may take a while without holding up other requests.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ApiError::failed(&error))
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
