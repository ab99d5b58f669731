//! Checkpoints, rollbacks and undo: a dialog that says what will happen, then the command.
//!
//! Invariant: what is done is what was shown. The dialog carries the target's commit; if that is
//! another one when the form arrives, nothing is done and a fresh dialog comes.

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
use crate::daemon::Handle;
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::checkpoints::request::{Answer, AskError, request};
use crate::domain::command::Command;
use crate::domain::ids::{CheckpointName, Oid};
use crate::domain::state::State as Swarm;
use crate::domain::state::checkpoint::{RollbackStep, unfinished};
use crate::domain::time::Timestamp;
use crate::view;
use crate::web::Site;
use crate::web::pages::WebError;
use crate::web::pages::checkpoints::checkpoint::unknown;
use crate::web::pages::checkpoints::{branch, preview, when};
use crate::web::parts::{commit, local, many};
use sheet::{Button, Sheet, show};

/// The routes of these actions, and of the dialogs that ask first.
pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/do/checkpoint", get(ask_name).post(create))
        .route("/do/checkpoint/check", get(check))
        .route("/do/checkpoint-delete/{name}", get(ask_delete).post(delete))
        .route("/do/rollback/{name}", get(ask_rollback).post(roll_back))
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
        state
            .checkpoints
            .get(name)
            .cloned()
            .ok_or_else(|| unknown(state, name.as_str()))
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

/// What the form of a rollback carries.
#[derive(Debug, Default, Deserialize)]
struct Confirmed {
    /// The target's commit that was shown.
    #[serde(default)]
    from: String,
    /// The checkpoint's commit that was shown.
    #[serde(default)]
    to: String,
    resume: Option<String>,
}

async fn ask_rollback(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    match known(&site, &name) {
        Ok(name) => rollback_sheet(&site, &name, None).await,
        Err(error) => error.into_response(),
    }
}

async fn rollback_sheet(site: &Site, name: &CheckpointName, error: Option<ApiError>) -> Response {
    let preview = match site.api.control.preview(name).await {
        Ok(preview) => preview,
        Err(why) => return WebError::failed(why).into_response(),
    };
    let (branch, made) = site.api.handle.read(|state| {
        let made = state
            .checkpoints
            .get(name)
            .map(|one| (one.created_at, one.seq));
        (branch(state), made)
    });
    let possible = preview::is_possible(&preview);
    let afterwards = html! {
        label {
            input type="checkbox" name="resume" value="yes";
            span { "Start the autopilot again afterwards"
                @if preview.ideas_to_start > 0 { ": " (preview::starting(&preview)) " at once" } }
        }
        p .dim { "Otherwise swarm stays paused until you resume it." }
    };
    let body = html! {
        @if let Some(from) = &preview.from {
            input type="hidden" name="from" value=(from);
        }
        input type="hidden" name="to" value=(preview.commit);
        (preview::changes(&preview, &branch, &afterwards))
    };
    let button = possible.then(|| Button::grave(preview::button(&preview)));
    show(
        site,
        error,
        Sheet {
            title: format!("Roll back to {name}?"),
            lead: html! {
                @if let Some((at, seq)) = made {
                    "As it was at " (when(at, now())) ", event " (seq) ". "
                }
                @if possible { "This is what will happen, and nothing else." }
                @else { "It is not possible as things are. Nothing was changed." }
            },
            body,
            action: format!("do/rollback/{name}"),
            back: "checkpoints".into(),
            button,
        },
    )
}

async fn roll_back(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    Form(filled): Form<Confirmed>,
) -> Response {
    let name = match known(&site, &name) {
        Ok(name) => name,
        Err(error) => return error.into_response(),
    };
    let now = match site.api.control.preview(&name).await {
        Ok(preview) => preview,
        Err(why) => return WebError::failed(why).into_response(),
    };
    if let Some(error) = has_moved(&now, &filled.from, &filled.to) {
        return rollback_sheet(&site, &name, Some(error)).await;
    }
    let command = Command::RollBack {
        name: name.clone(),
        pause: filled.resume.is_none(),
        from: now.from,
    };
    match begin(&site.api.handle, command, name.clone()).await {
        Ok(()) => to(&site, "checkpoints"),
        Err(error) => rollback_sheet(&site, &name, Some(error.into())).await,
    }
}

/// Why what was shown is no longer what would happen.
fn has_moved(now: &Preview, from: &str, to: &str) -> Option<ApiError> {
    let is = |now: &Oid, shown: &str| now.as_str() == shown;
    let same = now.from.as_ref().is_some_and(|now| is(now, from)) && is(&now.commit, to);
    (!same).then(|| {
        moved("the target has moved since this was shown; nothing was changed".to_owned())
            .details("below is what a rollback would change now")
    })
}

fn moved(message: String) -> ApiError {
    ApiError::new(axum::http::StatusCode::CONFLICT, "MOVED", message)
}

/// Sends the command, and waits until the rollback is over or nothing can refuse it any more. From
/// then on every page shows its steps.
async fn begin(handle: &Handle, command: Command, to: CheckpointName) -> Result<(), AskError> {
    let mut seq = handle.seq();
    let asked = handle.clone();
    let mut answer = tokio::spawn(async move { request(&asked, command).await });
    let is_past_checking = |state: &Swarm| {
        let rollback = state.rollback.as_deref();
        rollback.is_some_and(|one| one.to == to && one.step > RollbackStep::Checking)
    };
    loop {
        tokio::select! {
            answer = &mut answer => {
                let answer = answer.map_err(|error| AskError::Failed(error.to_string()))?;
                return answer.map(|(_answer, _): (Answer, u64)| ());
            }
            changed = seq.changed() => {
                if changed.is_err() {
                    return Err(AskError::Ended);
                }
                if handle.read(is_past_checking) {
                    return Ok(());
                }
            }
        }
    }
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
