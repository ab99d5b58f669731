//! What stands beside an agent's output: its progress, what happened, what it was told, and facts.

use maud::{Markup, html};

use super::agent::View;
use super::known::{is_iteration, label};
use crate::domain::ids::RunId;
use crate::domain::state::Audit;
use crate::view::MessageView;
use crate::web::document::Drawing;
use crate::web::pages::ideas::audit;
use crate::web::parts::{clock, dollars, span, tokens};

/// All of it.
pub fn rail(drawing: &Drawing<'_>, view: &View) -> Markup {
    let agent = &view.known.agent;
    html! {
        aside .rail aria-label="About this agent" {
            @if let Some(progress) = agent.progress {
                section {
                    h2 { (progress) " % " span .dim { "by its own account" } }
                    svg .bar aria-hidden="true" { rect width={ (progress) "%" } height="4" {} }
                }
            }
            (steps(&view.known.steps))
            (said(&agent.said))
            (facts(drawing, view))
        }
    }
}

fn steps(steps: &[Audit]) -> Markup {
    html! {
        @if !steps.is_empty() {
            section {
                h2 { "So far" }
                ol .bumps { @for step in steps {
                    li { (audit(step)) }
                } }
            }
        }
    }
}

fn said(said: &[MessageView]) -> Markup {
    html! {
        @if !said.is_empty() {
            section {
                h2 { "You said" }
                ul .list { @for one in said {
                    @let (words, shape, tone) = stage(one.stage);
                    li {
                        div .grow {
                            (one.message.text) br;
                            span .dim { (clock(one.message.accepted_at)) ", " (words)
                                @if let Some(run) = &one.message.run { " (" (label(run)) ")" } }
                        }
                        svg class={ "i c-" (tone) } role="img" aria-label=(words) {
                            use href={ "#" (shape) } {}
                        }
                    }
                } }
            }
        }
    }
}

/// The stage of a message in words, with its icon.
fn stage(stage: &str) -> (&'static str, &'static str, &'static str) {
    match stage {
        "seen" => ("seen", "ok", "ok"),
        "delivered" => ("delivered with the current prompt", "okc", "run"),
        "notDelivered" => ("goes to the next attempt", "clock", "idle"),
        "neverRead" => ("never read", "x", "bad"),
        _ => ("goes with the next prompt", "clock", "idle"),
    }
}

fn facts(drawing: &Drawing<'_>, view: &View) -> Markup {
    let agent = &view.known.agent;
    let until = agent.ended_at.unwrap_or_else(|| drawing.moment.time());
    let prompt = |run: &RunId| drawing.live_link(&format!("agents/{}/prompt?run={run}", agent.id));
    let time = span(until.since(agent.started_at));
    let iterations = agent.runs.iter().filter(|run| is_iteration(run));
    html! {
        section {
            h2 { "Facts" }
            dl .facts {
                dt { "Began" }
                dd { (clock(agent.started_at)) @if agent.ended_at.is_none() { ", " (time) " ago" } }
                @if let Some(ended) = agent.ended_at {
                    dt { "Ended" } dd { (clock(ended)) ", after " (time) }
                }
                @if let Some((timeout, iterations)) = view.known.limits {
                    dt { "Limits" } dd { (span(timeout)) ", " (iterations) " iterations" }
                }
                @if let Some(cost) = agent.used.as_ref().and_then(dollars) {
                    dt { "Cost" } dd { (cost) }
                }
                @if let Some(tokens) = agent.used.as_ref().and_then(tokens) {
                    dt { "Tokens" } dd { (tokens) }
                }
                @if let Some(pid) = agent.pid { dt { "Process" } dd { (pid) } }
                dt { "Worktree" }
                dd {
                    @match &agent.worktree {
                        Some(worktree) => code { (worktree) },
                        None => "lent to another idea; all work is on the branch",
                    }
                }
                @if let Some(session) = &agent.session {
                    dt { "Session" }
                    dd { code { (session) } @if agent.resumed { ", resumed" } }
                }
                @if let Some(idea) = &agent.redirected_to {
                    dt { "Redirected" }
                    dd { "to " a href=(drawing.link(&format!("ideas/{idea}"))) { (idea) } }
                }
                @if !agent.runs.is_empty() && !drawing.moment.is_past() {
                    dt { "Prompts" }
                    dd { @for run in iterations {
                        a href=(prompt(run)) { (label(run)) } " "
                    } }
                }
            }
        }
    }
}
