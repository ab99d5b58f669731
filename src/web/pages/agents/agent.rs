//! One agent: its output, what it does, and what a person told it.

use maud::{Markup, html};

use super::known::{Known, nearest};
use super::panel::panel;
use super::rail;
use super::shown::{self, Shown, Wanted};
use crate::api::ApiError;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::web::actions::shown::field;
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{commands, doing, icon, tinted};
use crate::web::touches::Touched;

/// What the page shows.
pub struct View {
    pub known: Known,
    /// The run that is looked at.
    pub run: Option<RunId>,
    /// Its output; `None` without a run, and for updates, which never change it.
    pub shown: Option<Shown>,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>, id: &str) -> Result<View, WebError> {
    let is_past = asked.moment.is_past();
    let agent: Option<AgentId> = id.parse().ok();
    let known = asked.read(|state| {
        let known = agent.and_then(|agent| Known::of(state, &agent, is_past));
        known.ok_or_else(|| nearest(state, id))
    });
    let known = known.map_err(|names| unknown(id, &names))?;
    let Some(first) = known.first_run() else {
        return Ok(View {
            known,
            run: None,
            shown: None,
        });
    };
    let wanted = Wanted::of(asked.query, first)?;
    let run = Some(wanted.run.clone());
    if !known.agent.runs.contains(&wanted.run) {
        let message = format!("{id} has no run `{}`", wanted.run);
        return Err(WebError::not_found(message));
    }
    let shown = if asked.is_update {
        None
    } else {
        Some(shown::load(asked.site, &known, wanted).await?)
    };
    Ok(View { known, run, shown })
}

fn unknown(id: &str, names: &[String]) -> WebError {
    let message = format!("there is no agent `{id}`");
    let mut error = ApiError::new(axum::http::StatusCode::NOT_FOUND, "NOT_FOUND", message);
    if !names.is_empty() {
        error = error.suggest(format!("Did you mean {}?", names.join(" or ")));
    }
    WebError::from(error.suggest("List the agents: swarm agent list"))
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let agent = &view.known.agent;
    let touched = Touched::AGENTS | Touched::NEEDS | Touched::IDEAS;
    let main = html! {
        (drawing.fragment("f-agent-head", touched, &head(drawing, view)))
        (drawing.fragment("f-agent-needs", touched, &needs(view)))
        div .cols {
            section aria-label="Output" {
                div .card.clip {
                    (panel(drawing, view))
                    (say(drawing, view))
                }
            }
            (drawing.fragment("f-agent-rail", touched | Touched::COST, &rail::rail(drawing, view)))
        }
    };
    Page {
        title: agent.id.to_string(),
        place: Place::Agents,
        main,
    }
}

/// The icon and the tone of what an agent does.
pub fn look(phase: AttemptPhase) -> (&'static str, &'static str) {
    match phase {
        AttemptPhase::Merged => ("ok", "ok"),
        AttemptPhase::Failed => ("x", "bad"),
        AttemptPhase::Released => ("ring", "idle"),
        AttemptPhase::WaitingForHuman => ("ask", "wait"),
        AttemptPhase::ReadyToMerge => ("half", "join"),
        AttemptPhase::Queued
        | AttemptPhase::Preparing
        | AttemptPhase::Starting
        | AttemptPhase::Working
        | AttemptPhase::Gating
        | AttemptPhase::Stopping
        | AttemptPhase::Backoff => ("run", "run"),
    }
}

fn head(drawing: &Drawing<'_>, view: &View) -> Markup {
    let agent = &view.known.agent;
    let (shape, tone) = look(agent.phase);
    html! {
        div .head {
            div {
                div .crumb {
                    span .st { (tinted(shape, tone)) " " (doing(agent.phase)) }
                    " · " span { (agent.id) } " · "
                    span { "attempt " (agent.attempt) ", iteration " (agent.iteration) }
                }
                h1 { (view.known.title) }
                p {
                    a .id href=(drawing.link(&format!("ideas/{}", agent.idea_id))) {
                        (agent.idea_id)
                    }
                    " · profile " (agent.profile) " · on " code { (agent.branch) }
                    @if let Some(end) = agent.end { " · it " (end) }
                }
                @if let Some(reason) = &agent.reason { p { (reason) } }
            }
            @if agent.end.is_none() { div .acts { (acts(drawing, agent.id.as_str())) } }
        }
    }
}

fn acts(drawing: &Drawing<'_>, id: &str) -> Markup {
    html! {
        (drawing.ask(&format!("do/intervene/{id}"), "b", &html! { "Intervene…" }))
        (drawing.ask(&format!("do/redirect/{id}"), "b", &html! { "Redirect…" }))
        (drawing.ask(&format!("do/stop-agent/{id}"), "b", &html! { (icon("x")) " Stop…" }))
    }
}

fn needs(view: &View) -> Markup {
    html! {
        @if !view.known.needs.is_empty() {
            ul .card.needs { @for need in &view.known.needs {
                li {
                    (tinted("ask", "wait")) h2 .t { "Needs you" }
                    div .what { (need.message) } (commands(&need.commands))
                }
            } }
        }
    }
}

/// A field for a message; outside the fragments, so that no update takes what is typed.
fn say(drawing: &Drawing<'_>, view: &View) -> Markup {
    let agent = &view.known.agent;
    if agent.end.is_some() {
        return html! {};
    }
    let hint = match agent.phase {
        AttemptPhase::WaitingForHuman => "It goes on at once with your answer.",
        AttemptPhase::Queued
        | AttemptPhase::Preparing
        | AttemptPhase::Starting
        | AttemptPhase::Working
        | AttemptPhase::Gating
        | AttemptPhase::Stopping
        | AttemptPhase::Backoff
        | AttemptPhase::ReadyToMerge
        | AttemptPhase::Merged
        | AttemptPhase::Failed
        | AttemptPhase::Released => {
            "It reads this with its next prompt; kept until then, over a restart too."
        }
    };
    drawing.form(
        &format!("do/say/{}", agent.id),
        &html! {
            @if let Some(run) = &view.known.question { (field("say-shown", run.as_str())) }
            div .say {
                label for="say" {
                    b { "Say something to " (agent.id) } " " span .dim { (hint) }
                }
                textarea #say name="text" rows="2" required
                    placeholder="For example: leave the footer of the print version alone" {}
                div .row { button .b.pri { "Say" } }
            }
        },
    )
}
