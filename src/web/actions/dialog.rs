//! What is asked before an action: a page with one form, which the script shows as a dialog. Also
//! the pages of a refused action and of one that has something to say.
//!
//! Invariant: the first button leaves everything as it is. What was typed is never lost.

use axum::http::{HeaderName, StatusCode};
use axum::response::Response;
use maud::{Markup, html};

use super::call::{Call, GO};
use crate::api::ApiError;
use crate::web::document::{Drawing, Page, Place, as_html};
use crate::web::frame::{self, FrameView};
use crate::web::moment::Moment;
use crate::web::pages::new_document;
use crate::web::parts::capital;

/// A dialog.
pub(super) struct Dialog {
    /// The question: `Cancel idea-003?`
    pub title: String,
    /// The page behind it: `ideas/idea-003`.
    pub back: String,
    /// What happens, and what is lost.
    pub says: Markup,
    /// What the person fills in, with what was filled in before.
    pub fields: Markup,
    /// The button that acts: `Cancel the idea`; without one there is nothing to do.
    pub button: Option<String>,
    /// Whether it takes something away.
    pub is_grave: bool,
}

/// A dialog that is opened.
pub(super) fn show(call: &Call, dialog: &Dialog) -> Response {
    drawn(call, dialog, None)
}

/// A dialog whose action was refused.
pub(super) fn show_again(call: &Call, dialog: &Dialog, error: &ApiError) -> Response {
    drawn(call, dialog, Some(error))
}

fn drawn(call: &Call, dialog: &Dialog, error: Option<&ApiError>) -> Response {
    let moment = Moment::now();
    let drawing = drawing(call, &moment, &dialog.back);
    let body = html! {
        div .dh { h1 #ask-title { (dialog.title) } }
        div .body {
            @if let Some(error) = error { (refusal(error)) }
            (dialog.says)
            (dialog.fields)
        }
        (buttons(&drawing, dialog))
    };
    let main = html! {
        div .card.ask data-sheet data-fresh[error.is_some_and(is_of_another_state)] {
            @if dialog.button.is_some() {
                form method="post" action=(drawing.live_link(&call.address())) {
                    (hidden(&drawing, call, &dialog.back))
                    (body)
                }
            } @else {
                div { (body) }
            }
        }
    };
    let status = error.map_or(StatusCode::OK, |error| error.status);
    page(&drawing, &dialog.title, main, status)
}

/// Whether the form showed something that is no longer so: then only a fresh one can act.
fn is_of_another_state(error: &ApiError) -> bool {
    ["CHANGED", "MOVED", "FACT_CONFLICT"].contains(&error.code.as_str())
}

fn buttons(drawing: &Drawing<'_>, dialog: &Dialog) -> Markup {
    let leave = if dialog.button.is_some() {
        "Leave as it is"
    } else {
        "Close"
    };
    // A field that must be filled in takes the focus by itself.
    let has_fields = !dialog.fields.0.is_empty();
    let is_safe_first = dialog.button.is_some() && (dialog.is_grave || !has_fields);
    html! {
        div .df {
            a .b href=(drawing.live_link(&dialog.back)) data-close autofocus[is_safe_first] {
                (leave)
            }
            @if let Some(button) = &dialog.button {
                button .b.danger[dialog.is_grave].pri[!dialog.is_grave] { (button) }
            }
        }
    }
}

/// What each form carries unseen: its operation, the last event that it knows, and the way back.
fn hidden(drawing: &Drawing<'_>, call: &Call, back: &str) -> Markup {
    html! {
        input type="hidden" name="op" value={ (drawing.document) "/" (call.address()) };
        input type="hidden" name="seq" value=(call.seq);
        input type="hidden" name="back" value=(back);
    }
}

/// Why an action was refused, and what to do instead.
pub fn refusal(error: &ApiError) -> Markup {
    html! {
        div .note.bad.refused role="alert" {
            p { b { (sentence(&error.message)) } }
            @if !error.details.is_empty() { p { (sentence(&error.details)) } }
            @for text in &error.suggestions { p .sub { (suggestion(text)) } }
        }
    }
}

/// What to do instead; a command at its end is set apart.
fn suggestion(text: &str) -> Markup {
    let (words, command) = match text.split_once(": swarm ") {
        Some((words, command)) => (words, command),
        None => match text.strip_prefix("swarm ") {
            Some(command) => ("", command),
            None => return html! { (sentence(text)) },
        },
    };
    html! {
        @if !words.is_empty() { (sentence(&format!("{words}:"))) " " }
        code { "swarm " (command) }
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim_end();
    let first = text.split(' ').next().unwrap_or_default();
    // Ids stay as they are.
    let is_id = first.contains(|letter: char| letter.is_ascii_digit());
    let text = if is_id {
        text.to_owned()
    } else {
        capital(text)
    };
    let is_complete = text.ends_with(['.', '!', '?', ':']);
    if is_complete {
        text
    } else {
        format!("{text}.")
    }
}

/// The page of a refused action that has no dialog: it can be sent again, with what was typed.
pub(super) fn refuse(call: &Call, error: &ApiError) -> Response {
    let moment = Moment::now();
    let back = call.back("");
    let drawing = drawing(call, &moment, &back);
    let kept = call.kept();
    let has_text = kept.iter().any(|(name, _)| is_typed(name));
    let main = html! {
        div .card.ask data-sheet { form method="post" action=(drawing.live_link(&call.address())) {
            div .dh { h1 #ask-title { "Not done" } }
            div .body {
                (refusal(error))
                @for (index, (name, value)) in kept.iter().enumerate() {
                    @if is_typed(name) {
                        label for={ "kept-" (index) } { (capital(name)) }
                        textarea #{ "kept-" (index) } name=(name) rows="5" { (value) }
                    } @else {
                        input type="hidden" name=(name) value=(value);
                    }
                }
            }
            div .df {
                a .b href=(drawing.live_link(&back)) data-close autofocus[!has_text] { "Back" }
                @if call.is_sent && is_worth_another_try(error) {
                    (hidden(&drawing, call, &back))
                    button .b { "Try again" }
                }
            }
        } }
    };
    page(&drawing, "Not done", main, error.status)
}

/// Fields that people fill in with text of their own.
fn is_typed(name: &str) -> bool {
    ["text", "why", "name", "line"].contains(&name)
}

fn is_worth_another_try(error: &ApiError) -> bool {
    error.status != StatusCode::NOT_FOUND && error.code != "PAST"
}

/// The page of an action that took effect and has something to say.
pub(super) fn tell(call: &Call, back: &str, notes: &[String]) -> Response {
    let moment = Moment::now();
    let drawing = drawing(call, &moment, back);
    let main = html! {
        div .card.ask data-sheet { div {
            div .dh { h1 #ask-title { "Done" } }
            div .body role="status" {
                @for note in notes {
                    @for line in note.lines() {
                        p { (sentence(line.trim().trim_start_matches("-> "))) }
                    }
                }
            }
            div .df { a .b.pri href=(drawing.live_link(back)) data-go autofocus { "Go on" } }
        } }
    };
    let mut response = page(&drawing, "Done", main, StatusCode::OK);
    if let Ok(address) = drawing.live_link(back).parse() {
        let name = HeaderName::from_static(GO);
        response.headers_mut().insert(name, address);
    }
    response
}

fn drawing<'a>(call: &'a Call, moment: &'a Moment, back: &str) -> Drawing<'a> {
    Drawing::new(&call.site, moment, back, &new_document(&call.site))
}

fn page(drawing: &Drawing<'_>, title: &str, main: Markup, status: StatusCode) -> Response {
    let page = Page {
        title: title.to_owned(),
        place: Place::Elsewhere,
        main,
    };
    let read = |state: &crate::domain::state::State| FrameView::of(state, state.seq);
    let view = drawing.site.api.handle.read(read);
    let mut response = as_html(frame::document(drawing, &page, &view));
    *response.status_mut() = status;
    response
}
