//! Beside the report: what it cost, what went wrong on the way, and what agents found out.

use maud::{Markup, html};

use super::View;
use crate::view::{BumpKind, LearningView};
use crate::web::document::Drawing;
use crate::web::parts::{clock, dollars, tinted, tokens};

/// Things that went wrong, the newest.
const BUMPS: usize = 30;
/// Learnings that are shown, the newest; their page has all.
const FOUND: usize = 30;

/// What it cost, by profile.
pub fn spent(view: &View) -> Markup {
    let used = &view.report.used;
    html! {
        section {
            h2 { @match dollars(used) {
                Some(dollars) => { (dollars) " spent" },
                None => "Spent: not known",
            } }
            @if !view.by_profile.is_empty() {
                ul .legend { @for (profile, used) in &view.by_profile { li {
                    span { (profile)
                        @if used.estimated_usd > 0.0 { " " span .dim { "estimated" } } }
                    span { (dollars(used).unwrap_or_else(|| "not known".into())) }
                } } }
            }
            @if let Some(tokens) = tokens(used) { p .dim.sec2 { (tokens) } }
            @if used.runs_without_cost > 0 {
                p .dim { "The cost of " (used.runs_without_cost) " of " (used.runs)
                    " runs is not known." }
            }
            @for account in &view.report.accounts {
                p .sub.sec2 { (tinted("clock", "wait")) " " (account.account) ": "
                    (account.message) }
            }
        }
    }
}

/// What went wrong.
pub fn bumps(view: &View) -> Markup {
    if view.bumps.is_empty() {
        return html! {};
    }
    let unshown = view.bumps.len().saturating_sub(BUMPS);
    html! {
        section {
            h2 { "On the way" }
            @if unshown > 0 { p .dim { (unshown) " earlier ones are not shown." } }
            ol .bumps { @for bump in view.bumps.iter().skip(unshown) {
                @let (shape, tone) = bump_look(bump.kind);
                li { (clock(bump.at)) (tinted(shape, tone)) div { (bump.text) } }
            } }
        }
    }
}

fn bump_look(kind: BumpKind) -> (&'static str, &'static str) {
    match kind {
        BumpKind::Crashed | BumpKind::Failed | BumpKind::TimedOut => ("x", "bad"),
        BumpKind::Blocked => ("stopped", "wait"),
        BumpKind::Returned => ("half", "bad"),
        BumpKind::Rejected => ("eye", "wait"),
        BumpKind::RolledBack => ("back", "wait"),
        BumpKind::Account | BumpKind::Slept | BumpKind::Outage => ("clock", "idle"),
    }
}

/// What agents found out.
pub fn found(drawing: &Drawing<'_>, view: &View) -> Markup {
    if view.found.is_empty() {
        return html! {};
    }
    let earlier = view.found.len().saturating_sub(FOUND);
    html! {
        section {
            h2 { a href=(drawing.link("learnings")) { "Found out" } }
            ul .list { @for one in view.found.iter().skip(earlier) { li { span .grow {
                b .learned { (one.content) } br;
                span .dim { (sources(one)) }
            } } } }
            @if earlier > 0 { p .sub.report-more { (earlier) " more." } }
        }
    }
}

/// The agents that reported it: `ed-004, ed-007 and 3 more`.
fn sources(learning: &LearningView) -> String {
    let all = learning.sources.iter().map(|one| one.agent_id.to_string());
    let all: Vec<String> = all.collect();
    match all.split_at(all.len().min(2)) {
        (some, []) => some.join(", "),
        (some, rest) => format!("{} and {} more", some.join(", "), rest.len()),
    }
}
