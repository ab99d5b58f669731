//! The bar that says that a page shows the past, and leads back.

use maud::{Markup, html};

use super::FrameView;
use crate::domain::ids::CheckpointName;
use crate::web::document::Drawing;
use crate::web::parts::{icon, local};

/// Nothing on a page of now.
pub fn bar(drawing: &Drawing<'_>, view: &FrameView) -> Markup {
    if !drawing.moment.is_past() {
        return html! {};
    }
    let since = view.last_seq.saturating_sub(view.seq);
    let is_kept = |name: &&CheckpointName| {
        let handle = &drawing.site.api.handle;
        handle.read(|state| state.checkpoints.contains_key(*name))
    };
    let is_today = local(view.at, "%F") == local(drawing.moment.clock, "%F");
    let format = if is_today {
        "%H:%M:%S"
    } else {
        "%Y-%m-%d %H:%M:%S"
    };
    html! {
        div .pastbar role="status" {
            (icon("clock"))
            span {
                b { "You are looking at " (local(view.at, format)) "." }
                " Nothing can be changed here. "
                @if since == 1 { "1 event has" } @else { (since) " events have" }
                " happened since."
            }
            @if let Some(name) = view.checkpoint.as_ref().filter(is_kept) {
                a .b href=(drawing.live_link(&format!("do/rollback/{name}"))) data-dialog {
                    "Roll back to " span .cut { (name) "…" }
                }
            }
            a .b href=(drawing.live_link(&format!("changes?from={}&to=now", view.seq))) {
                "Compare with now"
            }
            a .b href=(drawing.live_link(&drawing.path)) { "Back to now" }
        }
    }
}
