//! What agents found out.

use maud::html;

use crate::domain::state::State;
use crate::view::{self, LearningView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{clock, many};
use crate::web::touches::Touched;

/// What the page shows.
pub struct View {
    learnings: Vec<LearningView>,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    Ok(asked.read(View::of))
}

impl View {
    fn of(state: &State) -> Self {
        let mut learnings = view::learnings(state);
        learnings.reverse();
        Self { learnings }
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let list = html! {
        div .head { div {
            h1 { (many(view.learnings.len(), "learning")) }
            p { "What agents found out; the prompts of later agents contain it." }
        } }
        @if !view.learnings.is_empty() {
            div .card.clip { table .fix.stackable {
                colgroup { col; col width="110"; col width="220" .hide-s; col width="72"; }
                thead { tr {
                    th { "What" } th { "For" } th .hide-s { "From" } th .num { "First" }
                } }
                tbody { @for one in &view.learnings { tr #{ "learning-" (one.id) } {
                    td .full { (one.content) }
                    td .sub {
                        @if one.scope == "global" { "all agents" } @else { "profile " (one.profile) }
                    }
                    td .sub.hide-s { @for source in &one.sources {
                        a href=(drawing.link(&format!("agents/{}", source.agent_id))) {
                            (source.agent_id)
                        } " "
                    } }
                    td .num.dim { (clock(one.learned_at)) }
                } } }
            } }
        }
    };
    Page {
        title: "Learnings".into(),
        place: Place::Learnings,
        main: drawing.fragment("f-learnings", Touched::LEARNINGS, &list),
    }
}
