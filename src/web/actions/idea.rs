//! Actions on ideas: add, edit, retry, cancel, hold, assign, one or many.

use futures_util::FutureExt as _;
use maud::{Markup, html};

use super::call::Call;
use super::changes::{self, Watch};
use super::dialog::Dialog;
use super::{Action, Done, idea_form, shown};
use crate::api::ApiError;
use crate::domain::event::Event;
use crate::domain::ids::IdeaId;
use crate::domain::operation::{Command, IdeaEdit, NewIdea};
use crate::domain::rejection::Rejection;
use crate::domain::state::{IdeaStatus, State};
use crate::view::{self, names};
use crate::web::pages::WebError;
use crate::web::parts::{many, title};

/// See the module.
pub(super) const ACTIONS: &[Action] = &[
    Action {
        verb: "add",
        about: None,
        ask: Some(|call| ask_add(call).boxed()),
        act: |call| add(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "edit",
        about: Some("idea"),
        ask: Some(|call| ask_edit(call).boxed()),
        act: |call| edit(call).boxed(),
        watch: watch_idea,
    },
    Action {
        verb: "retry",
        about: Some("idea"),
        ask: Some(|call| ask_retry(call).boxed()),
        act: |call| retry(call).boxed(),
        // Its form may be part of a page that is kept up to date: it carries what it shows.
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "hold",
        about: Some("idea"),
        ask: None,
        act: |call| hold(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "unhold",
        about: Some("idea"),
        ask: None,
        act: |call| unhold(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "assign",
        about: Some("idea"),
        ask: None,
        act: |call| assign(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "cancel",
        about: Some("idea"),
        ask: Some(|call| ask_cancel(call).boxed()),
        act: |call| cancel(call).boxed(),
        watch: watch_idea,
    },
];

/// The idea of the call must be as the dialog showed it.
pub(super) fn watch_idea(call: &Call) -> Watch {
    call.idea().map_or(Watch::Nothing, Watch::Idea)
}

/// The page of the idea, unless the person came from another one.
pub(super) fn back(call: &Call, id: &IdeaId) -> String {
    call.back(&format!("ideas/{id}"))
}

pub(super) fn unknown(id: &IdeaId) -> WebError {
    ApiError::from(Rejection::IdeaUnknown(id.clone())).into()
}

async fn ask_add(call: &Call) -> Result<Dialog, WebError> {
    let typed = idea_form::Typed::of(&call.filled);
    let choices = call.read(idea_form::Choices::of);
    Ok(Dialog {
        title: "Add an idea".into(),
        back: call.back("ideas"),
        says: idea_form::hint(),
        fields: idea_form::add_fields(&typed, &choices),
        button: Some("Add idea".into()),
        is_grave: false,
    })
}

/// Adds one idea, or several that `---` lines separate. The answer to a form that was sent once
/// more after a restart of the daemon is the idea that it added then.
async fn add(call: &Call) -> Result<Done, WebError> {
    let typed = idea_form::Typed::of(&call.filled);
    let ideas = typed.new_ideas()?;
    let before = added_before(call, &ideas).await?;
    let mut added = Vec::new();
    for idea in ideas {
        let known = before.iter().find(|(_, its)| *its == idea);
        if let Some((id, _)) = known {
            added.push(id.clone());
            continue;
        }
        let accepted = match call.command(Command::AddIdea(idea)).await {
            Ok(accepted) => accepted,
            Err(error) => return Err(some_added(&added, &error)),
        };
        added.extend(
            accepted
                .events
                .iter()
                .filter_map(Event::added_idea)
                .cloned(),
        );
    }
    Ok(match added.as_slice() {
        [one] => Done::at(format!("ideas/{one}")),
        _ => Done::at("ideas").note(format!("added {}", names(&added))),
    })
}

/// The ideas of this form that were added since it was drawn.
async fn added_before(call: &Call, ideas: &[NewIdea]) -> Result<Vec<(IdeaId, NewIdea)>, WebError> {
    let Some(seq) = call.drawn_at() else {
        return Ok(Vec::new());
    };
    let Some(events) = changes::events_after(&call.site, seq).await? else {
        return Ok(Vec::new());
    };
    let added = events
        .into_iter()
        .filter_map(|event| match_added(event, ideas));
    Ok(added.collect())
}

fn match_added(event: Event, ideas: &[NewIdea]) -> Option<(IdeaId, NewIdea)> {
    let Event::IdeaAdded(added) = event else {
        return None;
    };
    ideas
        .contains(&added.idea)
        .then_some((added.id, added.idea))
}

fn some_added(added: &[IdeaId], error: &WebError) -> WebError {
    let mut refusal = error.refusal().clone();
    if !added.is_empty() {
        refusal.details = format!(
            "added: {}. Sent once more, the form adds only the rest",
            names(added)
        );
    }
    refusal.into()
}

async fn ask_edit(call: &Call) -> Result<Dialog, WebError> {
    let id = call.idea()?;
    call.allowed(&Command::EditIdea {
        id: id.clone(),
        edit: IdeaEdit::default(),
    })?;
    let idea = call.read(|state| state.ideas.get(&id).map(|idea| view::idea(&id, idea)));
    let idea = idea.ok_or_else(|| unknown(&id))?;
    let typed = if call.filled.get("text").is_some() {
        idea_form::Typed::of(&call.filled)
    } else {
        idea_form::Typed::as_it_is(&idea)
    };
    let agent = call.read(|state| state.attempt_at(&id).map(|(agent, _)| agent.clone()));
    Ok(Dialog {
        title: format!("Edit {id}"),
        back: back(call, &id),
        says: html! {
            @if let Some(agent) = agent {
                p { (agent) " works on it with the old text; a new one is for the next attempt, \
                    unless the work waits for your review: then it goes back with the new text." }
            }
        },
        fields: idea_form::edit_fields(&typed),
        button: Some("Save".into()),
        is_grave: false,
    })
}

async fn edit(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    let edit = idea_form::Typed::of(&call.filled).edit()?;
    let command = Command::EditIdea {
        id: id.clone(),
        edit,
    };
    call.command(command).await?;
    let note = call.read(|state| view::edited(state, &id));
    let done = Done::at(back(call, &id));
    Ok(match note {
        Some(note) => done.note(note),
        None => done,
    })
}

async fn ask_retry(call: &Call) -> Result<Dialog, WebError> {
    let id = call.idea()?;
    call.allowed(&Command::RetryIdea { id: id.clone() })?;
    let found = call.read(|state| {
        let idea = state.ideas.get(&id)?;
        let error = idea.last_error.as_deref().map(str::to_owned);
        let title = title(&idea.text).to_owned();
        Some((title, idea.status, error, shown::idea(state, &id)))
    });
    let (title, status, error, shown) = found.ok_or_else(|| unknown(&id))?;
    Ok(Dialog {
        title: format!("Retry {id}?"),
        back: back(call, &id),
        says: html! {
            p { b { (title) } }
            p { "It is " (status.as_str()) " now. A retry is a fresh start with full iterations \
                and time, from the work so far." }
            @if let Some(error) = error { p .sub { (error) } }
        },
        fields: shown::field("retry-now", &shown),
        button: Some("Retry".into()),
        is_grave: false,
    })
}

async fn retry(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    if !shown::is(call, &call.read(|state| shown::idea(state, &id))) {
        call.allowed(&Command::RetryIdea { id: id.clone() })?;
        let message = format!("{id} has changed since you saw it");
        return Err(shown::changed(message, "nothing was done"));
    }
    call.command(Command::RetryIdea { id: id.clone() }).await?;
    Ok(Done::at(back(call, &id)))
}

async fn hold(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    call.command(Command::HoldIdea { id: id.clone() }).await?;
    let note = call.read(|state| view::held(state, &id));
    let done = Done::at(back(call, &id));
    Ok(match note {
        Some(note) => done.note(note),
        None => done,
    })
}

async fn unhold(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    call.command(Command::UnholdIdea { id: id.clone() }).await?;
    Ok(Done::at(back(call, &id)))
}

async fn assign(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    let profile = idea_form::profile(&call.text("profile"))?;
    let command = Command::AssignIdea {
        id: id.clone(),
        profile,
    };
    call.command(command).await?;
    Ok(Done::at(back(call, &id)))
}

/// What a cancellation ends.
struct Cancelled {
    title: String,
    status: IdeaStatus,
    agent: Option<String>,
    in_vain: Vec<(IdeaId, String)>,
}

impl Cancelled {
    fn of(state: &State, id: &IdeaId) -> Option<Self> {
        let idea = state.ideas.get(id)?;
        let waits = |(_, other): &(&IdeaId, &crate::domain::state::Idea)| other.after.contains(id);
        let in_vain = state.ideas.open().filter(waits);
        Some(Self {
            title: title(&idea.text).to_owned(),
            status: idea.status,
            agent: state
                .attempt_at(id)
                .map(|(agent, attempt)| format!("{agent}, in iteration {},", attempt.iteration)),
            in_vain: in_vain
                .map(|(id, idea)| (id.clone(), title(&idea.text).to_owned()))
                .collect(),
        })
    }

    fn says(&self, id: &IdeaId) -> Markup {
        html! {
            p { b { (self.title) } }
            dl .pv {
                dt { "Agent" }
                dd {
                    @match &self.agent {
                        Some(agent) => { (agent) " is stopped" },
                        None => "none works on it",
                    }
                }
                dt { "Commits" }
                dd { "stay under " code { "refs/swarm/rescue/" } "; uncommitted files of its \
                    worktree are saved there too" }
                dt { "In vain" }
                dd {
                    @if self.in_vain.is_empty() { "no idea waits for it" }
                    @else {
                        (many(self.in_vain.len(), "idea")) " would wait for it in vain"
                        ul { @for (waiting, what) in self.in_vain.iter().take(20) {
                            li { span .id { (waiting) } span .cut { (what) } }
                        } }
                        @if self.in_vain.len() > 20 {
                            p .dim { "and " (self.in_vain.len() - 20) " more" }
                        }
                    }
                }
                dt { "Undo" }
                dd { code { "swarm undo" } " brings " (id) " back as it was ("
                    (self.status.as_str()) ")" }
            }
        }
    }
}

async fn ask_cancel(call: &Call) -> Result<Dialog, WebError> {
    let id = call.idea()?;
    call.allowed(&Command::CancelIdea { id: id.clone() })?;
    let cancelled = call.read(|state| Cancelled::of(state, &id));
    let cancelled = cancelled.ok_or_else(|| unknown(&id))?;
    Ok(Dialog {
        title: format!("Cancel {id}?"),
        back: back(call, &id),
        says: cancelled.says(&id),
        fields: html! {},
        button: Some("Cancel the idea".into()),
        is_grave: true,
    })
}

async fn cancel(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    call.command(Command::CancelIdea { id: id.clone() }).await?;
    Ok(Done::at(back(call, &id)))
}
