//! All checkpoints, with what going back would cost, and the rollbacks made.

pub mod checkpoint;

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
            title: "Checkpoints".into(),
            place: Place::Checkpoints,
            main: html! { h1 { "Checkpoints" } },
        }
    }
}
