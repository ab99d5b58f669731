//! What a night brought: what needs you, what landed and what went wrong on the way, what failed,
//! what it cost, and what agents found out.
//!
//! Invariant: the figures are those of `swarm report --json`; both come from `view::report`.

mod markdown;
mod rail;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::domain::ids::{IdeaId, ProfileName};
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::{self, Bump, LearningView, ReportView, ReportedIdea, UsedView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{
    MOST, and_more, capital, clock, commands, commit, dollars, icon, local, look, tinted, title,
    word,
};
use crate::web::touches::Touched;

/// Rows of a kind; the ideas page has the others.
const ROWS: usize = 50;

/// The periods that are offered: the query's value, and words.
const PERIODS: [(&str, &str); 4] = [
    ("", "Everything"),
    ("12h", "12 h"),
    ("24h", "24 h"),
    ("7d", "7 days"),
];

/// What the page shows.
pub struct View {
    /// As it stands in the address.
    since: String,
    report: ReportView,
    /// What happened on the way of each idea, in words.
    way: BTreeMap<IdeaId, String>,
    bumps: Vec<Bump>,
    by_profile: BTreeMap<ProfileName, UsedView>,
    by_landed: UsedView,
    agents: usize,
    found: Vec<LearningView>,
    branch: String,
    first: Option<Timestamp>,
}

/// Loads it.
#[allow(clippy::unused_async)] // every page loads the same way
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let text = asked.query.get("since").unwrap_or_default();
    let since = match text {
        "" => None,
        text => Some(read(text, asked.moment.time()).ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            WebError::bad(format!(
                "`{shown}` is neither a span (12h, 7d) nor a time (2026-01-31T22:00:00Z)"
            ))
        })?),
    };
    Ok(asked.read(|state| View::of(state, text, since)))
}

/// A time, or a span before now.
fn read(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp::from_millis(time.as_millisecond()));
    }
    let unit = text.chars().next_back()?;
    let count: i64 = text[..text.len() - unit.len_utf8()].parse().ok()?;
    let minutes = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        'w' => 7 * 24 * 60,
        _ => return None,
    };
    let millis = count.checked_mul(minutes)?.checked_mul(60_000)?;
    (count > 0).then(|| now.plus_millis(-millis))
}

impl View {
    fn of(state: &State, text: &str, since: Option<Timestamp>) -> Self {
        let all = view::bumps(state, None);
        let recent = |at: Timestamp| since.is_none_or(|since| at >= since);
        let mut found = view::learnings(state);
        found.retain(|one| recent(one.learned_at));
        let report = view::report(state, since);
        Self {
            since: text.to_owned(),
            by_landed: view::used_by_landed(state, since, &report.landed),
            report,
            way: view::on_the_way(&all),
            bumps: all.into_iter().filter(|bump| recent(bump.at)).collect(),
            by_profile: view::used_by_profile(state, since),
            agents: view::worked(state, since).len(),
            found,
            branch: crate::web::pages::checkpoints::branch(state),
            first: state.ideas.values().map(|idea| idea.created_at).min(),
        }
    }

    /// All that was spent in the period, and how much of it went into what landed; `None` if no
    /// cost is known.
    fn spent(&self) -> Option<String> {
        let all = dollars(&self.report.used)?;
        Some(match dollars(&self.by_landed) {
            _ if self.report.landed.is_empty() => format!("{all} was spent."),
            Some(landed) => format!("{all} was spent, {landed} of it on what landed."),
            None => format!("{all} was spent; what landed had no known part in it."),
        })
    }

    /// When the period began, as far as known.
    fn began(&self) -> Option<Timestamp> {
        self.report.since.or(self.first)
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let touched = Touched::REPORT | Touched::NEEDS | Touched::IDEAS;
    let main = html! {
        div .head {
            div { (drawing.fragment("f-headline", touched, &headline(view))) }
            div .acts {
                (periods(drawing, view))
                button .b type="button" hidden data-copy-from="report-markdown" {
                    (icon("copy")) span .label { "Copy as Markdown" }
                }
            }
        }
        div .cols {
            div {
                (drawing.fragment("f-report-needs", touched, &needs(drawing, view)))
                (drawing.fragment("f-report-ideas", touched, &ideas(drawing, view)))
                (drawing.fragment("f-report-markdown", touched, &as_markdown(view)))
            }
            aside .rail aria-label="What it took" {
                (drawing.fragment("f-report-spent", touched, &rail::spent(view)))
                (drawing.fragment("f-report-bumps", touched, &rail::bumps(view)))
                @let found = rail::found(drawing, view);
                (drawing.fragment("f-report-found", Touched::LEARNINGS, &found))
            }
        }
    };
    Page {
        title: "Night report".into(),
        place: Place::Report,
        main,
    }
}

fn periods(drawing: &Drawing<'_>, view: &View) -> Markup {
    html! {
        div .seg role="group" aria-label="Since" { @for (value, words) in PERIODS {
            a href=(drawing.link(&address(value)))
                aria-current=[(value == view.since).then_some("true")] { (words) }
        } }
    }
}

fn address(since: &str) -> String {
    match since {
        "" => "report".to_owned(),
        since => format!("report?since={since}"),
    }
}

fn headline(view: &View) -> Markup {
    let report = &view.report;
    let landed = report.landed.len();
    let until = local(report.until, "%e %b, %H:%M");
    let ideas = if landed == 1 { "idea" } else { "ideas" };
    html! {
        p .crumb {
            @match view.began() {
                Some(began) => { (local(began, "%e %b, %H:%M")) " to " (until) },
                None => (until),
            }
        }
        h1 {
            (capital(&word(landed))) " " (ideas) " landed"
        }
        p .lead { (lead(view)) }
    }
}

fn lead(view: &View) -> Markup {
    let report = &view.report;
    let (failed, waiting) = (report.failed.len(), report.waiting.len());
    let needs = report.needs_you.len();
    html! {
        @if let Some(spent) = view.spent() { (spent) " " }
        @match view.agents {
            0 => "No agent worked. ",
            1 => "One agent worked. ",
            count => { (capital(&word(count))) " agents worked. " },
        }
        @if !report.landed.is_empty() {
            (view.branch) " moved with each idea that landed. "
        }
        @if failed > 0 { b { (capital(&word(failed))) " did not land." } " " }
        @if waiting > 0 { (capital(&word(waiting)))
            @if waiting == 1 { " is" } @else { " are" } " unfinished. " }
        @match needs {
            0 => "Nothing needs you.",
            1 => { b { "One thing needs you." } },
            count => { b { (capital(&word(count))) " things need you." } },
        }
    }
}

fn needs(drawing: &Drawing<'_>, view: &View) -> Markup {
    let all = &view.report.needs_you;
    if all.is_empty() {
        return html! {};
    }
    html! {
        section {
            header .row { h2 .c-wait { "Needs you" } }
            ul .list { @for need in all.iter().take(MOST) { li {
                (tinted(need_icon(need.kind), "wait"))
                div .grow {
                    @if let Some(id) = &need.idea_id {
                        a href=(drawing.link(&format!("ideas/{id}"))) { (id) } ": "
                    }
                    (need.message)
                    @if !drawing.moment.is_past() { (commands(&need.commands)) }
                }
            } } }
            (and_more(all.len()))
        }
    }
}

fn need_icon(kind: &str) -> &'static str {
    match kind {
        "question" => "ask",
        "review" => "eye",
        "conflict" => "fork",
        "merge" | "checkout" => "half",
        "blocked" => "stopped",
        "failed" => "x",
        "account" => "clock",
        "paused" => "pause",
        _ => "warn",
    }
}

fn ideas(drawing: &Drawing<'_>, view: &View) -> Markup {
    let report = &view.report;
    html! {
        (group(drawing, view, "Did not land", &report.failed))
        (group(drawing, view, "Landed", &report.landed))
        (group(drawing, view, "Had nothing to land", &report.nothing_to_land))
        (group(drawing, view, "Unfinished", &report.waiting))
        @if report.landed.is_empty() && report.failed.is_empty()
            && report.nothing_to_land.is_empty() && report.waiting.is_empty() {
            section .sec { p .sub { "Nothing happened in this time." } }
        }
    }
}

fn group(drawing: &Drawing<'_>, view: &View, heading: &str, ideas: &[ReportedIdea]) -> Markup {
    if ideas.is_empty() {
        return html! {};
    }
    html! {
        section .sec {
            header { h2 { (heading) } span { (ideas.len()) } }
            div .card.clip { table .fix.stackable {
                colgroup { col width="66"; col; col width="31%"; col width="66";
                    col width="92" .hide-s; }
                thead { tr {
                    th .num { "At" } th { "Idea" } th { "On the way" } th .num { "Cost" }
                    th .hide-s { "Commit" }
                } }
                tbody { @for idea in ideas.iter().take(ROWS) { (row(drawing, view, idea)) } }
            } }
            @if ideas.len() > ROWS {
                p .sub.report-more { (ideas.len() - ROWS) " more: "
                    a href=(drawing.link("ideas")) { "all ideas" } }
            }
        }
    }
}

fn row(drawing: &Drawing<'_>, view: &View, idea: &ReportedIdea) -> Markup {
    let (shape, tone) = look(idea.status);
    let cost = idea.used.as_ref().and_then(dollars);
    let way = [
        idea.reason.as_deref(),
        view.way.get(&idea.id).map(String::as_str),
    ];
    let way: Vec<&str> = way.into_iter().flatten().collect();
    let way = way.join("; ");
    html! {
        tr #{ "report-" (idea.id) } {
            td .num.dim { (clock(idea.at)) }
            td .full {
                a .t.two href=(drawing.link(&format!("ideas/{}", idea.id))) {
                    (title(&idea.content))
                }
                span .id { (idea.id) }
            }
            td .sub { span .two title=(way) {
                @if idea.status.is_bad() { span .st { (tinted(shape, tone)) (idea.status.as_str()) }
                    " " }
                (way)
            } }
            td .num { (cost.unwrap_or_default()) }
            td .hide-s { @if let Some(oid) = &idea.commit { (commit(oid)) } }
        }
    }
}

fn as_markdown(view: &View) -> Markup {
    html! {
        details .sec.report-more {
            summary { "As Markdown" }
            pre #report-markdown .report-md tabindex="0" { (markdown::of(view)) }
        }
    }
}
