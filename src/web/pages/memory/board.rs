//! Draws the board: statuses, filter, facts and the learnings that a search found.

use maud::{Markup, html};

use super::{ROWS, View, age, number, status, who, with, word};
use crate::domain::memory::FactStatus;
use crate::view::memory::FactView;
use crate::web::document::Drawing;
use crate::web::parts::{commands, icon, many};

/// Characters of a value that the board shows.
const SHOWN: usize = 300;
/// Learnings that a search shows.
const LEARNINGS: usize = 10;
/// Changed files that a row names.
const AGED: usize = 3;

/// The heading.
pub fn title(view: &View) -> Markup {
    html! { div {
        h1 { (many(view.board.found, "fact")) }
        p { "What agents and people found out, each with its evidence. Agents are shown what fits \
            their idea, as claims and not as orders." }
        @if view.compacted > 0 {
            p .sub { (many(usize::try_from(view.compacted).unwrap_or(usize::MAX), "older learning"))
                (if view.compacted == 1 { " is" } else { " are" }) " only in the log: "
                code { "swarm memory search --all WORDS" } }
        }
    } }
}

/// What the board is, while there is none.
pub fn nothing(drawing: &Drawing<'_>) -> Markup {
    html! {
        div .card.cp-note {
            p { "No fact yet. A fact is a value under a key that all agents share: agents write \
                facts as they find things out, and say so when one is wrong." }
            @if !drawing.moment.is_past() {
                p { "Write one yourself:" }
                (commands(&["swarm memory put api.port \"The API listens on 8080\"".to_owned()]))
            }
        }
    }
}

/// The statuses, with the number of facts that the search finds.
pub fn statuses(drawing: &Drawing<'_>, view: &View) -> Markup {
    let to = |status: Option<FactStatus>| {
        let status = status.map(<&str>::from);
        drawing.link(&with(&view.query, &[("status", status), ("page", None)]))
    };
    let current = |is: bool| is.then_some("true");
    html! {
        nav .seg aria-label="Status" {
            a href=(to(None)) aria-current=[current(view.status.is_none())] {
                "In force" span .dim { (view.board.in_force) }
            }
            @for (one, count) in view.board.counts {
                a href=(to(Some(one))) aria-current=[current(view.status == Some(one))] {
                    (word(one)) span .dim { (count) }
                }
            }
        }
    }
}

/// The fields of the filter: no fragment, so that no update changes what is typed.
pub fn fields(drawing: &Drawing<'_>, view: &View) -> Markup {
    let text = view.text.as_deref().unwrap_or_default();
    html! {
        form .filters method="get" action=(drawing.live_link("memory")) role="search" {
            @if let Some(status) = view.status {
                input type="hidden" name="status" value=(<&str>::from(status));
            }
            @if let Some(at) = &drawing.moment.at { input type="hidden" name="at" value=(at); }
            label { span { "Text" } input type="search" name="q" value=(text); }
            button .b { (icon("find")) "Search" }
            @if view.text.is_some() || view.status.is_some() {
                a .b.quiet href=(drawing.link("memory")) { "Clear" }
            }
        }
    }
}

/// The facts of this page.
pub fn list(drawing: &Drawing<'_>, view: &View) -> Markup {
    html! {
        @if view.board.facts.is_empty() {
            p .sub.sec2 { "No fact fits this filter." }
        } @else {
            div .card.clip.sec2 { table .stackable.board {
                thead { tr {
                    th { "Fact" } th { "Value" } th .num { "Version" } th { "Status" }
                    th .num { "Confidence" } th .num { "Age" } th { "Who" }
                } }
                tbody { @for fact in &view.board.facts { (row(drawing, fact)) } }
            } }
            (pager(drawing, view))
        }
        (learnings(drawing, view))
    }
}

fn row(drawing: &Drawing<'_>, fact: &FactView) -> Markup {
    let key = &fact.key;
    html! {
        tr #{ "fact-" (key) } {
            td .full.any { a .t href=(drawing.link(&format!("memory/{key}"))) { (key) } }
            td .full.any {
                (short(&fact.value))
                @if !fact.claims.is_empty() {
                    div .sub { (many(fact.claims.len(), "claim")) " against it" }
                }
                @if !fact.aged.is_empty() { (aged(&fact.aged)) }
            }
            td .num { "v" (fact.version) }
            td {
                (status(fact.status))
                @if fact.pinned { div { span .st.sub { (icon("flag")) " Pinned" } } }
            }
            td .num { span .lab { "confidence " } (number(fact.confidence)) }
            td .num.dim { span .lab { "age " } (age(drawing, fact.at)) }
            td .sub { span .lab { "by " } (who(drawing, &fact.by)) }
        }
    }
}

/// The files that changed since.
pub fn aged(paths: &[String]) -> Markup {
    let more = paths.len().saturating_sub(AGED);
    html! {
        div .row.sub {
            (icon("clock")) span .any {
                "changed since: "
                @for (index, path) in paths.iter().take(AGED).enumerate() {
                    @if index > 0 { ", " }
                    code { (path) }
                }
                @if more > 0 { " and " (many(more, "other file")) }
            }
        }
    }
}

/// The beginning of a long value.
fn short(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

fn learnings(drawing: &Drawing<'_>, view: &View) -> Markup {
    let more = view.learnings.len().saturating_sub(LEARNINGS);
    html! {
        @if !view.learnings.is_empty() {
            section .sec aria-labelledby="learnings-title" {
                header { h2 #learnings-title { "Learnings with these words" } }
                ul .card.runs {
                    @for hit in view.learnings.iter().take(LEARNINGS) {
                        li { span .any { (short(&hit.text)) } " " span .id { (hit.reference) } }
                    }
                }
                @if more > 0 {
                    p .sub.sec2 { (many(more, "other learning")) ": "
                        a href=(drawing.link("learnings")) { "all learnings" } }
                }
            }
        }
    }
}

fn pager(drawing: &Drawing<'_>, view: &View) -> Markup {
    let page = view.page;
    let last = view.board.found.saturating_sub(1) / ROWS;
    let to = |page: usize| {
        let page = (page > 0).then(|| page.to_string());
        drawing.link(&with(&view.query, &[("page", page.as_deref())]))
    };
    html! {
        @if last > 0 {
            nav .row.sec2 aria-label="Pages of the board" {
                @if page > 0 { a .b href=(to(page - 1)) { "Before" } }
                span .dim { "Page " (page + 1) " of " (last + 1) }
                @if page < last { a .b href=(to(page + 1)) { "Next" } }
            }
        }
    }
}
