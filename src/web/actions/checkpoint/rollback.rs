//! The rollback: a dialog with the live preview, then the command.

use std::sync::Arc;

use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse as _, Response};
use maud::html;
use serde::Deserialize;

use super::sheet::{Button, Sheet, show};
use super::{known, moved, now, to};
use crate::api::ApiError;
use crate::daemon::Handle;
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::checkpoints::request::{Answer, AskError, request};
use crate::domain::command::Command;
use crate::domain::ids::{CheckpointName, Oid};
use crate::domain::state::State as Swarm;
use crate::domain::state::checkpoint::RollbackStep;
use crate::web::Site;
use crate::web::pages::WebError;
use crate::web::pages::checkpoints::{branch, preview, when};

/// What the form of a rollback carries.
#[derive(Debug, Default, Deserialize)]
pub struct Confirmed {
    /// The target's commit that was shown.
    #[serde(default)]
    pub(super) from: String,
    /// The checkpoint's commit that was shown.
    #[serde(default)]
    pub(super) to: String,
    pub(super) resume: Option<String>,
}

/// The dialog.
pub async fn ask_rollback(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
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

/// Rolls back as was shown.
pub async fn roll_back(
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
pub fn has_moved(now: &Preview, from: &str, to: &str) -> Option<ApiError> {
    let is = |now: &Oid, shown: &str| now.as_str() == shown;
    let same = now.from.as_ref().is_some_and(|now| is(now, from)) && is(&now.commit, to);
    (!same).then(|| {
        moved("the target has moved since this was shown; nothing was changed".to_owned())
            .details("below is what a rollback would change now")
    })
}

/// Sends the command, and waits until the rollback is over or nothing can refuse it any more. From
/// then on every page shows its steps.
pub async fn begin(handle: &Handle, command: Command, to: CheckpointName) -> Result<(), AskError> {
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
