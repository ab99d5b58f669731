//! What agents found out.

use maud::{Markup, html};

use crate::domain::state::State;
use crate::view::{self, LearningView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::pages::checkpoints::when;
use crate::web::parts::many;
use crate::web::touches::Touched;

/// Learnings on one page.
const ROWS: usize = 100;
/// Sources that are open at once.
const OPEN: usize = 4;

/// What the page shows.
pub struct View {
    learnings: Vec<LearningView>,
    page: usize,
}

/// Loads it.
#[allow(clippy::unused_async)] // every page loads the same way
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let page = asked.query.page();
    Ok(asked.read(|state| View::of(state, page)))
}

impl View {
    fn of(state: &State, page: usize) -> Self {
        let mut learnings = view::learnings(state);
        learnings.reverse();
        Self { learnings, page }
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        Page {
            title: "Learnings".into(),
            place: Place::Learnings,
            main: drawing.fragment("f-learnings", Touched::LEARNINGS, &list(drawing, self)),
        }
    }
}

fn list(drawing: &Drawing<'_>, view: &View) -> Markup {
    let begin = view.page.saturating_mul(ROWS);
    let shown = view.learnings.iter().skip(begin).take(ROWS);
    html! {
        div .head { div {
            h1 { (many(view.learnings.len(), "learning")) }
            p { "What agents found out, newest first. The prompts of later agents contain it." }
        } }
        @if view.learnings.is_empty() {
            div .card.cp-note {
                p { "Nothing yet. An agent tells the others with a line of its output: "
                    code { "<swarm>LEARNING_GLOBAL:…</swarm>" } }
            }
        } @else {
            div .card.clip { table .stackable {
                thead { tr {
                    th { "What" } th { "For" } th { "From" } th .num { "First" }
                } }
                tbody { @for one in shown { (row(drawing, one)) } }
            } }
            nav .row.sec2 aria-label="More learnings" {
                @if view.page > 0 {
                    a .b href=(drawing.link(&format!("learnings?page={}", view.page - 1))) {
                        "Newer"
                    }
                }
                @if view.learnings.len() > begin.saturating_add(ROWS) {
                    a .b href=(drawing.link(&format!("learnings?page={}", view.page + 1))) {
                        "Older"
                    }
                }
            }
        }
    }
}

fn row(drawing: &Drawing<'_>, one: &LearningView) -> Markup {
    let (open, rest) = one.sources.split_at(one.sources.len().min(OPEN));
    let source = |source: &view::SourceView| {
        html! {
            a href=(drawing.link(&format!("agents/{}", source.agent_id))) { (source.agent_id) }
            @if let Some(idea) = &source.idea_id {
                " on " a href=(drawing.link(&format!("ideas/{idea}"))) { (idea) }
            }
        }
    };
    html! {
        tr #{ "learning-" (one.id) } {
            td .full.learned { (one.content) }
            td .sub {
                @if one.scope == "global" { "all agents" }
                @else if let Some(profile) = &one.profile { "profile " (profile) }
            }
            td .sub {
                ul { @for one in open { li { (source(one)) } } }
                @if !rest.is_empty() {
                    details {
                        summary { (rest.len()) " more" }
                        ul { @for one in rest { li { (source(one)) } } }
                    }
                }
            }
            td .num.dim { (when(one.learned_at, drawing.moment.time())) }
        }
    }
}
