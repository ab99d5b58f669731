//! The palette: pages, actions, ideas, agents and commits by a few words.
//!
//! Invariant: the server searches, so it works as a plain page; with script the same markup is
//! shown in a dialog (`Ctrl K`).

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;

use super::Site;
use super::document::{Drawing, Page, Place, as_html};
use super::frame::{self, FrameView};
use super::moment::Moment;
use super::pages::new_document;
use super::parts::{icon, title};
use crate::domain::lifecycle::SwarmPhase;
use crate::view::{self, Found};

/// The most ideas, agents, facts and commits of a search, each.
const MOST: usize = 8;

/// A page with its address, its letter after `g`, and other words for it.
pub struct Known {
    pub path: &'static str,
    pub name: &'static str,
    pub key: Option<char>,
    words: &'static str,
}

const fn known(
    path: &'static str,
    name: &'static str,
    key: Option<char>,
    words: &'static str,
) -> Known {
    Known {
        path,
        name,
        key,
        words,
    }
}

/// All pages with an address of their own.
pub const PAGES: [Known; 15] = [
    known("", "Overview", Some('o'), "needs you home"),
    known("ideas", "Ideas", Some('i'), "backlog list"),
    known("ideas/graph", "Dependencies", Some('d'), "graph after"),
    known("agents", "Agents", Some('a'), "output"),
    known("train", "Merge train", Some('m'), "queue landed checkout"),
    known("timeline", "Timeline", Some('t'), "gantt history"),
    known("events", "Events", Some('e'), "log json"),
    known("checkpoints", "Checkpoints", Some('c'), "rollback go back"),
    known(
        "changes",
        "What changed",
        None,
        "compare difference diff since points",
    ),
    known("report", "Night report", Some('r'), "what happened"),
    known("cost", "Cost", Some('u'), "used money tokens budget"),
    known("learnings", "Learnings", Some('l'), "found out"),
    known(
        "memory",
        "Memory",
        Some('f'),
        "facts board notes scratchpad",
    ),
    known("hooks", "Hooks", Some('h'), "scripts"),
    known(
        "settings",
        "Settings",
        Some('s'),
        "configuration theme keyboard",
    ),
];

/// Actions that are pages or dialogs; each asks before it acts, or can be left.
const ACTIONS: [Known; 6] = [
    known("ideas/add", "Add an idea", None, "new"),
    known("do/pause", "Pause", None, "stop hold"),
    known("do/checkpoint", "Create a checkpoint", None, "save"),
    known("do/undo", "Undo the last change", None, "back"),
    known(
        "do/settle-target",
        "Settle missing work",
        None,
        "rewritten target branch",
    ),
    known("do/stop", "Shut down the daemon", None, "stop end"),
];

/// The palette's route.
pub fn routes() -> Router<Arc<Site>> {
    Router::new().route("/palette", get(show))
}

#[derive(Debug, Default, Deserialize)]
struct Asked {
    #[serde(default)]
    q: String,
}

async fn show(
    State(site): State<Arc<Site>>,
    moment: Moment,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Response {
    let drawing = Drawing::new(&site, &moment, "palette", &new_document(&site));
    let found = moment.read(&site, |state| view::search(state, &asked.q, MOST));
    let phase = moment.read(&site, |state| state.swarm.phase);
    let results = results(&drawing, &asked.q, phase, &found);
    if headers.contains_key("hx-request") {
        return as_html(results);
    }
    let main = html! {
        h1 { "Find" }
        (search(&drawing, "page-q", &asked.q))
        div .sec { (results) }
    };
    let page = Page {
        title: "Find".into(),
        place: Place::Elsewhere,
        main,
    };
    let last = site.api.handle.read(|state| state.seq);
    let frame = moment.read(&site, |state| FrameView::of(state, last));
    as_html(frame::document(&drawing, &page, &frame))
}

/// The field; `id` is its element's.
pub fn search(drawing: &Drawing<'_>, id: &str, text: &str) -> Markup {
    html! {
        form .palette-form method="get" action=(drawing.live_link("palette")) role="search" {
            label .vh for=(id) { "Find a page, an idea, an agent, a commit or an action" }
            input id=(id) type="search" name="q" value=(text) autocomplete="off"
                placeholder="Page, idea, agent, commit or action";
            @if let Some(at) = &drawing.moment.at { input type="hidden" name="at" value=(at); }
            button .b { "Find" }
        }
    }
}

fn results(drawing: &Drawing<'_>, text: &str, phase: SwarmPhase, found: &[Found]) -> Markup {
    let words = text.to_lowercase();
    let fits = |known: &&Known| {
        let place = format!("{} {}", known.name, known.words).to_lowercase();
        words.split_whitespace().all(|word| place.contains(word))
    };
    let pages: Vec<&Known> = PAGES.iter().filter(fits).collect();
    let is_running = !matches!(phase, SwarmPhase::Paused | SwarmPhase::Pausing);
    let possible = |known: &&Known| known.path != "do/pause" || is_running;
    let is_past = drawing.moment.is_past();
    let actions = ACTIONS.iter().filter(|_| !is_past);
    let actions: Vec<&Known> = actions.filter(possible).filter(fits).collect();
    let count = pages.len() + actions.len() + found.len();
    html! {
        p .vh role="status" { (count) " found" }
        @if count == 0 { p .sub { "Nothing has all these words." } }
        ul .list.palette-list {
            @for found in found { li { (one(drawing, found)) } }
            @for page in pages { li {
                a href=(drawing.link(page.path)) { (icon("open")) " " (page.name) }
                @if let Some(key) = page.key { kbd .hide-s { "g " (key) } }
            } }
            @for action in actions { li {
                @if action.path.starts_with("do/") {
                    (drawing.ask(action.path, "", &html! { (icon("play")) " " (action.name) }))
                } @else {
                    a href=(drawing.live_link(action.path)) { (icon("plus")) " " (action.name) }
                }
            } }
        }
    }
}

fn one(drawing: &Drawing<'_>, found: &Found) -> Markup {
    match found {
        Found::Idea(id, text) => html! {
            a href=(drawing.link(&format!("ideas/{id}"))) {
                (icon("bulb")) " " span .id { (id) } " " span .cut { (title(text)) }
            }
        },
        Found::Agent(id, idea) => html! {
            a href=(drawing.link(&format!("agents/{id}"))) {
                (icon("run")) " " (id) " " span .id { "on " (idea) }
            }
        },
        Found::Fact(key, value) => html! {
            a href=(drawing.link(&format!("memory/{key}"))) {
                (icon("okc")) " " span .id { (key) } " " span .cut { (value) }
            }
        },
        Found::Commit(commit, idea, text) => html! {
            a href=(drawing.link(&format!("ideas/{idea}"))) {
                (icon("ok")) " " code { (&commit.as_str()[..8]) } " "
                span .cut { "landed " (idea) ": " (title(text)) }
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::web::pages::Route;

    #[test]
    fn every_page_of_the_palette_exists_and_has_a_letter_of_its_own() {
        let mut keys = BTreeSet::new();
        for page in &PAGES {
            assert!(Route::of(page.path).is_some(), "{}", page.path);
            assert!(page.key.is_none_or(|key| keys.insert(key)), "{}", page.name);
        }
    }
}
