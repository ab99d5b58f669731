//! The stylesheet and the scripts: in the program, with their hash in the path, so that browsers
//! keep them for ever and a new version has new names. Comments and indentation are not sent. They
//! are not compressed: over loopback that costs more than it saves.
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
use super::document::Place;
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
        include_str!("own-memory.css"),
        include_str!("own-time.css"),
    ];
    asset(
        "css",
        "text/css; charset=utf-8",
        tight(&lean(&parts.concat())),
    )
});

const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";

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
        include_str!("time.js"),
    ];
    asset("js", SCRIPT_TYPE, lean(&parts.join("\n;\n")))
});

/// What only the pages of ideas need.
static IDEAS: LazyLock<Asset> =
    LazyLock::new(|| asset("js", SCRIPT_TYPE, lean(include_str!("ideas.js"))));

/// What only the pages of agents need.
static LOG: LazyLock<Asset> =
    LazyLock::new(|| asset("js", SCRIPT_TYPE, lean(include_str!("log.js"))));

/// Without indentation, empty lines, and comments that fill whole lines. No text of ours spans
/// lines.
fn lean(text: &str) -> String {
    let mut is_comment = false;
    let mut lean = String::with_capacity(text.len());
    for line in text.lines().map(str::trim) {
        is_comment |= line.starts_with("/*");
        let is_kept = !is_comment && !line.is_empty() && !line.starts_with("//");
        if is_comment && line.ends_with("*/") {
            is_comment = false;
        }
        if is_kept {
            lean.extend([line, "\n"]);
        }
    }
    lean
}

/// A stylesheet without the spaces and semicolons that mean nothing. No string in ours has any of
/// these.
fn tight(css: &str) -> String {
    let mut tight = css.to_owned();
    for (loose, short) in [
        ("{\n", "{"),
        ("}\n", "}"),
        (";\n", ";"),
        (",\n", ","),
        (" {", "{"),
        ("{ ", "{"),
        ("} ", "}"),
        (": ", ":"),
        ("; ", ";"),
        (", ", ","),
        (" > ", ">"),
        (" }", "}"),
        (";}", "}"),
    ] {
        tight = tight.replace(loose, short);
    }
    tight
}

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

/// The paths of a page's scripts below the pages, in the order in which they run.
pub fn scripts(place: Place) -> impl Iterator<Item = String> {
    let own = match place {
        Place::Ideas => Some(&IDEAS),
        Place::Agents => Some(&LOG),
        Place::Overview
        | Place::Train
        | Place::Timeline
        | Place::Checkpoints
        | Place::Report
        | Place::Cost
        | Place::Learnings
        | Place::Memory
        | Place::Hooks
        | Place::Settings
        | Place::Elsewhere
        | Place::Nowhere => None,
    };
    let all = [Some(&SCRIPT), own].into_iter().flatten();
    all.map(|script| format!("assets/{}", script.name))
}

/// Changes with the scripts and the stylesheet, so that a page of an older program is loaded anew.
pub fn version() -> String {
    let all = [&STYLE, &SCRIPT, &IDEAS, &LOG].map(|asset| asset.name.as_str());
    hex(&Sha256::digest(all.concat())[..8])
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

fn named(name: &str) -> Option<&'static Asset> {
    let icons = ICONS.iter().map(|(_, asset)| asset);
    let mut all = [&*STYLE, &*SCRIPT, &*IDEAS, &*LOG].into_iter().chain(icons);
    all.find(|one| one.name == name)
}

/// The file at this path below the pages.
#[cfg(test)]
pub fn content(path: &str) -> Option<&'static str> {
    Some(named(path.strip_prefix("assets/")?)?.content.as_str())
}

async fn serve(Path(name): Path<String>) -> Response {
    let Some(asset) = named(&name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (CONTENT_TYPE, asset.content_type),
        (CACHE_CONTROL, "private, max-age=31536000, immutable"),
    ];
    (headers, asset.content.as_str()).into_response()
}

#[cfg(test)]
mod tests {
    use super::{lean, tight};

    #[test]
    fn comments_and_indentation_are_not_sent() {
        let text = "/* one\n   two */\na {\n  b: c;\n}\n\n// three\nd('//'); // kept\n";
        assert_eq!(lean(text), "a {\nb: c;\n}\nd('//'); // kept\n");
    }

    #[test]
    fn a_stylesheet_has_no_idle_space_and_means_the_same() {
        let css = "@media (x: 1px) {\na > b, .c :is(d) { e: f(g, h - i); j: k; }\n}\n";
        let expected = "@media (x:1px){a>b,.c :is(d){e:f(g,h - i);j:k}}";
        assert_eq!(tight(css), expected);
    }
}
