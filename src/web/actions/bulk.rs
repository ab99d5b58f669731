//! Actions on several chosen ideas. A cancellation asks first; the others act at once.

use futures_util::FutureExt as _;
use maud::html;

use super::call::Call;
use super::dialog::Dialog;
use super::{Action, Done, Watch};
use crate::domain::decide;
use crate::domain::ids::IdeaId;
use crate::domain::operation::Command;
use crate::domain::rejection::Rejection;
use crate::domain::state::{IdeaStatus, State};
use crate::web::pages::WebError;
use crate::web::parts::{many, status, title};

/// See the module.
pub(super) const ACTIONS: &[Action] = &[
    Action {
        verb: "bulk",
        about: None,
        ask: None,
        act: |call| at_once(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "cancel-chosen",
        about: None,
        ask: Some(|call| ask_cancel(call).boxed()),
        act: |call| each(call, "cancel").boxed(),
        watch: |call| Watch::Ideas(chosen(call)),
    },
];

/// The ideas that are chosen.
fn chosen(call: &Call) -> Vec<IdeaId> {
    let all = call.texts("id").into_iter();
    all.filter_map(|id| id.parse().ok()).collect()
}

async fn at_once(call: &Call) -> Result<Done, WebError> {
    let verb = call.text("verb");
    if verb == "cancel" {
        return Err(WebError::bad(
            "several ideas are cancelled by a dialog that lists them",
        ));
    }
    each(call, &verb).await
}

/// A chosen idea as the dialog shows it.
struct Chosen {
    id: IdeaId,
    title: String,
    status: IdeaStatus,
    agent: Option<String>,
    /// Why it cannot be cancelled.
    refused: Option<Rejection>,
}

impl Chosen {
    fn of(state: &State, id: IdeaId) -> Option<Self> {
        let idea = state.ideas.get(&id)?;
        let command = Command::CancelIdea { id: id.clone() };
        Some(Self {
            title: title(&idea.text).to_owned(),
            status: idea.status,
            agent: state.attempt_at(&id).map(|(agent, _)| agent.to_string()),
            refused: decide::command(state, &command, state.swarm.last_event_at).err(),
            id,
        })
    }
}

async fn ask_cancel(call: &Call) -> Result<Dialog, WebError> {
    let ids = chosen(call);
    if ids.is_empty() {
        return Err(WebError::bad("no idea is chosen"));
    }
    let all: Vec<Chosen> = call.read(|state| {
        let known = ids.into_iter().filter_map(|id| Chosen::of(state, id));
        known.collect()
    });
    let count = all.iter().filter(|one| one.refused.is_none()).count();
    Ok(Dialog {
        title: format!("Cancel {}?", many(count, "idea")),
        back: call.back("ideas"),
        says: html! {
            p { "Agents that work on them are stopped; commits and uncommitted files are kept \
                under " code { "refs/swarm/rescue/" } ". " code { "swarm undo" } " brings them \
                back one by one." }
            ul { @for one in &all { li {
                span .id { (one.id) } " " (status(one.status)) " " span .cut { (one.title) }
                @if let Some(why) = &one.refused { p .dim { "Stays as it is: " (why) } }
                @else if let Some(agent) = &one.agent { p .dim { (agent) " is stopped" } }
            } } }
        },
        fields: html! {
            @for one in all.iter().filter(|one| one.refused.is_none()) {
                input type="hidden" name="id" value=(one.id);
            }
        },
        button: (count > 0).then(|| format!("Cancel {}", many(count, "idea"))),
        is_grave: true,
    })
}

/// The same for several ideas, each in turn: one refusal does not keep the others from being done.
async fn each(call: &Call, verb: &str) -> Result<Done, WebError> {
    let ids = call.texts("id");
    if ids.is_empty() {
        return Err(WebError::bad("no idea is chosen"));
    }
    let mut refused = Vec::new();
    for id in &ids {
        if let Err(error) = one_of_many(call, verb, id).await {
            if ids.len() == 1 || !error.refusal().status.is_client_error() {
                return Err(error);
            }
            refused.push(format!("{id}: {}", error.refusal().message));
        }
    }
    let done = Done::at(call.back("ideas"));
    if refused.is_empty() {
        return Ok(done);
    }
    let words = format!("{} of {} were refused", refused.len(), ids.len());
    Ok(refused.into_iter().fold(done.note(words), Done::note))
}

async fn one_of_many(call: &Call, verb: &str, id: &str) -> Result<(), WebError> {
    let id: IdeaId = id
        .parse()
        .map_err(|_| WebError::not_found(format!("there is no idea `{id}`")))?;
    let command = match verb {
        "retry" => Command::RetryIdea { id },
        "cancel" => Command::CancelIdea { id },
        "hold" => Command::HoldIdea { id },
        "unhold" => Command::UnholdIdea { id },
        _ => {
            return Err(WebError::bad(format!(
                "`{verb}` is nothing for several ideas"
            )));
        }
    };
    call.command(command).await.map(drop)
}
