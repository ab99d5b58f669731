//! One agent: its output, what it does, and what a person told it.

use maud::html;

use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};

/// What the page shows.
pub struct View;

/// Loads it.
pub async fn load(_asked: &Asked<'_>, _id: &str) -> Result<View, WebError> {
    Ok(View)
}

impl Ready for View {
    fn page(&self, _drawing: &Drawing<'_>) -> Page {
        Page {
            title: "Agent".into(),
            place: Place::Agents,
            main: html! { h1 { "Agent" } },
        }
    }
}
