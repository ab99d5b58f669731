//! The forms that add an idea and change one.

use maud::html;

use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};

/// What the page shows.
pub struct View;

/// Loads it.
pub async fn load(_asked: &Asked<'_>) -> Result<View, WebError> {
    Ok(View)
}

impl Ready for View {
    fn page(&self, _drawing: &Drawing<'_>) -> Page {
        Page {
            title: "Add an idea".into(),
            place: Place::Ideas,
            main: html! { h1 { "Add an idea" } },
        }
    }
}
