//! A dialog about a checkpoint, as a page with one form, so that it works without script.
//!
//! Invariant: focus begins on the way out, unless there is something to type.

use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};

use crate::api::ApiError;
use crate::web::Site;
use crate::web::document::{Drawing, Page, Place, as_html};
use crate::web::frame::{self, FrameView};
use crate::web::moment::Moment;
use crate::web::pages::new_document;
use crate::web::parts::tinted;

/// See the module.
pub struct Sheet {
    pub title: String,
    /// What stands below the title.
    pub lead: Markup,
    pub body: Markup,
    /// Where the form goes: `do/undo`.
    pub action: String,
    /// Where "Leave as it is" goes.
    pub back: String,
    /// `None`: it cannot be done as things are.
    pub button: Option<Button>,
}

/// The button that acts.
pub struct Button {
    words: String,
    is_grave: bool,
}

impl Button {
    /// One whose effect is easily taken back.
    pub fn plain(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            is_grave: false,
        }
    }

    /// One whose effect is not.
    pub fn grave(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            is_grave: true,
        }
    }
}

/// The address of a page or action.
pub fn address(site: &Site, path: &str) -> String {
    format!("{}/{path}", site.access.path())
}

/// Why nothing was done.
fn note(error: &ApiError) -> Markup {
    html! {
        div .card.cp-note role="alert" {
            p { (tinted("warn", "wait")) " " b { (error.message) } }
            @if !error.details.is_empty() { p .sub { (error.details) } }
            @for suggestion in &error.suggestions { p .sub { (suggestion) } }
        }
    }
}

/// The page with the dialog; with an error, its status and a note.
pub fn show(site: &Site, error: Option<ApiError>, sheet: Sheet) -> Response {
    let moment = Moment::now();
    let drawing = Drawing::new(site, &moment, &sheet.back, &new_document());
    let to_type = sheet.action == "do/checkpoint";
    let main = html! {
        form .card.cp-sheet method="post" action=(drawing.live_link(&sheet.action)) {
            input type="hidden" name="op" value={ (drawing.document) "/" (sheet.action) };
            div .dh { h1 { (sheet.title) } p { (sheet.lead) } }
            div .body {
                @if let Some(error) = &error { (note(error)) }
                (sheet.body)
            }
            div .df {
                a .b href=(drawing.live_link(&sheet.back)) autofocus[!to_type] { "Leave as it is" }
                @match &sheet.button {
                    Some(button) => {
                        button .b.danger[button.is_grave].pri[!button.is_grave] { (button.words) }
                    },
                    None => a .b href=(drawing.live_link(&sheet.action)) { "Look again" },
                }
            }
        }
    };
    let page = Page {
        title: sheet.title,
        place: Place::Elsewhere,
        main,
    };
    let view = site
        .api
        .handle
        .read(|state| FrameView::of(state, state.seq));
    let mut response = as_html(frame::document(&drawing, &page, &view)).into_response();
    if let Some(error) = error {
        *response.status_mut() = error.status;
    }
    response
}
