//! The description of the interface, made of the routes themselves.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::routing::get;
use utoipa::openapi::{Info, License, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use super::ApiContext;

/// Where everything lies.
pub(super) const PREFIX: &str = "/api/v1";

/// The routes under their prefix, and their description.
pub(super) fn describe(
    routes: OpenApiRouter<Arc<ApiContext>>,
) -> (Router<Arc<ApiContext>>, OpenApi) {
    let all = OpenApiRouter::new().nest(PREFIX, routes);
    let (served, mut description) = all.split_for_parts();
    description.info = info();
    (served, description)
}

fn info() -> Info {
    let mut info = Info::new("swarm", env!("CARGO_PKG_VERSION"));
    info.description = Some(
        "Everything that the command line does. A change is answered when it is on disk; `seq` is its event's sequence number."
            .to_owned(),
    );
    info.license = Some(License::new(env!("CARGO_PKG_LICENSE")));
    info
}

/// The route that gives the description.
pub(super) fn route(description: &OpenApi) -> Router<Arc<ApiContext>> {
    let json = description
        .to_json()
        .expect("a description made of strings and maps is JSON");
    let json = Bytes::from(json);
    let content_type = HeaderValue::from_static("application/json");
    let answer = move || async move { ([(header::CONTENT_TYPE, content_type)], json) };
    Router::new().route(&format!("{PREFIX}/openapi.json"), get(answer))
}
