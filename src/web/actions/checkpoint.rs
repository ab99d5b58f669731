//! Actions on checkpoints.

use futures_util::FutureExt as _;
use maud::html;

use super::call::Call;
use super::changes::Watch;
use super::dialog::Dialog;
use super::{Action, Done};
use crate::domain::command::Command;
use crate::domain::ids::CheckpointName;
use crate::web::pages::WebError;

/// See the module.
pub(super) const ACTIONS: &[Action] = &[Action {
    verb: "checkpoint",
    about: None,
    ask: Some(|call| ask_create(call).boxed()),
    act: |call| create(call).boxed(),
    watch: |_| Watch::Nothing,
}];

async fn ask_create(call: &Call) -> Result<Dialog, WebError> {
    Ok(Dialog {
        title: "Create a checkpoint".into(),
        back: call.back("checkpoints"),
        says: html! {
            p { "It holds the target, every idea, and the work of every agent, uncommitted files \
                too." }
        },
        fields: html! {
            label for="name" { "Name" }
            input #name name="name" required autofocus value=(call.text("name"))
                pattern="[a-z0-9][a-z0-9-]{0,63}" placeholder="before-the-refactoring";
            p .dim { "Lower-case letters, digits and -." }
        },
        button: Some("Create checkpoint".into()),
        is_grave: false,
    })
}

async fn create(call: &Call) -> Result<Done, WebError> {
    let name: Result<CheckpointName, _> = call.text("name").parse();
    let name = name.map_err(|error| WebError::bad(error.to_string()))?;
    call.command(Command::CreateCheckpoint { name }).await?;
    Ok(Done::at(call.back("checkpoints")))
}
