//! The forms: a POST becomes a command of the domain, and the answer leads back to the page.
//!
//! Invariant: each action is the same command as on the command line. Forms work without script.

mod checkpoint;
mod dialogs;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;

use super::Site;
use super::pages::WebError;
use crate::api::ApiError;
use crate::domain::command::{Command, NewIdea};
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, Oid};

/// What the forms may carry.
#[derive(Debug, Default, Deserialize)]
struct Filled {
    #[serde(default)]
    text: String,
    #[serde(default)]
    why: String,
    #[serde(default)]
    name: String,
    commit: Option<String>,
}

/// The routes of the actions, and of the dialogs that ask first.
pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/do/{verb}", get(dialogs::plain).post(plain))
        .route("/do/{verb}/{id}", get(dialogs::about).post(about))
        .route("/do", post(nothing))
        .merge(checkpoint::routes())
}

async fn nothing() -> WebError {
    WebError::not_found("this form does nothing")
}

/// Actions on the swarm as a whole.
async fn plain(
    State(site): State<Arc<Site>>,
    Path(verb): Path<String>,
    Form(filled): Form<Filled>,
) -> Response {
    let (command, back) = match verb.as_str() {
        "pause" => {
            let reason = some(filled.why);
            (Ok(Command::Pause { reason }), String::new())
        }
        "resume" => (Ok(Command::Resume), String::new()),
        "add" => (new_idea(filled.text), "ideas".to_owned()),
        "checkpoint" => {
            let name = checkpoint(&filled.name);
            (
                name.map(|name| Command::CreateCheckpoint { name }),
                String::new(),
            )
        }
        _ => (Err(unknown(&verb)), String::new()),
    };
    answer(&site, command, &back).await
}

/// Actions on an idea or an agent.
async fn about(
    State(site): State<Arc<Site>>,
    Path((verb, id)): Path<(String, String)>,
    Form(filled): Form<Filled>,
) -> Response {
    if verb == "say" {
        let agent: Result<AgentId, WebError> = id
            .parse()
            .map_err(|_| WebError::not_found(format!("there is no agent `{id}`")));
        let command = agent.map(|id| Command::SayToAgent {
            id,
            text: filled.text,
        });
        return answer(&site, command, "").await;
    }
    let idea: Result<IdeaId, WebError> = id
        .parse()
        .map_err(|_| WebError::not_found(format!("there is no idea `{id}`")));
    let command = idea.and_then(|id| on_idea(&verb, id, filled));
    answer(&site, command, &format!("ideas/{id}")).await
}

fn on_idea(verb: &str, id: IdeaId, filled: Filled) -> Result<Command, WebError> {
    Ok(match verb {
        "retry" => Command::RetryIdea { id },
        "cancel" => Command::CancelIdea { id },
        "hold" => Command::HoldIdea { id },
        "unhold" => Command::UnholdIdea { id },
        "approve" => {
            let commit = filled
                .commit
                .ok_or_else(|| WebError::bad("the commit is missing"))?;
            let commit: Oid = commit
                .parse()
                .map_err(|_| WebError::bad(format!("`{commit}` is no commit")))?;
            Command::ApproveMerge {
                id,
                commit: Some(commit),
            }
        }
        "reject" => Command::RejectMerge {
            id,
            why: some(filled.why).ok_or_else(|| WebError::bad("say what is missing"))?,
        },
        _ => return Err(unknown(verb)),
    })
}

fn new_idea(text: String) -> Result<Command, WebError> {
    let text = some(text).ok_or_else(|| WebError::bad("the idea has no text"))?;
    Ok(Command::AddIdea(NewIdea {
        text,
        ..NewIdea::default()
    }))
}

fn checkpoint(name: &str) -> Result<CheckpointName, WebError> {
    name.trim()
        .parse()
        .map_err(|error: crate::domain::ids::BadId| WebError::bad(error.to_string()))
}

fn some(text: String) -> Option<String> {
    (!text.trim().is_empty()).then_some(text)
}

fn unknown(verb: &str) -> WebError {
    WebError::not_found(format!("there is no action `{verb}`"))
}

/// Executes the command; its events are on disk before the browser is led back.
async fn answer(site: &Site, command: Result<Command, WebError>, back: &str) -> Response {
    let command = match command {
        Ok(command) => command,
        Err(error) => return error.into_response(),
    };
    match site.api.handle.command(command).await {
        Ok(_) => Redirect::to(&format!("{}/{back}", site.access.path())).into_response(),
        Err(error) => WebError::from(ApiError::from(error)).into_response(),
    }
}
