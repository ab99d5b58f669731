//! Checkpoints, rollbacks and undo: a dialog that says what will happen, then the command.
//!
//! Invariant: what is done is what was shown. The dialog carries the target's commit; if that is
//! another one when the form arrives, nothing is done and a fresh dialog comes.

mod rollback;
mod sheet;
mod undo;

use std::sync::Arc;

use axum::extract::{Form, Path, Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use maud::html;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::ApiError;
use crate::daemon::checkpoints::request::request;
use crate::domain::command::Command;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State as Swarm;
use crate::domain::state::checkpoint::unfinished;
use crate::domain::time::Timestamp;
use crate::view;
use crate::web::Site;
use crate::web::pages::WebError;
use crate::web::pages::checkpoints::checkpoint::unknown;
use crate::web::pages::checkpoints::{branch, when};
use crate::web::parts::{commit, local, many};
use sheet::{Button, Sheet, show};

/// The routes of these actions, and of the dialogs that ask first.
pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/do/checkpoint", get(ask_name).post(create))
        .route("/do/checkpoint/check", get(check))
        .route("/do/checkpoint-delete/{name}", get(ask_delete).post(delete))
        .route(
            "/do/rollback/{name}",
            get(rollback::ask_rollback).post(rollback::roll_back),
        )
        .route("/do/undo", get(undo::ask).post(undo::take_back))
}

/// What the form of a new checkpoint carries.
#[derive(Debug, Default, Deserialize)]
struct Named {
    #[serde(default)]
    name: String,
    /// The last event when the form was drawn.
    seq: Option<u64>,
}

async fn ask_name(State(site): State<Arc<Site>>) -> Response {
    name_sheet(&site, None, None)
}

fn name_sheet(site: &Site, typed: Option<&str>, error: Option<ApiError>) -> Response {
    let handle = &site.api.handle;
    let minute = local(now(), "on-%Y-%m-%d-%H%M");
    let name = typed.map_or_else(
        || handle.read(|state| view::suggested_name(state, &minute)),
        str::to_owned,
    );
    let (seq, branch, at, ideas, kept) = handle.read(|state| {
        let target = state.swarm.target.as_ref();
        let at = target.map(|target| target.commit.clone());
        let ideas = state.ideas.iter().count();
        (state.seq, branch(state), at, ideas, kept(state))
    });
    let body = html! {
        label for="checkpoint-name" { "Name" }
        input #checkpoint-name name="name" value=(name) required autofocus maxlength="64"
            pattern="[a-z0-9][a-z0-9\\-]{0,63}" autocomplete="off" spellcheck="false"
            aria-describedby="checkpoint-answer"
            data-check=(sheet::address(site, "do/checkpoint/check"));
        p #checkpoint-answer .dim data-check-answer aria-live="polite" {
            "Lower-case letters, digits and -."
        }
        input type="hidden" name="seq" value=(seq);
        dl .pv {
            dt { (branch) }
            dd { @if let Some(at) = &at { "stands at " (commit(at)) } @else { "not seen yet" } }
            dt { "Ideas" } dd { "the status of " (many(ideas, "idea")) }
            dt { "Agents" }
            dd {
                @if kept.is_empty() { "no unfinished work" }
                @else { "the work of " (kept.join(", ")) ", uncommitted files too" }
            }
        }
    };
    show(
        site,
        error,
        Sheet {
            title: "Create a checkpoint".into(),
            lead: html! { "You can go back to it later. Nothing stops meanwhile." },
            body,
            action: "do/checkpoint".into(),
            back: "checkpoints".into(),
            button: Some(Button::plain("Create checkpoint")),
        },
    )
}

/// The agents whose unfinished work a checkpoint keeps.
fn kept(state: &Swarm) -> Vec<String> {
    let each = unfinished(state).into_iter();
    each.map(|work| work.agent.to_string()).collect()
}

/// Whether a name can be taken, in words; asked while a person types.
async fn check(
    State(site): State<Arc<Site>>,
    Query(Named { name, .. }): Query<Named>,
) -> Json<Value> {
    let (free, words) = match name.trim().parse::<CheckpointName>() {
        Err(error) => (false, error.to_string()),
        Ok(name) => {
            let taken = |state: &Swarm| state.checkpoints.contains_key(&name);
            if site.api.handle.read(taken) {
                (false, format!("{name} exists already"))
            } else {
                (true, format!("{name} is free"))
            }
        }
    };
    Json(json!({ "free": free, "words": words }))
}

async fn create(State(site): State<Arc<Site>>, Form(Named { name, seq }): Form<Named>) -> Response {
    let typed = name.trim();
    let name = match typed.parse::<CheckpointName>() {
        Ok(name) => name,
        Err(error) => {
            let error = ApiError::new(
                axum::http::StatusCode::BAD_REQUEST,
                "BAD_REQUEST",
                error.to_string(),
            );
            return name_sheet(&site, Some(typed), Some(error));
        }
    };
    // The same form, sent twice.
    let is_made = |state: &Swarm| {
        let made = state.checkpoints.get(&name);
        made.is_some_and(|made| seq.is_some_and(|seq| made.seq > seq))
    };
    if site.api.handle.read(is_made) {
        return to(&site, "checkpoints");
    }
    let command = Command::CreateCheckpoint { name };
    match request(&site.api.handle, command).await {
        Ok(_) => to(&site, "checkpoints"),
        Err(error) => name_sheet(&site, Some(typed), Some(error.into())),
    }
}

/// What the form of a deletion carries.
#[derive(Debug, Default, Deserialize)]
struct Shown {
    /// The last event in the checkpoint that was shown.
    seq: Option<u64>,
}

async fn ask_delete(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    match known(&site, &name) {
        Ok(name) => delete_sheet(&site, &name, None),
        Err(error) => error.into_response(),
    }
}

fn delete_sheet(site: &Site, name: &CheckpointName, error: Option<ApiError>) -> Response {
    let found = |state: &Swarm| {
        let found = state.checkpoints.get(name).cloned();
        found.ok_or_else(|| unknown(state, name.as_str()))
    };
    let one = match site.api.handle.read(found) {
        Ok(one) => one,
        Err(error) => return error.into_response(),
    };
    let undoes = site.api.handle.read(|state| {
        let mut rollbacks = view::rollbacks(state).into_iter();
        rollbacks.find(|rollback| rollback.safety == *name)
    });
    let body = html! {
        input type="hidden" name="seq" value=(one.seq);
        p { "Its file, its tag and the unfinished work that only it keeps go. Commits that are on a \
            branch stay." }
        @if let Some(rollback) = &undoes {
            p .c-bad { "The rollback to " (rollback.to) " can then no longer be undone." }
        }
        p { b { "This cannot be undone." } }
    };
    show(
        site,
        error,
        Sheet {
            title: format!("Delete the checkpoint {name}?"),
            lead: html! { "Made " (when(one.created_at, now())) ", at " (commit(&one.commit)) "." },
            body,
            action: format!("do/checkpoint-delete/{name}"),
            back: "checkpoints".into(),
            button: Some(Button::grave("Delete the checkpoint")),
        },
    )
}

async fn delete(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    Form(Shown { seq }): Form<Shown>,
) -> Response {
    let Ok(name) = known(&site, &name) else {
        // Sent twice: it is gone.
        return to(&site, "checkpoints");
    };
    let now = site
        .api
        .handle
        .read(|state| state.checkpoints.get(&name).map(|one| one.seq));
    if now != seq {
        let error = moved(format!(
            "{name} is another checkpoint now; nothing was changed"
        ));
        return delete_sheet(&site, &name, Some(error));
    }
    let command = Command::DeleteCheckpoint { name: name.clone() };
    match request(&site.api.handle, command).await {
        Ok(_) => to(&site, "checkpoints"),
        Err(error) => delete_sheet(&site, &name, Some(error.into())),
    }
}

fn moved(message: String) -> ApiError {
    ApiError::new(axum::http::StatusCode::CONFLICT, "MOVED", message)
}

fn known(site: &Site, name: &str) -> Result<CheckpointName, WebError> {
    site.api.handle.read(|state| {
        let parsed = name.parse::<CheckpointName>().ok();
        let found = parsed.filter(|name| state.checkpoints.contains_key(name));
        found.ok_or_else(|| unknown(state, name))
    })
}

fn to(site: &Site, path: &str) -> Response {
    Redirect::to(&sheet::address(site, path)).into_response()
}

fn now() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}

#[cfg(test)]
mod tests;
