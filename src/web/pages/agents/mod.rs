//! All agents: at work first, then the ended ones, newest first.

pub mod agent;
mod chunks;
mod known;
mod panel;
mod rail;
mod rows;
mod shown;

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::domain::ids::IdeaId;
use crate::domain::state::State;
use crate::view::{self, AgentView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{doing, dollars, many, span, tinted, title};
use crate::web::touches::Touched;

pub use chunks::routes;

/// Ended agents on the page.
const ENDED: usize = 100;

/// What the page shows.
pub struct View {
    live: Vec<AgentView>,
    ended: Vec<AgentView>,
    hidden: usize,
    titles: BTreeMap<IdeaId, String>,
}

/// Loads it.
#[allow(clippy::unused_async)] // every page loads the same way
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    Ok(asked.read(View::of))
}

impl View {
    fn of(state: &State) -> Self {
        let live = view::live_agents(state);
        let ended = view::last_ended_agents(state, ENDED);
        let ideas = live.iter().chain(&ended).map(|agent| &agent.idea_id);
        let titles = ideas.filter_map(|id| {
            let text = &state.ideas.get(id)?.text;
            Some((id.clone(), title(text).to_owned()))
        });
        Self {
            titles: titles.collect(),
            hidden: state.ended.len().saturating_sub(ended.len()),
            live,
            ended,
        }
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let list = html! {
        div .head { div { h1 { (many(view.live.len(), "agent")) " at work" } } }
        (table(drawing, view, &view.live))
        section .sec {
            header { h2 { "Ended" } span { (view.ended.len() + view.hidden) } }
            (table(drawing, view, &view.ended))
            @if view.hidden > 0 {
                p .sub { (view.hidden) " earlier ones: " code { "swarm agent list" } }
            }
        }
    };
    Page {
        title: "Agents".into(),
        place: Place::Agents,
        main: drawing.fragment("f-agents", Touched::AGENTS, &list),
    }
}

fn table(drawing: &Drawing<'_>, view: &View, agents: &[AgentView]) -> Markup {
    if agents.is_empty() {
        return html! { p .sub { "None." } };
    }
    html! {
        div .card.clip { table .fix.stackable {
            colgroup {
                col width="96"; col; col width="196"; col width="84" .hide-s; col width="84";
                col width="76";
            }
            thead { tr {
                th { "Agent" } th { "Idea" } th { "Doing" } th .num.hide-s { "Iteration" }
                th .num { "Time" } th .num { "Cost" }
            } }
            tbody { @for agent in agents { (row(drawing, view, agent)) } }
        } }
    }
}

fn row(drawing: &Drawing<'_>, view: &View, agent: &AgentView) -> Markup {
    let until = agent.ended_at.unwrap_or_else(|| drawing.moment.time());
    let (shape, tone) = agent::look(agent.phase);
    let title = view.titles.get(&agent.idea_id);
    html! {
        tr #{ "row-" (agent.id) } {
            td .nw { a .t href=(drawing.link(&format!("agents/{}", agent.id))) { (agent.id) } }
            td .full { a .t.two href=(drawing.link(&format!("ideas/{}", agent.idea_id))) {
                @match title { Some(title) => (title), None => (agent.idea_id) }
            } }
            td { span .st { (tinted(shape, tone)) " " (doing(agent.phase)) } }
            td .num.hide-s { (agent.iteration) }
            td .num { (span(until.since(agent.started_at))) }
            td .num { (agent.used.as_ref().and_then(dollars).unwrap_or_default()) }
        }
    }
}

#[cfg(test)]
mod tests;
