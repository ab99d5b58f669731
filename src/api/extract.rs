//! Turns requests into typed values. A refusal has the shape of [`ApiError`] and says what is
//! allowed.
//!
//! Invariant: every body is at most [`MAX_BODY_BYTES`] long, a file as long as its route allows,
//! and arrives within [`BODY_TIMEOUT`].

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::ApiError;
pub(super) use super::sender::{Asked, Reader};

/// The longest accepted body, in bytes.
pub const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// How long a body may take to arrive.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A JSON body. If every field is optional, so is the body.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = bytes(request, state).await?;
        let bytes = bytes.map_err(|rejection| unread(&rejection))?;
        parse(&bytes).map(Self)
    }
}

/// A body that is a file, at most `MAX` bytes long, whatever is in it.
pub(super) struct FileBody<const MAX: usize>(pub(super) Vec<u8>);

impl<const MAX: usize, S: Send + Sync> FromRequest<S> for FileBody<MAX> {
    type Rejection = ApiError;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, ApiError> {
        DefaultBodyLimit::max(MAX).apply(&mut request);
        let bytes = bytes(request, state).await?;
        let bytes = bytes.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large(MAX),
            _ => unread(&rejection),
        })?;
        Ok(Self(bytes.into()))
    }
}

async fn bytes<S: Send + Sync>(
    request: Request,
    state: &S,
) -> Result<Result<Bytes, BytesRejection>, ApiError> {
    let read = Bytes::from_request(request, state);
    let read = tokio::time::timeout(BODY_TIMEOUT, read).await;
    read.map_err(|_| too_slow())
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    // serde would accept a list as the values of the fields.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(ApiError::bad_request("the body must be a JSON object"));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::bad_request(format!("the body is invalid: {error}")))
}

fn unread(rejection: &BytesRejection) -> ApiError {
    if rejection.status() != StatusCode::PAYLOAD_TOO_LARGE {
        return ApiError::bad_request(format!("the body could not be read: {rejection}"));
    }
    too_large(MAX_BODY_BYTES)
        .suggest("put the long part into a file in the repository and name that file")
}

fn too_large(most: usize) -> ApiError {
    let message = format!("the body is longer than {most} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", message)
}

fn too_slow() -> ApiError {
    let message = format!(
        "the body did not arrive within {} s",
        BODY_TIMEOUT.as_secs()
    );
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "BODY_TOO_SLOW", message)
}

/// The parameters after the `?`.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => Err(ApiError::bad_request(format!(
                "the query is invalid: {}",
                cause(&rejection)
            ))),
        }
    }
}

/// The innermost message of an error.
fn cause(error: &dyn std::error::Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

/// The id in the path.
pub(super) struct Id<T>(pub(super) T);

impl<T, S> FromRequestParts<S> for Id<T>
where
    T: FromStr<Err: Display>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|rejection| {
                ApiError::bad_request(format!("the path is invalid: {rejection}"))
            })?;
        text.parse()
            .map(Self)
            .map_err(|error| ApiError::bad_request(format!("the path is invalid: {error}")))
    }
}
