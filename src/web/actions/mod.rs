//! The forms: a POST becomes a command of the domain, and the answer leads back to the page.
//!
//! Invariant: each action is the same command as on the command line, under the same checks. Sent
//! twice, it acts once; what changed since its dialog was drawn is shown before it acts. Forms work
//! without script.

#![allow(clippy::unused_async)] // every action has the same form

mod agent;
mod bulk;
mod call;
mod changes;
mod checkpoint;
pub mod dialog;
mod hook;
mod idea;
pub mod idea_form;
mod intervene;
mod memory;
mod merge;
mod operations;
pub mod shown;
mod swarm;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawForm, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use futures_util::future::BoxFuture;

use super::Site;
use super::pages::WebError;
use crate::api::ApiError;
use call::Call;
use changes::Watch;
use dialog::Dialog;

pub use operations::Operations;

/// A dialog for the object of a call.
type Asking = for<'a> fn(&'a Call) -> BoxFuture<'a, Result<Dialog, WebError>>;
/// Acts on the object of a call.
type Acting = for<'a> fn(&'a Call) -> BoxFuture<'a, Result<Done, WebError>>;

/// An action of the pages, at `do/VERB` or `do/VERB/ID`.
struct Action {
    verb: &'static str,
    /// What its id names; `None` if it is about the swarm as a whole.
    about: Option<&'static str>,
    /// The dialog that asks first; `None` if it acts at once.
    ask: Option<Asking>,
    act: Acting,
    /// What must not have changed since the dialog was drawn.
    watch: fn(&Call) -> Watch,
}

/// An action has taken effect.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Done {
    /// The page that shows it: `ideas/idea-003`.
    back: String,
    /// What the person should know of it, if anything; shown before the page.
    notes: Vec<String>,
}

impl Done {
    /// It shows on this page.
    fn at(back: impl Into<String>) -> Self {
        Self {
            back: back.into(),
            notes: Vec::new(),
        }
    }

    /// With something to know.
    fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// All actions. Each object has its own file.
fn actions() -> impl Iterator<Item = &'static Action> {
    let all = [
        swarm::ACTIONS,
        idea::ACTIONS,
        bulk::ACTIONS,
        merge::ACTIONS,
        agent::ACTIONS,
        hook::ACTIONS,
        checkpoint::ACTIONS,
        intervene::ACTIONS,
        memory::ACTIONS,
    ];
    all.into_iter().flatten()
}

/// The routes of the actions, and of the dialogs that ask first.
pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/do/{verb}", get(ask_plain).post(act_plain))
        .route("/do/{verb}/{id}", get(ask_about).post(act_about))
        .route("/do", post(nothing))
        .merge(checkpoint::routes())
}

async fn nothing() -> WebError {
    WebError::not_found("this form does nothing")
}

async fn ask_plain(
    State(site): State<Arc<Site>>,
    Path(verb): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    ask(Call::new(site, (&verb, None), (query, None), &headers)).await
}

async fn ask_about(
    State(site): State<Arc<Site>>,
    Path((verb, id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    ask(Call::new(site, (&verb, Some(id)), (query, None), &headers)).await
}

async fn act_plain(
    State(site): State<Arc<Site>>,
    Path(verb): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    RawForm(form): RawForm,
) -> Response {
    let form = String::from_utf8_lossy(&form);
    act(Call::new(
        site,
        (&verb, None),
        (query, Some(&form)),
        &headers,
    ))
    .await
}

async fn act_about(
    State(site): State<Arc<Site>>,
    Path((verb, id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    RawForm(form): RawForm,
) -> Response {
    let form = String::from_utf8_lossy(&form);
    act(Call::new(
        site,
        (&verb, Some(id)),
        (query, Some(&form)),
        &headers,
    ))
    .await
}

/// Draws the dialog of an action.
async fn ask(call: Call) -> Response {
    let asked = match find(&call).and_then(|action| not_in_the_past(&call).map(|()| action)) {
        Ok(Action { ask: Some(ask), .. }) => ask(&call).await,
        Ok(Action { ask: None, .. }) => Err(WebError::not_found(format!(
            "`{}` asks nothing: it is a button of a page",
            call.verb
        ))),
        Err(error) => Err(error),
    };
    match asked {
        Ok(dialog) => dialog::show(&call, &dialog),
        Err(error) => dialog::refuse(&call, error.refusal()),
    }
}

/// Acts, once for each operation.
async fn act(call: Call) -> Response {
    let action = match find(&call).and_then(|action| not_in_the_past(&call).map(|()| action)) {
        Ok(action) => action,
        Err(error) => return dialog::refuse(&call, error.refusal()),
    };
    let call = Arc::new(call);
    // A task of its own: if the browser goes away, the action is neither lost nor done twice.
    let task = tokio::spawn({
        let call = Arc::clone(&call);
        async move {
            let operation = call.operation()?;
            let operations = &call.site.operations;
            operations.once(operation, run(action, &call)).await
        }
    });
    match task.await {
        Ok(Ok(done)) => answer(&call, &done),
        Ok(Err(error)) => refuse(action, &call, error.refusal()).await,
        Err(error) => WebError::failed(error.to_string()).into_response(),
    }
}

async fn run(action: &Action, call: &Call) -> Result<Done, WebError> {
    let watch = (action.watch)(call);
    let changes = changes::since(&call.site, call.drawn_at(), &watch).await?;
    if !changes.is_empty() {
        let message = format!("{} has changed since you saw it", watch.name());
        let details = format!("{}; nothing was done", changes.join("; "));
        return Err(shown::changed(message, details));
    }
    (action.act)(call).await
}

/// Leads the browser to the page that shows what was done.
fn answer(call: &Call, done: &Done) -> Response {
    if !done.notes.is_empty() {
        return dialog::tell(call, &done.back, &done.notes);
    }
    let address = format!("{}/{}", call.site.access.path(), done.back);
    if call.is_scripted {
        return (StatusCode::NO_CONTENT, [(call::GO, address)]).into_response();
    }
    Redirect::to(&address).into_response()
}

/// The dialog once more with the reason, or a page with what was typed.
async fn refuse(action: &Action, call: &Call, error: &ApiError) -> Response {
    let asked = match action.ask {
        Some(ask) => ask(call).await.ok(),
        None => None,
    };
    match asked {
        Some(dialog) => dialog::show_again(call, &dialog, error),
        None => dialog::refuse(call, error),
    }
}

fn find(call: &Call) -> Result<&'static Action, WebError> {
    let fits =
        |action: &&Action| action.verb == call.verb && action.about.is_some() == call.id.is_some();
    actions()
        .find(fits)
        .ok_or_else(|| WebError::not_found(format!("there is no action `{}`", call.address())))
}

fn not_in_the_past(call: &Call) -> Result<(), WebError> {
    if !call.is_past {
        return Ok(());
    }
    let message = "this is an earlier moment, and the past cannot be changed";
    let error = ApiError::new(StatusCode::CONFLICT, "PAST", message);
    Err(error.suggest("go back to now, then repeat it").into())
}

#[cfg(test)]
mod tests;
