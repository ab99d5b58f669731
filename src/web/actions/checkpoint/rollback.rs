//! The rollback: a dialog with the live preview, then the command.

use maud::{Markup, html};
use serde_json::json;

use super::{checkpoint, moved, now};
use crate::api::ApiError;
use crate::daemon::Handle;
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::checkpoints::request::{Answer, AskError, request};
use crate::domain::ids::{CheckpointName, Oid};
use crate::domain::operation::Command;
use crate::domain::state::State;
use crate::domain::state::checkpoint::RollbackStep;
use crate::web::actions::Done;
use crate::web::actions::call::Call;
use crate::web::actions::changes::Watch;
use crate::web::actions::dialog::Dialog;
use crate::web::actions::shown;
use crate::web::pages::WebError;
use crate::web::pages::checkpoints::{branch, preview, when};

/// The checkpoint and the target.
pub(in crate::web::actions) fn watch(call: &Call) -> Watch {
    let name = call.id.as_deref().and_then(|name| name.parse().ok());
    name.map_or(Watch::Nothing, Watch::Checkpoint)
}

/// The dialog.
pub async fn ask(call: &Call) -> Result<Dialog, WebError> {
    let name = checkpoint(call)?;
    let shown = look(call, &name).await?;
    let (branch, made) = call.read(|state| {
        let made = state.checkpoints.get(&name);
        (branch(state), made.map(|one| (one.created_at, one.seq)))
    });
    let possible = preview::is_possible(&shown);
    Ok(Dialog {
        title: format!("Roll back to {name}?"),
        back: "checkpoints".into(),
        says: html! { p {
            @if let Some((at, seq)) = made {
                "As it was at " (when(at, now())) ", event " (seq) ". "
            }
            @if possible { "This is what will happen, and nothing else." }
            @else { "It is not possible as things are. " (look_again(call)) }
        } },
        fields: html! {
            (confirmation(&shown))
            (preview::changes(&shown, &branch, &afterwards(&shown)))
        },
        button: possible.then(|| preview::button(&shown)),
        is_grave: true,
    })
}

/// A link to the same dialog, drawn anew.
pub fn look_again(call: &Call) -> Markup {
    let address = format!("{}/{}", call.site.access.path(), call.address());
    html! { a href=(address) data-dialog { "Look again" } }
}

/// What the form carries of what it shows.
pub fn confirmation(shown: &Preview) -> Markup {
    html! {
        @if let Some(from) = &shown.from { input type="hidden" name="from" value=(from); }
        input type="hidden" name="to" value=(shown.commit);
        input type="hidden" name=(shown::FIELD) value=(digests(shown));
    }
}

fn afterwards(shown: &Preview) -> Markup {
    html! {
        label {
            input type="checkbox" name="resume" value="yes";
            span { "Start the autopilot again afterwards" }
        }
        p .dim { "Otherwise swarm stays paused until you resume it." }
        (preview::starting(shown, "Once it goes on,"))
    }
}

/// What a rollback would change now.
pub async fn look(call: &Call, name: &CheckpointName) -> Result<Preview, WebError> {
    let preview = call.site.api.control.preview(name).await;
    preview.map_err(WebError::failed)
}

/// Rolls back as was shown, or not at all.
pub async fn roll_back(call: &Call) -> Result<Done, WebError> {
    let name = checkpoint(call)?;
    let now = look(call, &name).await?;
    is_as_shown(call, &now)?;
    let command = Command::RollBack {
        name: name.clone(),
        pause: call.text("resume").is_empty(),
        from: now.from,
    };
    begin(&call.site.api.handle, command, name).await?;
    Ok(Done::at("checkpoints"))
}

/// Refuses if what was shown is no longer what would happen.
pub fn is_as_shown(call: &Call, now: &Preview) -> Result<(), WebError> {
    let is = |now: &Oid, field: &str| now.as_str() == call.text(field);
    let same = now.from.as_ref().is_some_and(|from| is(from, "from")) && is(&now.commit, "to");
    if !same {
        return Err(moved("the target has moved since this was shown".into()));
    }
    let (shown, now) = (call.text(shown::FIELD), digests(now));
    let pairs = PARTS.into_iter().zip(shown.split('-').zip(now.split('-')));
    let changed: Vec<&str> = pairs
        .filter(|(_, (shown, now))| shown != now)
        .map(|(part, _)| part)
        .collect();
    if shown == now {
        return Ok(());
    }
    let message = format!("changed since this was shown: {}", changed.join(", "));
    Err(moved(message))
}

/// The parts of a preview, as [`digests`] orders them.
const PARTS: [&str; 6] = [
    "the commits",
    "the ideas",
    "the agents that are stopped",
    "the messages that are lost",
    "the files in the way",
    "what follows",
];

/// A digest of each part of a preview, so that a refusal can say which one has changed.
pub fn digests(preview: &Preview) -> String {
    let parts = [
        json!([preview.commits_lost, preview.commits_regained]),
        json!(preview.ideas_reverted),
        json!(preview.agents_stopped),
        json!(preview.messages_dropped),
        json!([preview.dirty_files, preview.commands]),
        json!([preview.ideas_starting, preview.problem]),
    ];
    parts.map(|part| shown::digest(&part.to_string())).join("-")
}

/// Sends the command, and waits until the rollback is over or nothing can refuse it any more. From
/// then on every page shows its steps.
pub async fn begin(handle: &Handle, command: Command, to: CheckpointName) -> Result<(), WebError> {
    let begun = begun(handle, command, to).await;
    begun.map_err(|error| ApiError::from(error).into())
}

async fn begun(handle: &Handle, command: Command, to: CheckpointName) -> Result<(), AskError> {
    let mut seq = handle.seq();
    let asked = handle.clone();
    let mut answer = tokio::spawn(async move { request(&asked, command.into()).await });
    let is_past_checking = |state: &State| {
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
