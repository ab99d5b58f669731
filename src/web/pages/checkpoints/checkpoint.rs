//! One checkpoint: what it holds, and the preview of going back to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use maud::{Markup, html};
use serde_json::Value;

use super::{branch, preview, reason, since, when};
use crate::api::ApiError;
use crate::daemon::checkpoints::list::Preview;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::domain::state::checkpoint::Checkpoint;
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{commit, icon, many};
use crate::web::touches::Touched;

/// Names that are offered for an unknown one.
const OFFERED: usize = 3;
/// The least likeness of an offered name.
const LIKE: f64 = 0.6;

/// What the page shows.
pub struct View {
    name: CheckpointName,
    checkpoint: Checkpoint,
    branch: String,
    /// What its file says; null in an update.
    file: Value,
    /// `None` in the past.
    preview: Option<Result<Arc<Preview>, String>>,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>, name: &str) -> Result<View, WebError> {
    let (name, checkpoint, branch) = asked.read(|state| {
        let found = name.parse::<CheckpointName>().ok();
        let found = found.and_then(|name| Some((name.clone(), state.checkpoints.get(&name)?)));
        let (name, checkpoint) = found.ok_or_else(|| unknown(state, name))?;
        Ok::<_, WebError>((name, checkpoint.clone(), branch(state)))
    })?;
    let preview = if asked.moment.is_past() {
        None
    } else {
        let previews = &asked.site.previews;
        Some(previews.get(asked.site, &name, asked.is_update).await)
    };
    let file = if asked.is_update {
        Value::Null
    } else {
        let all = asked.site.api.control.checkpoints().await;
        let all = all.map_err(WebError::failed)?;
        let mut all = all.into_iter();
        let found = all.find(|one| one["name"].as_str() == Some(name.as_str()));
        found.unwrap_or_default()
    };
    Ok(View {
        name,
        checkpoint,
        branch,
        file,
        preview,
    })
}

/// There is no such checkpoint, but names like it.
pub fn unknown(state: &State, name: &str) -> WebError {
    let shown: String = name.chars().take(100).collect();
    let message = format!("there is no checkpoint `{shown}`");
    let error = ApiError::new(StatusCode::NOT_FOUND, "CHECKPOINT_UNKNOWN", message);
    let likeness = |known: &CheckpointName| strsim::jaro_winkler(&shown, known.as_str());
    let mut like: Vec<_> = state
        .checkpoints
        .keys()
        .map(|one| (likeness(one), one))
        .collect();
    like.retain(|(likeness, _)| *likeness >= LIKE);
    like.sort_by(|a, b| b.0.total_cmp(&a.0));
    let like = like.into_iter().take(OFFERED);
    let error = like.fold(error, |error, (_, name)| {
        error.suggest(format!("did you mean {name}?"))
    });
    error
        .suggest("list the checkpoints: swarm checkpoint list")
        .into()
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let name = &view.name;
    let touched = Touched::CHECKPOINTS | Touched::AGENTS | Touched::IDEAS | Touched::TRAIN;
    let main = html! {
        div .head {
            div {
                p .crumb { a href=(drawing.link("checkpoints")) { "Checkpoints" } }
                h1 { (name) }
                p {
                    "Made " (when(view.checkpoint.created_at, drawing.moment.time())) ", "
                    (reason(view.checkpoint.reason)) "; " (view.branch) " was at "
                    (commit(&view.checkpoint.commit)) ". "
                    a href=(drawing.live_link(&format!("?at={}", view.checkpoint.seq))) {
                        "See everything as it was then"
                    }
                    ", or "
                    a href=(since(drawing, view.checkpoint.seq)) { "what changed since" }
                    "."
                }
            }
            div .acts {
                (drawing.ask(&format!("do/checkpoint-delete/{name}"), "b quiet", &html! {
                    "Delete…"
                }))
                (drawing.ask(&format!("do/rollback/{name}"), "b danger", &html! {
                    (icon("back")) " Roll back…"
                }))
            }
        }
        div .cols {
            div { (drawing.fragment("f-preview", touched, &going_back(view))) }
            aside .rail aria-label="What it holds" { (holds(view)) }
        }
    };
    Page {
        title: name.to_string(),
        place: Place::Checkpoints,
        main,
    }
}

fn going_back(view: &View) -> Markup {
    html! {
        section {
            h2 { "Going back" }
            @match &view.preview {
                None => p .sub { "What going back would change is shown for the present only." },
                Some(Err(why)) => {
                    p .c-bad { "It cannot be said what going back would change: " (why) }
                    p .sub { "See what is wrong: " code { "swarm doctor" } }
                },
                Some(Ok(preview)) => {
                    p .sub { "If you rolled back now, this would happen, and nothing else." }
                    div .card.cp-preview {
                        (preview::changes(preview, &view.branch, &preview::stays_paused(preview)))
                    }
                },
            }
        }
    }
}

fn holds(view: &View) -> Markup {
    let mut ideas: BTreeMap<&str, usize> = BTreeMap::new();
    for status in view.file["ideaStates"].as_object().into_iter().flatten() {
        *ideas
            .entry(status.1.as_str().unwrap_or_default())
            .or_default() += 1;
    }
    let agents = view.file["agentStates"].as_array();
    let agents = agents.map_or(&[][..], Vec::as_slice);
    html! {
        section {
            h2 { "Holds" }
            @if let Some(problem) = view.file["problem"].as_str() {
                p .c-bad { (problem) }
            } @else if view.file.is_null() {
                p .sub { "It was deleted since." }
            } @else {
                dl .facts {
                    dt { "Ideas" } dd { (many(ideas.values().sum(), "idea")) }
                    @for (status, count) in &ideas { dt { (status) } dd { (count) } }
                }
            }
        }
        @if !agents.is_empty() {
            section {
                h2 { "Work of " (many(agents.len(), "agent")) }
                ul .list { @for agent in agents { li { span .grow {
                    (text(agent, "id")) " on " span .id { (text(agent, "ideaId")) }
                    ", iteration " (agent["iteration"].as_u64().unwrap_or_default())
                    @if agent["wipCommit"].is_string() { "; uncommitted files too" }
                } } } }
            }
        }
        section {
            h2 { "In the repository" }
            dl .facts {
                dt { "Reference" } dd { code { "refs/swarm/checkpoints/" (view.name) } }
                dt { "Event" } dd { (view.checkpoint.seq) }
                @if let Some(number) = view.checkpoint.number { dt { "Number" } dd { (number) } }
            }
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
