//! The page of a refused or failed request.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use crate::api::ApiError;
use crate::web::document::{Page, Place, bare};
use crate::web::parts::capital;

/// Why there is no page, or why an action had no effect.
#[derive(Debug)]
pub struct WebError(ApiError);

impl WebError {
    /// The address names nothing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self(ApiError::new(StatusCode::NOT_FOUND, "NOT_FOUND", message))
    }

    /// The address or the form is wrong.
    pub fn bad(message: impl Into<String>) -> Self {
        Self(ApiError::new(
            StatusCode::BAD_REQUEST,
            "BAD_REQUEST",
            message,
        ))
    }

    /// Something of ours failed.
    pub fn failed(message: impl Into<String>) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self(ApiError::new(status, "PAGE_FAILED", message))
    }

    /// A page that says why there is no other.
    pub fn page(&self) -> Page {
        Page {
            title: "Nothing to show".into(),
            place: Place::Nowhere,
            main: html! { div .empty { (self.words()) } },
        }
    }

    fn words(&self) -> Markup {
        let Self(error) = self;
        html! {
            h1 { (capital(&error.message)) }
            @if !error.details.is_empty() { p .lead { (error.details) } }
            @for suggestion in &error.suggestions { p .sub.sec2 { (suggestion) } }
        }
    }

    /// What a refused request says.
    pub fn refusal(&self) -> &ApiError {
        &self.0
    }
}

impl From<ApiError> for WebError {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let mut response = bare("swarm", &self.words());
        *response.status_mut() = self.0.status;
        response
    }
}
