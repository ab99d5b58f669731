//! Executes commands for the API and the page.
//!
//! Invariant: nothing happens before the domain's rights were asked. A command whose work goes on
//! after its events are on disk is answered when that work has ended, or when waiting gets too
//! long.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::ApiContext;
use super::error::ApiError;
use super::resolution;
use crate::daemon::checkpoints::request::{self as checkpoints, Answer as Outcome};
use crate::daemon::review;
use crate::domain::ids::IdeaId;
use crate::domain::operation::{self, Ends};
use crate::domain::operation::{Command, NewIdea};
use crate::domain::request::Request;
use crate::domain::state::State;
use crate::view::answer::{Answer, Done, compared_text};
use crate::view::memory::{HitView, Taken};

/// Executes a command.
///
/// # Errors
/// It was refused, or what it began has failed.
pub(crate) async fn execute(
    context: &Arc<ApiContext>,
    request: Request,
) -> Result<Answer, ApiError> {
    let allowed = |state: &State| operation::check(state, &request);
    context.handle.read(allowed)?;
    match request.command.operation().ends {
        Ends::Durable => run(context, request).await,
        Ends::Checkpoint => wait_for_checkpoint(context, request).await,
        Ends::Resolution => wait_for_resolution(context, request).await,
    }
}

/// Executes a command that has done its work when its events are on disk.
async fn run(context: &Arc<ApiContext>, request: Request) -> Result<Answer, ApiError> {
    let command = request.command.clone();
    if let Command::AddIdea(idea) = &command {
        require_no_source(idea)?;
    }
    if let Command::ApproveMerge { id, .. } = &command {
        require_unmoved_work(context, id).await?;
    }
    let accepted = context.handle.request(request).await?;
    if let Command::ApproveHook { .. } = &command {
        // A deleted hook must disappear from the list.
        context.control.reload().await?;
    }
    let taken = accepted.taken();
    let similar = similar(context, &command, &taken).await?;
    let answer = |state: &State| Answer::of(state, &command, &taken, similar);
    Ok(context.handle.read(answer))
}

/// The facts and learnings that are most similar to the claim of a command.
async fn similar(
    context: &Arc<ApiContext>,
    command: &Command,
    taken: &Taken<'_>,
) -> Result<Vec<HitView>, ApiError> {
    let compared = |state: &State| compared_text(state, command, taken);
    let Some(compared) = context.handle.read(compared) else {
        return Ok(Vec::new());
    };
    let context = Arc::clone(context);
    let hits = spawn_blocking(move || {
        let except: Vec<&str> = compared.except.iter().map(String::as_str).collect();
        let read = |each: &mut dyn FnMut(&State)| context.handle.read(|state| each(state));
        context.finder.similar(&read, &compared.text, &except)
    });
    hits.await.map_err(|error| ApiError::failed(&error))
}

async fn wait_for_checkpoint(context: &ApiContext, request: Request) -> Result<Answer, ApiError> {
    let (outcome, seq) = checkpoints::request(&context.handle, request).await?;
    let safety = match outcome {
        Outcome::RolledBack { safety } => Some(safety),
        Outcome::Made | Outcome::Deleted | Outcome::Accepted => None,
    };
    Ok(Answer::Done(Done {
        safety,
        ..Done::at(seq)
    }))
}

async fn wait_for_resolution(context: &ApiContext, request: Request) -> Result<Answer, ApiError> {
    let seq = resolution::resolve(context, request).await?;
    Ok(Answer::Done(Done::at(seq)))
}

/// Refuses an approval of work whose branch has left the commit that was checked.
async fn require_unmoved_work(context: &ApiContext, id: &IdeaId) -> Result<(), ApiError> {
    let in_review = |state: &State| review::branch_in_review(state, id);
    let Some(branch) = context.handle.read(in_review) else {
        return Ok(());
    };
    let now = context.control.target(branch).await;
    let unmoved = |state: &State| review::require_unmoved(state, id, &now);
    Ok(context.handle.read(unmoved)?)
}

/// Where an idea comes from is not the client's to say.
fn require_no_source(idea: &NewIdea) -> Result<(), ApiError> {
    if idea.inbox.is_none() && idea.imported.is_none() {
        return Ok(());
    }
    let message = "`inbox` and `imported` are set by the daemon alone";
    Err(ApiError::bad_request(message))
}
