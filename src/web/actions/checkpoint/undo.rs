//! `swarm undo` on the page: shows what a person did last, and takes that back.
//!
//! Invariant: the form carries the action's number; if another one is the last, nothing is done.

use maud::{Markup, html};

use super::rollback::{begin, confirmation, is_as_shown, look, look_again};
use super::{moved, now};
use crate::daemon::checkpoints::list::Preview;
use crate::domain::operation::Command;
use crate::domain::state::State;
use crate::domain::state::undo::Action;
use crate::view::{self, UndoView};
use crate::web::actions::Done;
use crate::web::actions::call::Call;
use crate::web::actions::dialog::Dialog;
use crate::web::pages::WebError;
use crate::web::pages::checkpoints::{branch, preview, when};
use crate::web::parts::commands;

/// The field that passes over approvals whose work has landed.
const SKIP: &str = "skipLanded";

/// The dialog.
pub async fn ask(call: &Call) -> Result<Dialog, WebError> {
    let (view, shown) = last(call).await?;
    let branch = call.read(branch);
    let possible = view.seq.is_some()
        && view.problem.is_none()
        && shown.as_ref().is_none_or(preview::is_possible);
    let words = shown.as_ref().map_or_else(
        || "Take it back".to_owned(),
        |shown| format!("Undo: {}", preview::button(shown)),
    );
    Ok(Dialog {
        title: match &view.what {
            Some(what) => format!("Take back the {what}?"),
            None => "There is nothing left to take back".to_owned(),
        },
        back: call.back("checkpoints"),
        says: html! {
            p { @match view.at {
                Some(at) => { "Done " (when(at, now())) ". Nothing else is taken back. " },
                None => {
                    "Rollbacks, cancellations, approvals and redirects can be taken back. "
                },
            } @if view.seq.is_some() && !possible { (look_again(call)) } }
            (changes(&view))
        },
        fields: html! {
            @if let Some(seq) = view.seq { input type="hidden" name="action" value=(seq); }
            @if !call.text(SKIP).is_empty() { input type="hidden" name=(SKIP) value="yes"; }
            @if let Some(shown) = &shown {
                (confirmation(shown))
                (preview::changes(shown, &branch, &preview::stays_paused(shown)))
            }
        },
        button: possible.then_some(words),
        is_grave: true,
    })
}

/// The last action, and for a rollback what the way back changes.
async fn last(call: &Call) -> Result<(UndoView, Option<Preview>), WebError> {
    let skip = !call.text(SKIP).is_empty();
    let view = call.read(|state| view::undo(state, skip));
    let preview = match &view.checkpoint {
        Some(name) if view.problem.is_none() => Some(look(call, name).await?),
        Some(_) | None => None,
    };
    Ok((view, preview))
}

fn changes(view: &UndoView) -> Markup {
    html! {
        @if let Some(problem) = &view.problem {
            p .c-bad { "It cannot be taken back now: " (problem) }
        }
        @for change in &view.changes { p { (change) } }
        @if !view.commands.is_empty() { (commands(&view.commands)) }
    }
}

/// Takes back what was shown, or nothing.
pub async fn take_back(call: &Call) -> Result<Done, WebError> {
    let shown = call.text("action");
    let seq: u64 = shown
        .parse()
        .map_err(|_| WebError::bad("say what to take back"))?;
    let (view, preview) = last(call).await?;
    if view.seq != Some(seq) {
        return Err(moved("something else was done last".into()));
    }
    if let Some(preview) = &preview {
        is_as_shown(call, preview)?;
    }
    let back = call.read(|state| back(state, seq));
    let from = preview.and_then(|preview| preview.from);
    let command = Command::Undo { seq, from };
    match view.checkpoint {
        Some(name) => begin(&call.site.api.handle, command, name).await?,
        None => {
            call.command(command).await?;
        }
    }
    Ok(Done::at(back))
}

/// The page that shows the effect.
fn back(state: &State, seq: u64) -> String {
    let mut actions = state.undo.actions.iter();
    match actions.find(|one| one.seq == seq).map(|one| &one.action) {
        Some(
            Action::Cancel { idea } | Action::Approval { idea, .. } | Action::Redirect { idea, .. },
        ) => format!("ideas/{idea}"),
        Some(Action::Rollback { .. }) | None => "checkpoints".to_owned(),
    }
}
