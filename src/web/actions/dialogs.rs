//! What is asked before an action: a page with one form, so that it works without script.
//!
//! Invariant: the first button leaves everything as it is.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};

use crate::domain::ids::IdeaId;
use crate::web::Site;
use crate::web::document::{Drawing, Page, Place, as_html};
use crate::web::frame::{self, FrameView};
use crate::web::moment::Moment;
use crate::web::pages::{WebError, new_document};

struct Dialog {
    title: String,
    says: Markup,
    fields: Markup,
    button: &'static str,
    is_grave: bool,
}

/// Dialogs about the swarm as a whole.
pub async fn plain(State(site): State<Arc<Site>>, Path(verb): Path<String>) -> Response {
    let dialog = match verb.as_str() {
        "pause" => Dialog {
            title: "Pause the swarm?".into(),
            says: html! {
                p { "Nothing new starts; agents stop after their current iteration. A pause \
                    survives a restart." }
            },
            fields: html! {
                label for="why" { "Why (for whoever looks next)" } input #why name="why";
            },
            button: "Pause",
            is_grave: false,
        },
        "add" => Dialog {
            title: "Add an idea".into(),
            says: html! {
                p { "One small, well-described piece of work, said as you would to a colleague. The \
                    first line is its title." }
            },
            fields: html! {
                label for="text" { "What to do" }
                textarea #text name="text" rows="8" required autofocus {}
            },
            button: "Add idea",
            is_grave: false,
        },
        "checkpoint" => Dialog {
            title: "Create a checkpoint".into(),
            says: html! {
                p { "It holds the target, every idea, and the work of every agent, uncommitted files \
                    too." }
            },
            fields: html! {
                label for="name" { "Name" }
                input #name name="name" required autofocus
                    pattern="[a-z0-9][a-z0-9-]{0,63}" placeholder="before-the-refactoring";
                p .dim { "Lower-case letters, digits and -." }
            },
            button: "Create checkpoint",
            is_grave: false,
        },
        _ => return WebError::not_found(format!("there is no action `{verb}`")).into_response(),
    };
    show(&site, &format!("do/{verb}"), "", &dialog)
}

/// Dialogs about an idea.
pub async fn about(
    State(site): State<Arc<Site>>,
    Path((verb, id)): Path<(String, String)>,
) -> Response {
    let known = id.parse::<IdeaId>().ok().filter(|id| {
        let has = |state: &crate::domain::state::State| state.ideas.get(id).is_some();
        site.api.handle.read(has)
    });
    if known.is_none() {
        return WebError::not_found(format!("there is no idea `{id}`")).into_response();
    }
    let dialog = match verb.as_str() {
        "cancel" => Dialog {
            title: format!("Cancel {id}?"),
            says: html! {
                p { "Its agent is stopped. Its commits stay in the repository. Ideas that wait for it \
                    wait in vain. Take it back: " code { "swarm undo" } }
            },
            fields: html! {},
            button: "Cancel the idea",
            is_grave: true,
        },
        "reject" => Dialog {
            title: format!("Send {id} back"),
            says: html! {
                p { "It goes to the same agent, as its next prompt." }
            },
            fields: html! {
                label for="why" { "What is missing" }
                textarea #why name="why" rows="5" required autofocus {}
            },
            button: "Send back",
            is_grave: false,
        },
        _ => return WebError::not_found(format!("there is no action `{verb}`")).into_response(),
    };
    show(
        &site,
        &format!("do/{verb}/{id}"),
        &format!("ideas/{id}"),
        &dialog,
    )
}

fn show(site: &Site, action: &str, back: &str, dialog: &Dialog) -> Response {
    let moment = Moment::now();
    let drawing = Drawing::new(site, &moment, back, &new_document());
    let main = html! {
        form .card.say method="post" action=(drawing.live_link(action)) {
            h1 { (dialog.title) }
            (dialog.says)
            (dialog.fields)
            div .row.wrap.sec2 {
                a .b href=(drawing.live_link(back)) { "Leave as it is" }
                button .b.danger[dialog.is_grave].pri[!dialog.is_grave] { (dialog.button) }
            }
        }
    };
    let page = Page {
        title: dialog.title.clone(),
        place: Place::Elsewhere,
        main,
    };
    let last = site.api.handle.read(|state| state.seq);
    let view = site.api.handle.read(|state| FrameView::of(state, last));
    as_html(frame::document(&drawing, &page, &view))
}
