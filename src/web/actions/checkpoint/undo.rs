//! `swarm undo` on the page: shows what a person did last, and takes that back.
//!
//! Invariant: the form carries the action's number; if another one is the last, nothing is done.

use std::sync::Arc;

use axum::extract::{Form, Query, State};
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::rollback::{begin, has_moved};
use super::sheet::{Button, Sheet, show};
use super::{moved, now, to};
use crate::api::ApiError;
use crate::daemon::checkpoints::list::Preview;
use crate::domain::command::Command;
use crate::domain::state::State as Swarm;
use crate::domain::state::undo::Action;
use crate::view::{self, UndoView};
use crate::web::Site;
use crate::web::pages::WebError;
use crate::web::pages::checkpoints::{branch, preview, when};
use crate::web::parts::commands;

/// What the form carries, and what the address may say.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// The number of the action that was shown.
    seq: Option<u64>,
    /// For a rollback: the target's commit that was shown.
    #[serde(default)]
    from: String,
    /// For a rollback: the commit that it goes to.
    #[serde(default)]
    to: String,
    /// Approvals whose work has landed are passed over.
    skip_landed: Option<String>,
}

/// The dialog.
pub async fn ask(State(site): State<Arc<Site>>, Query(asked): Query<Asked>) -> Response {
    undo_sheet(&site, asked.skip_landed.is_some(), None).await
}

/// The last action, and for a rollback what the way back changes.
async fn last(site: &Site, skip: bool) -> Result<(UndoView, Option<Preview>), WebError> {
    let view = site.api.handle.read(|state| view::undo(state, skip));
    let preview = match &view.checkpoint {
        Some(name) if view.problem.is_none() => {
            let preview = site.api.control.preview(name).await;
            Some(preview.map_err(WebError::failed)?)
        }
        Some(_) | None => None,
    };
    Ok((view, preview))
}

async fn undo_sheet(site: &Site, skip: bool, error: Option<ApiError>) -> Response {
    let (view, preview) = match last(site, skip).await {
        Ok(found) => found,
        Err(error) => return error.into_response(),
    };
    let branch = site.api.handle.read(branch);
    let possible = view.seq.is_some()
        && view.problem.is_none()
        && preview.as_ref().is_none_or(preview::is_possible);
    let body = html! {
        @if let Some(seq) = view.seq { input type="hidden" name="seq" value=(seq); }
        @if skip { input type="hidden" name="skipLanded" value="yes"; }
        (changes(&view, preview.as_ref(), &branch))
    };
    let words = preview.as_ref().map_or_else(
        || "Take it back".to_owned(),
        |preview| format!("Undo: {}", preview::button(preview)),
    );
    let title = match &view.what {
        Some(what) => format!("Take back the {what}?"),
        None => "There is nothing left to take back".to_owned(),
    };
    show(
        site,
        error,
        Sheet {
            title,
            lead: html! {
                @match view.at {
                    Some(at) => { "Done " (when(at, now())) ". Nothing else is taken back." },
                    None => {
                        "Rollbacks, cancellations, approvals and redirects can be taken back."
                    },
                }
            },
            body,
            action: "do/undo".into(),
            back: "checkpoints".into(),
            button: possible.then(|| Button::grave(words)),
        },
    )
}

fn changes(view: &UndoView, preview: Option<&Preview>, branch: &str) -> Markup {
    html! {
        @if let Some(problem) = &view.problem {
            p .c-bad { "It cannot be taken back now: " (problem) }
        }
        @for change in &view.changes { p { (change) } }
        @if !view.commands.is_empty() { (commands(&view.commands)) }
        @if let Some(preview) = preview {
            @if let Some(from) = &preview.from {
                input type="hidden" name="from" value=(from);
            }
            input type="hidden" name="to" value=(preview.commit);
            (preview::changes(preview, branch, &preview::stays_paused(preview)))
        }
    }
}

/// Takes back what was shown.
pub async fn take_back(State(site): State<Arc<Site>>, Form(asked): Form<Asked>) -> Response {
    let skip = asked.skip_landed.is_some();
    let Some(seq) = asked.seq else {
        return WebError::bad("say what to take back").into_response();
    };
    let back = site.api.handle.read(|state| back(state, seq));
    if site.api.handle.read(|state| is_undone(state, seq)) {
        // The same form, sent twice.
        return to(&site, &back);
    }
    let (view, preview) = match last(&site, skip).await {
        Ok(found) => found,
        Err(error) => return error.into_response(),
    };
    if view.seq != Some(seq) {
        let error = moved("something else was done last; nothing was changed".into());
        return undo_sheet(&site, skip, Some(error)).await;
    }
    let changed = preview
        .as_ref()
        .and_then(|preview| has_moved(preview, &asked.from, &asked.to));
    if let Some(error) = changed {
        return undo_sheet(&site, skip, Some(error)).await;
    }
    let from = preview.and_then(|preview| preview.from);
    let command = Command::Undo { seq, from };
    let done = match view.checkpoint {
        Some(name) => begin(&site.api.handle, command, name)
            .await
            .map_err(ApiError::from),
        None => {
            let done = site.api.handle.command(command).await;
            done.map(drop).map_err(ApiError::from)
        }
    };
    match done {
        Ok(()) => to(&site, &back),
        Err(error) => undo_sheet(&site, skip, Some(error)).await,
    }
}

fn is_undone(state: &Swarm, seq: u64) -> bool {
    let under_way = state.rollback.as_ref().and_then(|one| one.undoes);
    under_way == Some(seq) || state.undo.last_undone == Some(seq)
}

/// The page that shows the effect.
fn back(state: &Swarm, seq: u64) -> String {
    let mut actions = state.undo.actions.iter();
    match actions.find(|one| one.seq == seq).map(|one| &one.action) {
        Some(Action::Cancel { idea } | Action::Approval { idea, .. }) => format!("ideas/{idea}"),
        Some(Action::Redirect { idea, .. }) => format!("ideas/{idea}"),
        Some(Action::Rollback { .. }) | None => "checkpoints".to_owned(),
    }
}
