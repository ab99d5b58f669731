//! One fact: its value, what speaks for it and against it, its history, and what a person can do.
//!
//! Invariant: each form names the version that it was drawn at. The buttons follow the value that
//! the page shows; the form with text of the person's own does not.

use axum::http::StatusCode;
use maud::{Markup, html};

use super::sides::{self, hidden};
use super::{age, board, freshness, number, status, who};
use crate::api::ApiError;
use crate::domain::memory::{FactKey, FactStatus};
use crate::domain::state::State;
use crate::view::memory::{self as views, FactDetail, OldValueView, SideView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{MOST, commands, icon, many};
use crate::web::touches::Touched;

/// What the page shows.
pub struct View {
    pub(super) detail: FactDetail,
    /// The value and the claims against it, the heavier first.
    pub(super) sides: Vec<SideView>,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>, key: &str) -> Result<View, WebError> {
    let aged = freshness::aged(asked).await?;
    asked.read(|state| {
        let known = key.parse::<FactKey>().ok();
        let detail = known.and_then(|key| views::fact(state, &aged, &key, MOST));
        let detail = detail.ok_or_else(|| unknown(state, key))?;
        let sides = views::sides(state, &aged, &detail.fact.key);
        Ok(View { detail, sides })
    })
}

/// There is no such fact, but keys like it.
pub fn unknown(state: &State, key: &str) -> WebError {
    let shown: String = key.chars().take(100).collect();
    let message = format!("there is no fact `{shown}`");
    let error = ApiError::new(StatusCode::NOT_FOUND, "FACT_UNKNOWN", message);
    let near = key.parse().ok();
    let near = near.map_or_else(Vec::new, |key| views::suggestions(state, &key));
    let error = near.into_iter().fold(error, ApiError::suggest);
    error.suggest("see the facts: swarm memory board").into()
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let key = &self.detail.fact.key;
        // A landed idea gives weight to what its agent said.
        let touched = Touched::MEMORY | Touched::IDEAS;
        let said = html! {
            (value(drawing, self)) (sides::section(drawing, self))
        };
        let known = html! { (sides::evidence(drawing, self)) (history(drawing, self)) };
        let main = html! {
            div .head {
                div {
                    p .crumb { a href=(drawing.link("memory")) { "Memory" } }
                    h1 .any { (key) }
                }
                (drawing.fragment("f-fact-acts", Touched::MEMORY, &acts(drawing, self)))
            }
            div .cols {
                div {
                    (drawing.fragment("f-fact", touched, &said))
                    (write(drawing, self))
                    (drawing.fragment("f-fact-known", touched, &known))
                }
                aside .rail aria-label="About this fact" {
                    (drawing.fragment("f-fact-rail", touched, &rail(drawing, self)))
                }
            }
        };
        Page {
            title: key.to_string(),
            place: Place::Memory,
            main,
        }
    }
}

/// What needs no text: each button acts on the version that the page shows.
fn acts(drawing: &Drawing<'_>, view: &View) -> Markup {
    let fact = &view.detail.fact;
    let button = |verb: &str, mark: &str, words: &str| {
        let body = html! {
            (hidden(verb, fact.version)) button .b { (icon(mark)) (words) }
        };
        drawing.form(&format!("do/{verb}/{}", fact.key), &body)
    };
    let ask = |verb: &str, words: &str| {
        drawing.ask(
            &format!("do/{verb}/{}", fact.key),
            "b quiet",
            &html! { (words) },
        )
    };
    let is_in_force = fact.status != FactStatus::Retracted;
    html! {
        div .acts {
            @if is_in_force { (button("fact-confirm", "ok", "Confirm")) }
            @if fact.pinned { (button("fact-unpin", "flag", "Unpin")) }
            @else { (button("fact-pin", "flag", "Pin")) }
            @if is_in_force {
                (ask("fact-dispute", "Dispute…"))
                (ask("fact-retract", "Retract…"))
            }
        }
    }
}

fn value(drawing: &Drawing<'_>, view: &View) -> Markup {
    let fact = &view.detail.fact;
    html! {
        section .card.cp-note aria-label="Value" {
            p .row.wrap {
                (status(fact.status))
                @if fact.pinned { span .st { (icon("flag")) " Pinned" } }
                span .dim { "version " (fact.version) }
            }
            p .lead.any { b { (fact.value) } }
            @if let Some(why) = &fact.why { p .sub.any { "Why: " (why) } }
            @if !fact.aged.is_empty() { (board::aged(&fact.aged)) }
            @if let Some(retracted) = &fact.retracted {
                p .sub.any {
                    "Taken back by " (who(drawing, &retracted.by)) ", "
                    (age(drawing, retracted.at)) " ago"
                    @if let Some(why) = &retracted.why { ": " (why) }
                }
            }
        }
    }
}

/// The form for another value. It keeps the version at which it was drawn, so that it overwrites
/// nothing that the person did not see.
fn write(drawing: &Drawing<'_>, view: &View) -> Markup {
    let fact = &view.detail.fact;
    let title = match fact.status {
        FactStatus::Active => "Write another value",
        FactStatus::Contradicted => "Settle it",
        FactStatus::Retracted => "Bring it back",
    };
    let body = html! {
        input type="hidden" name="version" value=(fact.version);
        label for="fact-value" { "Value, one line" }
        textarea #fact-value name="text" rows="2" required { "\n" (fact.value) }
        label for="fact-why" { "Why (optional)" }
        input #fact-why name="why";
        div .row.wrap {
            button .b.pri { "Write it" }
            span .sub { "You write on version " (fact.version) ". Claims that differ become \
                history." }
        }
    };
    html! {
        @if !drawing.moment.is_past() {
            section .sec aria-labelledby="write-title" {
                header { h2 #write-title { (title) } }
                div .card.first { (drawing.form(&format!("do/fact-settle/{}", fact.key), &body)) }
            }
        }
    }
}

fn history(drawing: &Drawing<'_>, view: &View) -> Markup {
    let shown = &view.detail.history;
    let all = usize::try_from(view.detail.history_count).unwrap_or(usize::MAX);
    let more = all.saturating_sub(shown.len());
    html! {
        section .sec aria-labelledby="versions-title" {
            header { h2 #versions-title { "Earlier" } }
            @if shown.is_empty() { p .sub { "This is its first value." } } @else {
                div .card.clip { table .stackable.board {
                    thead { tr {
                        th { "Version" } th { "Value" } th .num { "Age" } th { "Who" }
                    } }
                    tbody { @for old in shown { (earlier(drawing, old)) } }
                } }
            }
            @if more > 0 {
                p .sub.sec2 { "And " (more) " more: "
                    code { "swarm memory history " (view.detail.fact.key) } }
            }
        }
    }
}

fn earlier(drawing: &Drawing<'_>, old: &OldValueView) -> Markup {
    html! {
        tr {
            td .nw { "v" (old.version) }
            td .full.any {
                (old.value)
                @if old.claim {
                    div { span .st.sub { (icon("x")) " a claim that lost" } }
                }
            }
            td .num.dim { span .lab { "age " } (age(drawing, old.at)) }
            td .sub { span .lab { "by " } (who(drawing, &old.by)) }
        }
    }
}

fn rail(drawing: &Drawing<'_>, view: &View) -> Markup {
    let fact = &view.detail.fact;
    let count = usize::try_from(fact.evidence_count).unwrap_or(usize::MAX);
    html! {
        section {
            h2 { "So far" }
            dl .facts {
                dt { "Version" } dd { (fact.version) }
                dt { "Confidence" } dd { (number(fact.confidence)) " of 1" }
                dt { "Evidence" } dd { (many(count, "piece")) }
                dt { "Written" } dd { (age(drawing, fact.at)) " ago" }
                dt { "By" } dd { (who(drawing, &fact.by)) }
            }
            p .sub.sec2 { "Confidence orders what agents are shown. It decides nothing." }
        }
        section {
            h2 { "On the command line" }
            (commands(&[
                format!("swarm memory get {}", fact.key),
                format!("swarm memory history {}", fact.key),
            ]))
        }
    }
}
