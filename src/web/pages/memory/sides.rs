//! Draws the sides of a contradicted fact, and the evidence of a value.

use maud::{Markup, html};

use super::fact::View;
use super::{age, event_link, number, who};
use crate::view::memory::{EvidenceView, SideView};
use crate::web::actions::shown;
use crate::web::document::Drawing;
use crate::web::parts::{MOST, icon, many, tinted};

/// The value and the claims against it, side by side.
pub fn section(drawing: &Drawing<'_>, view: &View) -> Markup {
    let claims = view.sides.len().saturating_sub(1);
    html! {
        @if claims > 0 {
            section .sec aria-labelledby="sides-title" {
                header {
                    h2 #sides-title { "Contradicted" }
                    span { (many(claims, "claim")) " against the value; nobody has settled it" }
                }
                ul .sides { @for side in &view.sides { (one(drawing, view, side)) } }
            }
        }
    }
}

fn one(drawing: &Drawing<'_>, view: &View, side: &SideView) -> Markup {
    let name = side.claim.as_deref().unwrap_or("value");
    html! {
        li .card.cp-note #{ "side-" (name) } {
            h3 .row.wrap {
                span .grow {
                    @if side.claim.is_some() { "Claim " (name) } @else { "The value" }
                }
                span .dim { "weight " (number(side.weight)) }
            }
            @match &side.value {
                Some(value) => p .any { (value) },
                None => p .sub { "Says only that the value is wrong." },
            }
            ul .sub {
                @for evidence in side.evidence.iter().take(MOST) {
                    li .any { (author(drawing, evidence)) }
                }
            }
            (settle(drawing, view, side))
        }
    }
}

/// The button that makes this side the value.
fn settle(drawing: &Drawing<'_>, view: &View, side: &SideView) -> Markup {
    let (key, version) = (&view.detail.fact.key, view.detail.fact.version);
    let Some(value) = &side.value else {
        return html! {};
    };
    let place = format!("settle-{}", side.claim.as_deref().unwrap_or("value"));
    drawing.form(
        &format!("do/fact-settle/{key}"),
        &html! {
            (hidden(&place, version))
            input type="hidden" id={ (place) "-" (shown::digest(value)) } name="text" value=(value);
            button .b { (icon("ok")) "Settle with this" }
        },
    )
}

/// The version that a form was drawn for. Its id differs with its value, see [`shown::field`].
pub fn hidden(place: &str, version: u64) -> Markup {
    html! {
        input type="hidden" id={ (place) "-version-" (version) } name="version" value=(version);
    }
}

/// Who says it, whether that landed, and when.
fn author(drawing: &Drawing<'_>, evidence: &EvidenceView) -> Markup {
    html! {
        (who(drawing, &evidence.by)) ", "
        @if evidence.landed { span .st { (tinted("okc", "ok")) " landed" } ", " }
        (age(drawing, evidence.at)) " ago"
    }
}

/// The evidence of the value, newest first.
pub fn evidence(drawing: &Drawing<'_>, view: &View) -> Markup {
    let fact = &view.detail.fact;
    let dropped = usize::try_from(fact.evidence_count).unwrap_or(usize::MAX);
    let dropped = dropped.saturating_sub(fact.evidence.len());
    html! {
        section .sec aria-labelledby="evidence-title" {
            header {
                h2 #evidence-title { "Evidence" }
                span { "for the value, newest first" }
            }
            ul .card.runs {
                @for one in fact.evidence.iter().rev() {
                    li { div .any {
                        (author(drawing, one)) ", "
                        a href=(event_link(drawing, one.seq)) { "event " (one.seq) }
                        @if let Some(quote) = &one.quote { p { q { (quote) } } }
                        (sources(drawing, one))
                    } }
                }
            }
            @if dropped > 0 { p .sub.sec2 { (many(dropped, "older piece")) " counted only." } }
        }
    }
}

/// The files and events that a piece of evidence names.
fn sources(drawing: &Drawing<'_>, evidence: &EvidenceView) -> Markup {
    html! {
        @if !evidence.paths.is_empty() {
            p .sub { "about "
                @for (index, path) in evidence.paths.iter().enumerate() {
                    @if index > 0 { ", " }
                    code { (path) }
                }
            }
        }
        @if !evidence.refs.is_empty() {
            p .sub { "relies on "
                @for (index, seq) in evidence.refs.iter().enumerate() {
                    @if index > 0 { ", " }
                    a href=(event_link(drawing, *seq)) { "event " (seq) }
                }
            }
        }
    }
}
