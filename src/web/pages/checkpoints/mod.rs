//! All checkpoints, with what going back would cost, and the rollbacks made.
//!
//! Invariant: the list is drawn from the state alone. Git is asked only for one checkpoint.

pub mod checkpoint;
pub mod preview;
#[cfg(test)]
pub mod testkit;
#[cfg(test)]
pub mod tests;

use maud::{Markup, html};

use crate::domain::event::{Event, RollbackAbandoned};
use crate::domain::ids::Oid;
use crate::domain::state::State;
use crate::domain::state::checkpoint::Reason;
use crate::domain::time::Timestamp;
use crate::view::{self, CheckpointView, RollbackView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{clock, commit, icon, local, many, tinted};
use crate::web::touches::Touched;

/// What the page shows.
pub struct View {
    branch: String,
    all: Vec<CheckpointView>,
    rollbacks: Vec<RollbackView>,
    agents: usize,
    target: Option<Oid>,
    abandoned: Option<(Timestamp, RollbackAbandoned)>,
}

/// Loads it.
#[allow(clippy::unused_async)] // every page loads the same way
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let mut view = asked.read(View::of);
    if !asked.moment.is_past() {
        view.abandoned = last_abandoned(asked);
    }
    Ok(view)
}

impl View {
    fn of(state: &State) -> Self {
        Self {
            branch: branch(state),
            all: view::checkpoints(state),
            rollbacks: view::rollbacks(state),
            agents: state.agents.len(),
            target: state.swarm.target.as_ref().map(|now| now.commit.clone()),
            abandoned: None,
        }
    }
}

/// The target branch, for people.
pub fn branch(state: &State) -> String {
    let settings = state.settings.as_deref();
    settings.map_or_else(|| "the target".into(), |one| one.target.clone())
}

/// The last rollback, if it was abandoned and its end is still in memory.
fn last_abandoned(asked: &Asked<'_>) -> Option<(Timestamp, RollbackAbandoned)> {
    let handle = &asked.site.api.handle;
    let recent = handle.recent_after(handle.forgotten(), usize::MAX)?;
    let is_of_rollback = |event: &Event| {
        matches!(
            event,
            Event::RollbackAbandoned(_) | Event::RollbackBegun(_) | Event::RolledBack(_)
        )
    };
    let newest = recent.iter().rev().find(|one| is_of_rollback(&one.event))?;
    let Event::RollbackAbandoned(abandoned) = &newest.event else {
        return None;
    };
    Some((newest.ts, abandoned.clone()))
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    // What undo takes back next is forgotten when an agent or a merge moves on.
    let list = Touched::CHECKPOINTS | Touched::AGENTS;
    let main = html! {
        div .head {
            div {
                h1 { "Checkpoints" }
                p { "Each holds the target, every idea, and the work of every agent, uncommitted \
                    files too. Going back makes a checkpoint first, so it can be undone." }
            }
            div .acts { (drawing.ask("do/checkpoint", "b pri", &html! {
                (icon("flag")) " Create checkpoint"
            })) }
        }
        (drawing.fragment("f-abandoned", Touched::CHECKPOINTS, &abandoned(view)))
        (drawing.fragment("f-checkpoints", list, &table(drawing, view)))
        (drawing.fragment("f-rollbacks", list, &rollbacks(drawing, view)))
    };
    Page {
        title: "Checkpoints".into(),
        place: Place::Checkpoints,
        main,
    }
}

fn abandoned(view: &View) -> Markup {
    let Some((at, abandoned)) = &view.abandoned else {
        return html! {};
    };
    html! {
        div .card.cp-note role="status" {
            p { (tinted("warn", "wait")) " "
                b { "The rollback to " (abandoned.to) " was abandoned" } " at " (clock(*at)) ": "
                (abandoned.why)
            }
            @if !abandoned.files.is_empty() {
                p .sub { "In the way: " (abandoned.files.join(", ")) }
            }
            p .sub { "The target and the ideas were not changed; stopped agents continue." }
        }
    }
}

/// Why a checkpoint was made, in words.
pub fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Manual => "by you",
        Reason::Periodic => "after landings",
        Reason::BeforeAutopilot => "autopilot began",
        Reason::BeforeRollback => "a rollback began",
    }
}

/// A time of day; with its date if that is not today's.
pub fn when(at: Timestamp, now: Timestamp) -> Markup {
    if local(at, "%F") == local(now, "%F") {
        return clock(at);
    }
    html! { time datetime=(at.to_string()) title=(local(at, "%Y-%m-%d %H:%M:%S")) {
        (local(at, "%e %b, %H:%M"))
    } }
}

fn table(drawing: &Drawing<'_>, view: &View) -> Markup {
    if view.all.is_empty() {
        return html! {
            div .card.cp-note {
                p { "No checkpoint yet. Make one before something risky; "
                    "swarm also makes them by itself, as " code { "checkpoints" }
                    " in the configuration says." }
            }
        };
    }
    let now = drawing.moment.time();
    html! {
        div .card.clip { table .stackable {
            thead { tr {
                th { "Name" } th .num { "Made" } th { "Why" } th { (view.branch) " at" }
                th { "Going back costs" } th { span .vh { "Actions" } }
            } }
            tbody { @for one in &view.all { tr #{ "checkpoint-" (one.name) } {
                td .full { a .t href=(drawing.link(&format!("checkpoints/{}", one.name))) {
                    (one.name)
                } @if let Some(number) = one.number { " " span .id { (number) } } }
                td .num { (when(one.created_at, now)) }
                td .sub { (reason(one.reason)) }
                td { (commit(&one.commit)) }
                td .sub {
                    (cost(one, view)) " · "
                    a href=(since(drawing, one.seq)) {
                        "What changed since" span .vh { " " (one.name) }
                    }
                }
                td { div .acts.cp-acts { (verbs(drawing, one)) } }
            } } }
        } }
    }
}

/// The address of what changed since this event.
fn since(drawing: &Drawing<'_>, seq: u64) -> String {
    drawing.link(&format!("changes?from={seq}&to=now"))
}

/// What going back would cost, as far as the state knows it.
fn cost(one: &CheckpointView, view: &View) -> String {
    let is_there = view.target.as_ref().is_none_or(|now| *now == one.commit);
    let landed = match one.landed_since {
        0 if is_there => "nothing that landed".to_owned(),
        0 => format!("nothing that landed, but {} moves", view.branch),
        count => many(count, "landed idea"),
    };
    match view.agents {
        0 => landed,
        count => format!("{landed}; stops {}", many(count, "agent")),
    }
}

fn verbs(drawing: &Drawing<'_>, one: &CheckpointView) -> Markup {
    html! {
        (drawing.ask(&format!("do/checkpoint-delete/{}", one.name), "b quiet", &html! {
            "Delete…" span .vh { " " (one.name) }
        }))
        (drawing.ask(&format!("do/rollback/{}", one.name), "b", &html! {
            (icon("back")) " Roll back…" span .vh { " to " (one.name) }
        }))
    }
}

fn rollbacks(drawing: &Drawing<'_>, view: &View) -> Markup {
    let now = drawing.moment.time();
    let count = match view.rollbacks.len() {
        0 => "none in effect".to_owned(),
        count => many(count, "rollback") + " in effect",
    };
    html! {
        section .sec {
            header { h2 { "Rollbacks" } span { (count) } }
            @if !view.rollbacks.is_empty() {
                div .card.clip { table .stackable {
                    thead { tr {
                        th .num { "At" } th { "Went back to" } th { "Undone by" }
                        th { span .vh { "Actions" } }
                    } }
                    tbody { @for one in &view.rollbacks { tr #{ "rollback-" (one.seq) } {
                        td .num { (when(one.at, now)) }
                        td { (one.to) }
                        td .sub { (one.safety) @if !one.has_safety { ", which was deleted" } }
                        td { div .acts.cp-acts { (undo(drawing, one)) } }
                    } } }
                } }
            }
            p .sub.sec2 { "A rollback is an event like any other: nothing is deleted from the log, \
                and this page can still show every moment before it." }
        }
    }
}

/// The newest is taken back as `swarm undo` does; an older one by going to its own checkpoint.
fn undo(drawing: &Drawing<'_>, one: &RollbackView) -> Markup {
    let words = html! {
        (icon("back")) " Undo…" span .vh { " the rollback to " (one.to) }
    };
    html! {
        @if one.is_last {
            (drawing.ask("do/undo", "b", &words))
        } @else if one.has_safety {
            (drawing.ask(&format!("do/rollback/{}", one.safety), "b", &words))
        }
    }
}
