//! Beside the overview: ideas by status, what was spent, the last checkpoint, warnings.

use maud::{Markup, html};

use crate::domain::ids::CheckpointName;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::view::StatusView;
use crate::web::document::Drawing;
use crate::web::parts::{clock, commands, dollars, icon, label, look, many, tinted, tokens};
use crate::web::touches::Touched;

/// The order of the bar and its legend: what is finished, what is on its way, what waits.
const ORDER: [IdeaStatus; 8] = [
    IdeaStatus::Done,
    IdeaStatus::Merging,
    IdeaStatus::Active,
    IdeaStatus::Blocked,
    IdeaStatus::Failed,
    IdeaStatus::Timeout,
    IdeaStatus::Cancelled,
    IdeaStatus::Pending,
];

/// What the rail shows besides the status.
pub struct Rail {
    checkpoint: Option<(CheckpointName, Timestamp)>,
    /// The limit of a day, in dollars.
    budget: Option<String>,
    ready: usize,
    in_review: usize,
    asking: usize,
}

impl Rail {
    /// From the state of the moment; `ready` ideas can begin.
    pub fn of(state: &State, ready: usize) -> Self {
        let newest = state
            .checkpoints
            .iter()
            .max_by_key(|(_, one)| one.created_at);
        let settings = state.settings.as_deref();
        let budget = settings.and_then(|settings| settings.budget.usd_per_day);
        let asks = |phase| phase == crate::domain::lifecycle::AttemptPhase::WaitingForHuman;
        Self {
            checkpoint: newest.map(|(name, one)| (name.clone(), one.created_at)),
            budget: budget.map(|budget| format!("${:.2}", budget.dollars())),
            ready,
            in_review: state
                .queue
                .iter()
                .filter(|entry| entry.is_in_review())
                .count(),
            asking: state.agents.values().filter(|it| asks(it.phase)).count(),
        }
    }
}

/// The whole rail.
pub fn draw(drawing: &Drawing<'_>, rail: &Rail, status: &StatusView) -> Markup {
    let of_ideas = Touched::IDEAS | Touched::NEEDS;
    let of_money = Touched::COST | Touched::STATUS;
    html! {
        (drawing.fragment("f-ideas", of_ideas, &ideas(drawing, rail, status)))
        (drawing.fragment("f-spent", of_money, &spent(drawing, rail, status)))
        (drawing.fragment("f-last", Touched::CHECKPOINTS, &checkpoint(drawing, rail)))
        (drawing.fragment("f-warnings", Touched::STATUS, &warnings(status)))
    }
}

fn ideas(drawing: &Drawing<'_>, rail: &Rail, status: &StatusView) -> Markup {
    let counted = ORDER.map(|one| (one, status.ideas.get(one.as_str()).copied()));
    let counted = counted
        .into_iter()
        .filter_map(|(one, count)| Some((one, count?)));
    let counted: Vec<(IdeaStatus, usize)> = counted.filter(|(_, count)| *count > 0).collect();
    let all: usize = counted.iter().map(|(_, count)| count).sum();
    let more = |status: IdeaStatus| match status {
        IdeaStatus::Pending => told(rail.ready, "ready", "ready"),
        IdeaStatus::Merging => told(rail.in_review, "waits for you", "wait for you"),
        IdeaStatus::Active => told(rail.asking, "waits for you", "wait for you"),
        IdeaStatus::Blocked
        | IdeaStatus::Done
        | IdeaStatus::Failed
        | IdeaStatus::Timeout
        | IdeaStatus::Cancelled => None,
    };
    html! {
        section {
            h2 { (many(all, "idea")) }
            (stack(&counted, all))
            ul .legend { @for (status, count) in &counted {
                @let (shape, tone) = look(*status);
                li {
                    (tinted(shape, tone))
                    a href=(drawing.link(&format!("ideas?status={}", status.as_str()))) {
                        (label(*status))
                    }
                    @if let Some(more) = more(*status) { span .dim { (more) } }
                    span { (count) }
                }
            } }
        }
    }
}

fn told(count: usize, one: &str, several: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {several}")),
    }
}

/// A bar of all ideas by status; the legend has the same as text.
fn stack(counted: &[(IdeaStatus, usize)], all: usize) -> Markup {
    // In tenths of a percent.
    let share = |count: usize| (count * 1_000).checked_div(all).unwrap_or(0);
    let percent = |share: usize| format!("{}.{}%", share / 10, share % 10);
    let parts = counted.iter().scan(0, |before, (status, count)| {
        let x = share(*before);
        *before += count;
        let width = share(*before).saturating_sub(x + 4).max(4);
        Some((look(*status).1, x, width))
    });
    html! {
        svg .stack aria-hidden="true" { @for (tone, x, width) in parts {
            rect class={ "f-" (tone) } x=(percent(x)) width=(percent(width)) {}
        } }
    }
}

fn spent(drawing: &Drawing<'_>, rail: &Rail, status: &StatusView) -> Markup {
    let Some(today) = &status.used_today else {
        return html! {};
    };
    html! {
        section {
            h2 {
                (dollars(&today.used).unwrap_or_else(|| "Cost not known".into())) " "
                span .dim {
                    "on " (today.day)
                    @if let Some(budget) = &rail.budget { ", of " (budget) }
                }
            }
            @if let Some(tokens) = tokens(&today.used) { p .dim { (tokens) } }
            p .sub { a href=(drawing.link("cost")) { "What it was spent on" } }
        }
    }
}

fn checkpoint(drawing: &Drawing<'_>, rail: &Rail) -> Markup {
    html! {
        section {
            h2 { "Last checkpoint" }
            @match &rail.checkpoint {
                Some((name, at)) => {
                    p .sub {
                        a href=(drawing.link(&format!("checkpoints/{name}"))) { (name) } ", "
                        (clock(*at))
                    }
                    @if !drawing.moment.is_past() {
                        div .acts.sec2 {
                            (drawing.ask(&format!("do/rollback/{name}"), "b", &html! {
                                (icon("back")) " Roll back…"
                            }))
                        }
                    }
                },
                None => p .sub { "None yet." },
            }
        }
    }
}

fn warnings(status: &StatusView) -> Markup {
    html! {
        @if !status.warnings.is_empty() {
            section {
                h2 { "Warnings" }
                ul .list { @for warning in &status.warnings {
                    li {
                        (tinted("warn", "wait"))
                        div .grow.any { (warning.message) (commands(&warning.commands)) }
                    }
                } }
            }
        }
    }
}
