//! One hook: its content, its last call, its output.

use maud::html;

use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};

/// What the page shows.
pub struct View;

/// Loads it.
pub async fn load(_asked: &Asked<'_>, _name: &str) -> Result<View, WebError> {
    Ok(View)
}

impl Ready for View {
    fn page(&self, _drawing: &Drawing<'_>) -> Page {
        Page {
            title: "Hook".into(),
            place: Place::Hooks,
            main: html! { h1 { "Hook" } },
        }
    }
}
