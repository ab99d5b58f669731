//! The memory that agents share: the board of facts, the scratchpad's notes, the newest events of
//! both and what they are worth (`/memory`), and one fact (`/memory/KEY`).
//!
//! `search` finds what the address asks for, `freshness` which files of facts changed, `newest`
//! what happened last, `measures` what it is worth; `board` and `scratchpad` draw. Every text here
//! may come from an agent.

mod board;
pub mod fact;
pub mod freshness;
mod measures;
mod newest;
mod scratchpad;
mod search;
mod sides;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests;

use maud::{Markup, html};

use crate::domain::memory::FactStatus;
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::history::Told;
use crate::view::memory::{self as views, Aged, BoardFilter, BoardPage, HitView, StatsView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Query, Ready};
use crate::web::parts::{local, span, tinted};
use crate::web::touches::Touched;
use scratchpad::Scratchpad;

/// Facts on one page.
const ROWS: usize = 100;

/// What the page shows.
pub struct View {
    query: Query,
    /// The words that are searched for.
    text: Option<String>,
    status: Option<FactStatus>,
    page: usize,
    board: BoardPage,
    /// Learnings that the search found.
    learnings: Vec<HitView>,
    scratchpad: Scratchpad,
    newest: Vec<Told>,
    /// `None` while the log is being read.
    stats: Option<StatsView>,
    /// Whether there is no fact at all, retracted or not.
    is_empty: bool,
    /// Learnings that were dropped from the state.
    compacted: u64,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let aged = freshness::aged(asked).await?;
    let text = asked.query.get("q").map(|text| text.trim().to_owned());
    let text = text.filter(|text| !text.is_empty());
    let found = match &text {
        Some(text) => Some(search::find(asked, text.clone()).await?),
        None => None,
    };
    let newest = newest::load(asked).await?;
    let stats = measures::load(asked).await?;
    let (facts, learnings) = match found {
        Some(found) => (Some(found.facts), found.learnings),
        None => (None, Vec::new()),
    };
    let filter = BoardFilter {
        status: status_of(asked.query),
        found: facts,
    };
    Ok(asked.read(|state| View {
        query: asked.query.clone(),
        text: text.clone(),
        status: filter.status,
        page: asked.query.page(),
        board: of_page(state, &aged, &filter, asked.query.page()),
        learnings: learnings.clone(),
        scratchpad: Scratchpad::of(state, asked.query),
        newest: newest.clone(),
        stats: stats.clone(),
        is_empty: state.facts.is_empty(),
        compacted: state.compacted.learnings,
    }))
}

fn of_page(state: &State, aged: &Aged, filter: &BoardFilter, page: usize) -> BoardPage {
    views::board_page(state, aged, filter, (page.saturating_mul(ROWS), ROWS))
}

/// From the query of an address; a word that is no status counts as none.
fn status_of(query: &Query) -> Option<FactStatus> {
    let wanted = query.get("status");
    let all = [
        FactStatus::Active,
        FactStatus::Contradicted,
        FactStatus::Retracted,
    ];
    all.into_iter()
        .find(|status| wanted == Some(<&str>::from(status)))
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        // A landed idea gives weight to what its agent said.
        let touched = Touched::MEMORY | Touched::IDEAS;
        let statuses = html! { @if !self.is_empty { (board::statuses(drawing, self)) } };
        let list = html! {
            @if self.is_empty { (board::nothing(drawing)) } @else { (board::list(drawing, self)) }
        };
        let main = html! {
            div .head { (drawing.fragment("f-memory-found", touched, &board::title(self))) }
            (drawing.fragment("f-memory-status", touched, &statuses))
            @if !self.is_empty { (board::fields(drawing, self)) }
            (drawing.fragment("f-memory", touched, &list))
            (drawing.fragment("f-notes", Touched::MEMORY, &self.scratchpad.section(drawing)))
            (drawing.fragment("f-newest", Touched::MEMORY, &newest::section(drawing, &self.newest)))
            (measures::section(self.stats.as_ref()))
        };
        Page {
            title: "Memory".into(),
            place: Place::Memory,
            main,
        }
    }
}

/// The address of this page with other values in its query; `None` takes one out.
fn with(query: &Query, changes: &[(&str, Option<&str>)]) -> String {
    let text = query.text();
    let is_changed = |name: &str| changes.iter().any(|(its, _)| *its == name);
    let others = form_urlencoded::parse(text.as_bytes())
        .filter(|(name, value)| !is_changed(name) && !value.is_empty());
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(others);
    text.extend_pairs(
        changes
            .iter()
            .filter_map(|(name, value)| Some((name, (*value)?))),
    );
    match text.finish() {
        text if text.is_empty() => "memory".to_owned(),
        text => format!("memory?{text}"),
    }
}

/// A fact's status as a word with a mark.
fn status(status: FactStatus) -> Markup {
    let (mark, tone) = match status {
        FactStatus::Active => ("okc", "ok"),
        FactStatus::Contradicted => ("warn", "wait"),
        FactStatus::Retracted => ("stopped", "idle"),
    };
    html! { span .st { (tinted(mark, tone)) " " (word(status)) } }
}

fn word(status: FactStatus) -> &'static str {
    match status {
        FactStatus::Active => "Active",
        FactStatus::Contradicted => "Contradicted",
        FactStatus::Retracted => "Retracted",
    }
}

/// Who wrote something, with the ways to the agent and its idea.
fn who(drawing: &Drawing<'_>, author: &Author) -> Markup {
    let Some(agent) = author.agent() else {
        return html! { (author) };
    };
    html! {
        a href=(drawing.link(&format!("agents/{agent}"))) { (agent) }
        @if let Some(idea) = author.idea() {
            " on " a href=(drawing.link(&format!("ideas/{idea}"))) { (idea) }
        }
    }
}

/// How long ago something was; `title` has the time.
fn age(drawing: &Drawing<'_>, at: Timestamp) -> Markup {
    html! {
        time datetime=(at.to_string()) title=(local(at, "%Y-%m-%d %H:%M:%S")) {
            (span(drawing.moment.time().since(at)))
        }
    }
}

/// A link to an event in the list of all events.
fn event_link(drawing: &Drawing<'_>, seq: u64) -> String {
    let page = drawing.link(&format!("events?all=1&before={}", seq.saturating_add(1)));
    format!("{page}#event-{seq}")
}

/// From 0 to 1, with two digits.
fn number(confidence: f64) -> String {
    format!("{confidence:.2}")
}
