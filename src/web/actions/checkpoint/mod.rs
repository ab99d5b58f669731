//! Checkpoints, rollbacks and undo: a dialog that says what will happen, then the command.
//!
//! Invariant: what is done is what was shown. The dialog carries digests of its preview; if that is
//! another one when the form arrives, nothing is done and a fresh dialog comes.

mod rollback;
#[cfg(test)]
mod tests;
mod undo;

use std::future::ready;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use futures_util::FutureExt as _;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::Call;
use super::changes::{self, Watch};
use super::dialog::Dialog;
use super::{Action, Done};
use crate::api::ApiError;
use crate::domain::event::Event;
use crate::domain::ids::CheckpointName;
use crate::domain::operation::Command;
use crate::domain::state::State as Swarm;
use crate::domain::state::checkpoint::unfinished;
use crate::domain::time::Timestamp;
use crate::view;
use crate::web::Site;
use crate::web::pages::WebError;
use crate::web::pages::checkpoints::checkpoint::unknown;
use crate::web::pages::checkpoints::{branch, when};
use crate::web::parts::{commit, local, many};

/// Each binds itself to what its dialog showed.
pub(super) const ACTIONS: &[Action] = &[
    Action {
        verb: "checkpoint",
        about: None,
        ask: Some(|call| ready(Ok(ask_create(call))).boxed()),
        act: |call| create(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "checkpoint-delete",
        about: Some("checkpoint"),
        ask: Some(|call| ready(ask_delete(call)).boxed()),
        act: |call| delete(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "rollback",
        about: Some("checkpoint"),
        ask: Some(|call| rollback::ask(call).boxed()),
        act: |call| rollback::roll_back(call).boxed(),
        watch: rollback::watch,
    },
    Action {
        verb: "undo",
        about: None,
        ask: Some(|call| undo::ask(call).boxed()),
        act: |call| undo::take_back(call).boxed(),
        watch: |_| Watch::Nothing,
    },
];

/// The route that says whether a name is free.
pub(super) fn routes() -> Router<Arc<Site>> {
    Router::new().route("/do/checkpoint/check", get(check))
}

fn ask_create(call: &Call) -> Dialog {
    let typed = call.text("name");
    let name = if typed.is_empty() {
        let stem = local(now(), "on-%Y-%m-%d-%H%M");
        call.read(|state| view::suggested_name(state, &stem))
    } else {
        typed
    };
    let check = format!("{}/do/checkpoint/check", call.site.access.path());
    Dialog {
        title: "Create a checkpoint".into(),
        back: call.back("checkpoints"),
        says: html! { p { "You can go back to it later. Nothing stops meanwhile." } },
        fields: html! {
            label for="checkpoint-name" { "Name" }
            input #checkpoint-name name="name" value=(name) required autofocus maxlength="64"
                pattern="[a-z0-9][a-z0-9\\-]{0,63}" autocomplete="off" spellcheck="false"
                aria-describedby="checkpoint-answer" data-check=(check);
            p #checkpoint-answer .dim data-check-answer aria-live="polite" {
                "Lower-case letters, digits and -."
            }
            (call.read(held))
        },
        button: Some("Create checkpoint".into()),
        is_grave: false,
    }
}

/// What a checkpoint made now would hold.
fn held(state: &Swarm) -> Markup {
    let at = state.swarm.target.as_ref().map(|target| &target.commit);
    let agents = unfinished(state).into_iter();
    let agents: Vec<String> = agents.map(|work| work.agent.to_string()).collect();
    html! {
        dl .pv {
            dt { (branch(state)) }
            dd { @if let Some(at) = at { "stands at " (commit(at)) } @else { "not seen yet" } }
            dt { "Ideas" } dd { "the status of " (many(state.ideas.iter().count(), "idea")) }
            dt { "Agents" }
            dd {
                @if agents.is_empty() { "no unfinished work" }
                @else { "the work of " (agents.join(", ")) ", uncommitted files too" }
            }
        }
    }
}

/// The query of [`check`].
#[derive(Debug, Default, Deserialize)]
struct Typed {
    #[serde(default)]
    name: String,
}

/// Whether a name can be taken, in words; asked while a person types.
async fn check(State(site): State<Arc<Site>>, Query(typed): Query<Typed>) -> Json<Value> {
    let (free, words) = match typed.name.trim().parse::<CheckpointName>() {
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

async fn create(call: &Call) -> Result<Done, WebError> {
    let name: Result<CheckpointName, _> = call.text("name").parse();
    let name = name.map_err(|error| WebError::bad(error.to_string()))?;
    if !was_made(call, &name).await? {
        call.finish(Command::CreateCheckpoint { name, tag: false })
            .await?;
    }
    Ok(Done::at(call.back("checkpoints")))
}

/// Whether it was made since the form was drawn: this form, sent once more after a restart.
async fn was_made(call: &Call, name: &CheckpointName) -> Result<bool, WebError> {
    let Some(seq) = call.drawn_at() else {
        return Ok(false);
    };
    let events = changes::events_after(&call.site, seq).await?;
    let is_this = |event: &Event| matches!(event, Event::CheckpointMade(it) if it.name == *name);
    let is_made = events.is_some_and(|events| events.iter().any(is_this));
    Ok(is_made && call.read(|state| state.checkpoints.contains_key(name)))
}

fn ask_delete(call: &Call) -> Result<Dialog, WebError> {
    let name = checkpoint(call)?;
    let found = |state: &Swarm| {
        let found = state.checkpoints.get(&name).cloned();
        let mut rollbacks = view::rollbacks(state).into_iter();
        let undoes = rollbacks.find(|rollback| rollback.safety == name);
        found.map(|found| (found, undoes))
    };
    let found = call.read(found);
    let (one, undoes) = found.ok_or_else(|| call.read(|state| unknown(state, name.as_str())))?;
    Ok(Dialog {
        title: format!("Delete the checkpoint {name}?"),
        back: "checkpoints".into(),
        says: html! {
            p { "Made " (when(one.created_at, now())) ", at " (commit(&one.commit)) ". Its file, \
                its references and the unfinished work that only it keeps go. Commits that are on \
                a branch stay." }
            @if let Some(rollback) = &undoes {
                p .c-bad { "The rollback to " (rollback.to) " can then no longer be undone." }
            }
            p { b { "This cannot be undone." } }
        },
        fields: html! { input type="hidden" name="made" value=(one.seq); },
        button: Some("Delete the checkpoint".into()),
        is_grave: true,
    })
}

async fn delete(call: &Call) -> Result<Done, WebError> {
    let name = checkpoint(call)?;
    let made = call.read(|state| state.checkpoints.get(&name).map(|one| one.seq));
    if made.map(|made| made.to_string()) != Some(call.text("made")) {
        return Err(moved(format!("{name} is another checkpoint now")));
    }
    call.finish(Command::DeleteCheckpoint { name }).await?;
    Ok(Done::at("checkpoints"))
}

/// The checkpoint that the call is about.
fn checkpoint(call: &Call) -> Result<CheckpointName, WebError> {
    let name = call.id.as_deref().unwrap_or_default();
    call.read(|state| {
        let parsed = name.parse::<CheckpointName>().ok();
        let found = parsed.filter(|name| state.checkpoints.contains_key(name));
        found.ok_or_else(|| unknown(state, name))
    })
}

/// What was shown is no longer so.
fn moved(message: String) -> WebError {
    let error = ApiError::new(StatusCode::CONFLICT, "MOVED", message);
    error
        .details("nothing was changed; this is how it is now")
        .into()
}

fn now() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}
