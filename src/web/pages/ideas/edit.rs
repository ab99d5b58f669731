//! The page that adds ideas. The form that changes one is the dialog `do/edit/ID`, with the same
//! fields.

use maud::html;

use crate::web::actions::idea_form::{Choices, Typed, add_fields, hint};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};

/// What the page shows.
pub struct View {
    typed: Typed,
    choices: Choices,
}

/// Loads it. The query may fill the form in: `ideas/add?text=...`.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    Ok(View {
        typed: Typed::of(asked.query),
        choices: asked.read(Choices::of),
    })
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let form = drawing.form(
            "do/add",
            &html! {
                div .dh { h1 #ask-title { "Add an idea" } (hint()) }
                div .body { (add_fields(&self.typed, &self.choices)) }
                div .df {
                    a .b href=(drawing.link("ideas")) data-close { "Cancel" }
                    button .b.pri { "Add idea" }
                }
            },
        );
        let main = if drawing.moment.is_past() {
            html! {
                h1 { "Add an idea" }
                p .sub { "This is an earlier moment, and the past cannot be changed." }
            }
        } else {
            html! { div .card.ask data-sheet { (form) } }
        };
        Page {
            title: "Add an idea".into(),
            place: Place::Ideas,
            main,
        }
    }
}
