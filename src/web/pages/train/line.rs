//! The line: the entries of the merge queue with their steps, and the work that may come next.

use maud::{Markup, html};

use super::View;
use crate::domain::lifecycle::MergePhase;
use crate::view::{AgentView, MergeStep, StepState, TrainView};
use crate::web::document::Drawing;
use crate::web::parts::{MOST, and_more, doing, icon, span};

/// The queue without what waits at the side, and what comes after it.
pub fn line(drawing: &Drawing<'_>, view: &View) -> Markup {
    let on_line = view.line.iter();
    let on_line: Vec<_> = on_line
        .filter(|entry| entry.merge.state != MergePhase::Person)
        .collect();
    html! {
        section {
            h2 .vh { "The line" }
            @if on_line.is_empty() { p .sub { "Nothing waits to land." } }
            @if !on_line.is_empty() || !view.coming.is_empty() {
                ol .card.train {
                    @for (index, one) in on_line.iter().take(MOST).enumerate() {
                        li #{ "train-" (one.merge.idea_id) } { (entry(drawing, view, index, one)) }
                    }
                    @for agent in &view.coming {
                        li #{ "coming-" (agent.id) } { (coming(drawing, view, agent)) }
                    }
                }
                (and_more(on_line.len()))
            }
        }
    }
}

fn entry(drawing: &Drawing<'_>, view: &View, index: usize, one: &TrainView) -> Markup {
    let id = &one.merge.idea_id;
    let waited = drawing.moment.time().since(one.merge.queued_at);
    let page = drawing.link(&format!("ideas/{id}"));
    html! {
        span .stop.held[one.merge.held].now[!one.merge.held] { (index + 1) }
        div {
            div .row.wrap {
                a .t href=(page) { b { (view.title(id)) } }
                span .id { (id) }
            }
            div .sub2 { (steps(one)) }
            div .sub2 {
                span { "from " (one.merge.agent_id) ", in the queue for " (span(waited)) }
                @if let Some(reason) = &one.merge.reason { span { (reason) } }
            }
        }
        div .acts {
            @if one.in_review {
                (drawing.ask(&format!("do/reject/{id}"), "b quiet", &html! {
                    "Send back…" span .vh { " " (id) }
                }))
                (drawing.form(&format!("do/approve/{id}"), &html! {
                    input type="hidden" name="commit" value=(one.merge.source);
                    button .b { "Approve" span .vh { " " (id) } }
                }))
                a .b.pri href=(page) { "Review" span .vh { " " (id) } }
            }
        }
    }
}

fn steps(one: &TrainView) -> Markup {
    html! {
        ol .steps { @for (step, state) in &one.steps {
            li .is-done[*state == StepState::Done] .is-now[*state == StepState::Now]
                .is-bad[*state == StepState::Waits]
                aria-current=[(*state == StepState::Now).then_some("step")] {
                @match state {
                    StepState::Done => (icon("ok")),
                    StepState::Now => (icon("half")),
                    StepState::Waits => (icon("eye")),
                    StepState::Later => {},
                }
                (words(*step))
                @if *step == MergeStep::Check && let Some((now, all)) = one.check && all > 1 {
                    ", " (now) " of " (all)
                }
                @if *step == MergeStep::Conflicts && *state == StepState::Now {
                    ", an agent settles them"
                }
            }
        } }
    }
}

fn words(step: MergeStep) -> &'static str {
    match step {
        MergeStep::Review => "Your review",
        MergeStep::Build => "Build",
        MergeStep::Conflicts => "Conflicts",
        MergeStep::Check => "Check",
        MergeStep::Hook => "Hook",
        MergeStep::Land => "Land",
    }
}

fn coming(drawing: &Drawing<'_>, view: &View, agent: &AgentView) -> Markup {
    html! {
        span .stop {}
        div {
            div .row.wrap {
                a .t.sub href=(drawing.link(&format!("ideas/{}", agent.idea_id))) {
                    (view.title(&agent.idea_id))
                }
                span .id { (agent.idea_id) }
            }
            div .sub2 { span {
                a href=(drawing.link(&format!("agents/{}", agent.id))) { (agent.id) } ": "
                (doing(agent.phase))
                @if let Some(progress) = agent.progress { ", " (progress) " %" }
            } }
        }
        div .acts {}
    }
}
