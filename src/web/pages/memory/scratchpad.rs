//! The notes of the scratchpad: a table, and the text of the one that the address names.

use maud::{Markup, html};

use super::{age, who, with};
use crate::domain::memory::NoteKey;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::memory::{self as views, NoteHeadView, NoteView};
use crate::web::document::Drawing;
use crate::web::pages::asked::Query;
use crate::web::parts::{commands, local, many, span};

/// Notes on one page.
const ROWS: usize = 50;

/// The notes that the page shows.
pub struct Scratchpad {
    notes: Vec<NoteHeadView>,
    page: usize,
    /// The note that the address names, and its text if it exists.
    opened: Option<(String, Option<NoteView>)>,
    query: Query,
}

impl Scratchpad {
    /// The notes of this state that the query asks for.
    pub fn of(state: &State, query: &Query) -> Self {
        let page = query.get("notes").and_then(|page| page.parse().ok());
        let opened = query.get("note").map(|key| {
            let found = key.parse::<NoteKey>().ok();
            let found = found.and_then(|key| views::note(state, &key));
            (key.to_owned(), found)
        });
        Self {
            notes: views::notes(state, ""),
            page: page.unwrap_or(0),
            opened,
            query: query.clone(),
        }
    }

    /// Draws them.
    pub fn section(&self, drawing: &Drawing<'_>) -> Markup {
        let shown = self.notes.iter();
        let shown = shown.skip(self.page.saturating_mul(ROWS)).take(ROWS);
        html! {
            section .sec aria-labelledby="notes-title" {
                header {
                    h2 #notes-title { "Scratchpad" }
                    @if !self.notes.is_empty() { span { (many(self.notes.len(), "note")) } }
                }
                @if self.notes.is_empty() { (nothing(drawing)) } @else {
                    div .card.clip { table .stackable.board {
                        thead { tr {
                            th { "Note" } th { "About" } th .num { "Age" } th { "Who" }
                            th { "Expires" }
                        } }
                        tbody { @for note in shown { (self.row(drawing, note)) } }
                    } }
                    (self.pager(drawing))
                }
                @if let Some((key, note)) = &self.opened { (opened(key, note.as_ref())) }
            }
        }
    }

    fn row(&self, drawing: &Drawing<'_>, note: &NoteHeadView) -> Markup {
        let key = note.key.as_str();
        let to = drawing.link(&with(&self.query, &[("note", Some(key))]));
        let is_open = self.opened.as_ref().is_some_and(|(open, _)| open == key);
        html! {
            tr #{ "note-" (key) } {
                td .full.any {
                    a .t href={ (to) "#note" } aria-current=[is_open.then_some("true")] { (key) }
                }
                td .full.any { (note.title) }
                td .num.dim { span .lab { "age " } (age(drawing, note.updated_at)) }
                td .sub { span .lab { "by " } (who(drawing, &note.by)) }
                td .sub { (expiry(drawing, note.expires_at)) }
            }
        }
    }

    fn pager(&self, drawing: &Drawing<'_>) -> Markup {
        let (page, last) = (self.page, self.notes.len().saturating_sub(1) / ROWS);
        let to = |page: usize| {
            let page = (page > 0).then(|| page.to_string());
            drawing.link(&with(&self.query, &[("notes", page.as_deref())]))
        };
        html! {
            @if last > 0 {
                nav .row.sec2 aria-label="Pages of notes" {
                    @if page > 0 { a .b href=(to(page - 1)) { "Before" } }
                    span .dim { "Page " (page + 1) " of " (last + 1) }
                    @if page < last { a .b href=(to(page + 1)) { "Next" } }
                }
            }
        }
    }
}

fn nothing(drawing: &Drawing<'_>) -> Markup {
    html! {
        div .card.cp-note {
            p { "No note. Agents keep longer texts here for each other: plans, lists, what is half \
                done. A note expires 24 h after its last write, unless it is kept." }
            @if !drawing.moment.is_past() {
                p { "Write one yourself:" }
                (commands(&["swarm scratch put plan.md \"Tests first\"".to_owned()]))
            }
        }
    }
}

fn opened(key: &str, note: Option<&NoteView>) -> Markup {
    html! {
        @match note {
            Some(note) => details #note .card.sec2 open {
                summary .fold { "Text of " b { (note.head.key) } ", " (note.head.bytes) " bytes" }
                pre .prompt tabindex="0" { (note.content) }
            },
            None => p #note .sub.sec2 role="note" {
                "There is no note " code { (key) } " now: it expired or was dropped."
            },
        }
    }
}

fn expiry(drawing: &Drawing<'_>, at: Option<Timestamp>) -> Markup {
    html! {
        @match at {
            None => "kept",
            Some(at) => {
                span .lab { "expires " } "in "
                time datetime=(at.to_string()) title=(local(at, "%Y-%m-%d %H:%M:%S")) {
                    (span(at.since(drawing.moment.time())))
                }
            },
        }
    }
}
