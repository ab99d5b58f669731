//! The stylesheet and the script: in the program, with their hash in the path, so that browsers
//! keep them for ever and a new version has new names.
//!
//! `htmx.min.js` and `hx-sse.min.js` are htmx 4.0.1 (see `HTMX-LICENSE`); the rest is ours.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest as _, Sha256};

use super::Site;

/// A file under `assets/`.
struct Asset {
    name: String,
    content_type: &'static str,
    content: String,
}

static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let content = [
        include_str!("swarm.css"),
        include_str!("own.css"),
        include_str!("own-ideas.css"),
    ]
    .concat();
    asset("css", "text/css; charset=utf-8", content)
});

static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    // Ours comes last: htmx begins in a task of its own, when all of this has run.
    let parts = [
        include_str!("htmx.min.js"),
        include_str!("hx-sse.min.js"),
        include_str!("app.js"),
        include_str!("ideas.js"),
    ];
    asset("js", "text/javascript; charset=utf-8", parts.join("\n;\n"))
});

fn asset(ending: &str, content_type: &'static str, content: String) -> Asset {
    let digest = Sha256::digest(content.as_bytes());
    let hash: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Asset {
        name: format!("{hash}.{ending}"),
        content_type,
        content,
    }
}

/// The stylesheet's path below the pages.
pub fn style() -> String {
    format!("assets/{}", STYLE.name)
}

/// The script's path below the pages.
pub fn script() -> String {
    format!("assets/{}", SCRIPT.name)
}

/// The route of the assets; they hold no secret and need no session.
pub fn routes() -> Router<Arc<Site>> {
    Router::new().route("/assets/{name}", get(serve))
}

async fn serve(Path(name): Path<String>) -> Response {
    let found = [&*STYLE, &*SCRIPT].into_iter().find(|one| one.name == name);
    let Some(asset) = found else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (CONTENT_TYPE, asset.content_type),
        (CACHE_CONTROL, "private, max-age=31536000, immutable"),
    ];
    (headers, asset.content.as_str()).into_response()
}
