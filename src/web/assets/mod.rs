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
use crate::web::entry::access::hex;

/// A file under `assets/`.
struct Asset {
    name: String,
    content_type: &'static str,
    content: String,
}

static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let parts = [
        include_str!("swarm.css"),
        include_str!("own.css"),
        include_str!("own-frame.css"),
        include_str!("own-dialogs.css"),
        include_str!("own-checkpoints.css"),
        include_str!("own-ideas.css"),
        include_str!("own-log.css"),
        include_str!("own-time.css"),
    ];
    asset("css", "text/css; charset=utf-8", parts.concat())
});

static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    // Ours comes last: htmx begins in a task of its own, when all of this has run.
    let parts = [
        include_str!("htmx.min.js"),
        include_str!("hx-sse.min.js"),
        include_str!("app.js"),
        include_str!("live.js"),
        include_str!("keys.js"),
        include_str!("dialogs.js"),
        include_str!("checkpoints.js"),
        include_str!("ideas.js"),
        include_str!("log.js"),
        include_str!("time.js"),
    ];
    asset("js", "text/javascript; charset=utf-8", parts.join("\n;\n"))
});

fn asset(ending: &str, content_type: &'static str, content: String) -> Asset {
    let digest = Sha256::digest(content.as_bytes());
    let hash = hex(&digest[..8]);
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

/// Changes with the script and the stylesheet, so that a page of an older program is loaded anew.
pub fn version() -> &'static str {
    SCRIPT.name.split('.').next().unwrap_or_default()
}

/// What the icon in a browser's tab says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TabIcon {
    /// It runs, and nothing needs a person.
    Running,
    /// Something needs a person.
    Waiting,
    /// It is paused, or ends.
    Paused,
    /// An earlier moment.
    Past,
}

static ICONS: LazyLock<[(TabIcon, Asset); 4]> = LazyLock::new(|| {
    [
        (TabIcon::Running, "#2f6bdc"),
        (TabIcon::Waiting, "#b26a00"),
        (TabIcon::Paused, "#7b7f87"),
        (TabIcon::Past, "#7a4fd0"),
    ]
    .map(|(icon, colour)| (icon, tab_icon(colour)))
});

fn tab_icon(colour: &str) -> Asset {
    let content = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 20 20\">\
         <g fill=\"none\" stroke=\"{colour}\" stroke-linecap=\"round\">\
         <path stroke-width=\"4\" d=\"M4 4h0M4 10h0M4 16h0\"/>\
         <path stroke-width=\"1.4\" d=\"m4 4 10 6L4 16M4 10h9\"/></g>\
         <circle cx=\"15\" cy=\"10\" r=\"4\" fill=\"{colour}\"/></svg>"
    );
    asset("svg", "image/svg+xml", content)
}

/// The path of a tab's icon below the pages.
pub fn icon(icon: TabIcon) -> String {
    let found = ICONS.iter().find(|(its, _)| *its == icon);
    let name = found.map_or("", |(_, asset)| asset.name.as_str());
    format!("assets/{name}")
}

/// The route of the assets; they hold no secret and need no session.
pub fn routes() -> Router<Arc<Site>> {
    Router::new().route("/assets/{name}", get(serve))
}

async fn serve(Path(name): Path<String>) -> Response {
    let icons = ICONS.iter().map(|(_, asset)| asset);
    let mut all = [&*STYLE, &*SCRIPT].into_iter().chain(icons);
    let found = all.find(|one| one.name == name);
    let Some(asset) = found else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (CONTENT_TYPE, asset.content_type),
        (CACHE_CONTROL, "private, max-age=31536000, immutable"),
    ];
    (headers, asset.content.as_str()).into_response()
}
