//! Draws the events.

use maud::{Markup, html};

use super::{Row, View};
use crate::view::describe::KINDS;
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::asked::Ready;
use crate::web::pages::past::pick;
use crate::web::pages::past::timeline::draw::story;
use crate::web::touches::Touched;

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let main = html! {
            div .head { div {
                h1 { "Events" }
                p { "Every event of the log, newest first. "
                    a href=(drawing.link("timeline")) { "Timeline" } }
            } }
            (filters(drawing, self))
            (drawing.fragment("f-events", Touched::TIME, &rows(drawing, self)))
        };
        Page {
            title: "Events".into(),
            place: Place::Timeline,
            main,
        }
    }
}

/// A GET form: it changes nothing, so the past has it too.
fn filters(drawing: &Drawing<'_>, view: &View) -> Markup {
    let wanted = &view.wanted;
    let idea = view.query.get("idea").unwrap_or_default();
    let agent = view.query.get("agent").unwrap_or_default();
    html! {
        form .filter method="get" action=(drawing.live_link("events")) role="search" {
            @if let Some(at) = &drawing.moment.at { input type="hidden" name="at" value=(at); }
            label { "Kind"
                select name="kind" {
                    option value="" { "All kinds" }
                    @for kind in KINDS {
                        option value=(kind) selected[wanted.kind.as_deref() == Some(kind)] {
                            (kind)
                        }
                    }
                }
            }
            label { "Idea" input name="idea" value=(idea) placeholder="idea-003"; }
            label { "Agent" input name="agent" value=(agent) placeholder="ed-001"; }
            label .one {
                input type="checkbox" name="all" value="1" checked[wanted.all];
                "Plumbing"
            }
            button .b { "Show" }
        }
        @if let Some(wrong) = &view.wrong { p .note role="alert" { (wrong) } }
    }
}

fn rows(drawing: &Drawing<'_>, view: &View) -> Markup {
    let older = view.older.map(|seq| {
        drawing.link(&format!(
            "events?{}",
            pick(&view.query, "before", &seq.to_string())
        ))
    });
    html! {
        @if view.rows.is_empty() {
            p .sub { @if view.older.is_some() { "Nothing here fits." } @else { "No event fits." } }
        } @else {
            ol .card.clip { @for row in &view.rows { (item(drawing, row)) } }
        }
        nav .row.sec2 aria-label="Pages of events" {
            @if !view.is_newest {
                a .b href=(drawing.link(&newest(view))) { "Newest" }
            }
            @if let (Some(link), Some(seq)) = (older, view.older) {
                a .b href=(link) { "Older than event " (seq) }
            }
        }
    }
}

fn newest(view: &View) -> String {
    let text = view.query.text();
    let others = form_urlencoded::parse(text.as_bytes()).filter(|(name, _)| name != "before");
    let mut text = form_urlencoded::Serializer::new("events?".to_owned());
    text.extend_pairs(others);
    text.finish()
}

fn item(drawing: &Drawing<'_>, row: &Row) -> Markup {
    let seq = row.told.seq;
    html! {
        li .ev id={ "event-" (seq) } {
            (story(drawing, &row.told))
            details {
                summary { "Event " (seq) ", " (row.told.kind) }
                pre tabindex="0" { code { (row.json) } }
                @if row.is_cut {
                    p .sub { "Cut. All of it: " code {
                        "swarm events --all --json --since " (seq - 1)
                    } }
                }
                p { a href=(drawing.live_link(&format!("?at={seq}"))) { "Look at this moment" } }
            }
        }
    }
}
