//! Everything that a person can do to an agent or an idea, on one sheet. What is impossible says
//! why.
//!
//! Invariant: the rules are those of the commands themselves.

use futures_util::FutureExt as _;
use maud::{Markup, html};

use super::agent::candidates;
use super::call::Call;
use super::dialog::Dialog;
use super::idea::unknown;
use super::{Action, Done, Watch, shown};
use crate::domain::decide;
use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::operation::{Command, IdeaEdit};
use crate::domain::rejection::Rejection;
use crate::domain::state::State;
use crate::web::document::Drawing;
use crate::web::moment::Moment;
use crate::web::pages::{WebError, new_document};
use crate::web::parts::{capital, title};

/// See the module.
pub(super) const ACTIONS: &[Action] = &[Action {
    verb: "intervene",
    about: Some("agent or idea"),
    ask: Some(|call| ask(call).boxed()),
    act: |call| act(call).boxed(),
    watch: |_| Watch::Nothing,
}];

/// How an action is offered.
enum Way {
    /// A button that acts at once.
    AtOnce,
    /// A link to its dialog.
    Asks,
}

/// An action on the sheet.
struct Offer {
    words: &'static str,
    verb: &'static str,
    id: String,
    does: &'static str,
    way: Way,
    /// Why it is impossible now.
    refused: Option<String>,
}

/// What the sheet is about.
struct Sheet {
    agent: Option<(AgentId, Option<String>)>,
    /// The run that ended with the agent's open question.
    question: Option<RunId>,
    /// The idea as the sheet shows it.
    shown: String,
    idea: IdeaId,
    title: String,
    offers: Vec<Offer>,
}

async fn act(_: &Call) -> Result<Done, WebError> {
    Err(WebError::bad("choose one of the actions"))
}

async fn ask(call: &Call) -> Result<Dialog, WebError> {
    let sheet = sheet(call)?;
    let moment = Moment::now();
    let document = new_document(&call.site);
    let usual = match &sheet.agent {
        Some((agent, _)) => format!("agents/{agent}"),
        None => format!("ideas/{}", sheet.idea),
    };
    let back = call.back(&usual);
    let drawing = Drawing::new(&call.site, &moment, &back, &document);
    let title = match &sheet.agent {
        Some((agent, _)) => format!("Intervene: {agent}, {}", sheet.idea),
        None => format!("Intervene: {}", sheet.idea),
    };
    Ok(Dialog {
        title,
        says: drawn(&drawing, &sheet),
        back,
        fields: html! {},
        button: None,
        is_grave: false,
    })
}

/// The sheet of the agent or the idea that the address names.
fn sheet(call: &Call) -> Result<Sheet, WebError> {
    let name = call.id.as_deref().unwrap_or_default();
    let by_agent = name.parse::<AgentId>().ok().and_then(|agent| {
        call.read(|state| {
            let idea = state.agents.get(&agent)?.idea.clone();
            Some(Sheet::of(state, Some(&agent), &idea))
        })
    });
    let by_idea = || {
        let id = name.parse::<IdeaId>().ok()?;
        call.read(|state| {
            let agent = state.attempt_at(&id).map(|(agent, _)| agent);
            Some(Sheet::of(state, agent, &id))
        })
    };
    if let Some(sheet) = by_agent.flatten().or_else(|| by_idea().flatten()) {
        return Ok(sheet);
    }
    match name.parse::<IdeaId>() {
        Ok(id) if name.starts_with("idea-") => Err(unknown(&id)),
        Ok(_) | Err(_) => {
            let agent = call.agent()?;
            call.allowed(&Command::StopAgent { id: agent })?;
            Err(WebError::not_found(format!("{name} has ended")))
        }
    }
}

impl Sheet {
    fn of(state: &State, agent: Option<&AgentId>, id: &IdeaId) -> Option<Self> {
        let idea = state.ideas.get(id)?;
        let mut offers = Vec::new();
        if let Some(agent) = agent {
            offers.extend(of_agent(state, agent));
        }
        if state.entry(id).is_some() {
            offers.extend(of_merge(state, id));
        }
        offers.extend(of_idea(state, id, idea.held));
        let say = |agent: &AgentId| {
            refused(
                state,
                &Command::SayToAgent {
                    id: agent.clone(),
                    text: "?".into(),
                },
            )
        };
        Some(Self {
            agent: agent.map(|agent| (agent.clone(), say(agent))),
            question: agent
                .and_then(|id| shown::question(state, id))
                .map(|(run, _)| run.clone()),
            shown: shown::idea(state, id),
            idea: id.clone(),
            title: title(&idea.text).to_owned(),
            offers,
        })
    }
}

/// Why the command would be refused now.
fn refused(state: &State, command: &Command) -> Option<String> {
    let decided = decide::command(state, command, state.swarm.last_event_at);
    decided.err().map(|why: Rejection| why.to_string())
}

fn of_agent(state: &State, id: &AgentId) -> [Offer; 2] {
    let offer = |words, verb, does, refused| Offer {
        words,
        verb,
        id: id.to_string(),
        does,
        way: Way::Asks,
        refused,
    };
    [
        offer(
            "Redirect",
            "redirect",
            "Another idea takes its place; its work is kept.",
            candidates(state, id).err(),
        ),
        offer(
            "Stop the agent",
            "stop-agent",
            "Its idea becomes pending again and keeps its work.",
            refused(state, &Command::StopAgent { id: id.clone() }),
        ),
    ]
}

fn of_merge(state: &State, id: &IdeaId) -> [Offer; 4] {
    let offer = |words, verb, does, way, command: Command| Offer {
        words,
        verb,
        id: id.to_string(),
        does,
        way,
        refused: refused(state, &command),
    };
    let approve = Command::ApproveMerge {
        id: id.clone(),
        commit: None,
    };
    let reject = Command::RejectMerge {
        id: id.clone(),
        why: "?".into(),
    };
    [
        offer(
            "Send back",
            "reject",
            "The agent continues with your comment.",
            Way::Asks,
            reject,
        ),
        offer(
            "Land without a review",
            "land",
            "It lands when its merge has passed the checks.",
            Way::Asks,
            approve,
        ),
        offer(
            "Retry the merge",
            "merge-retry",
            "A merge that waits is tried now.",
            Way::AtOnce,
            Command::RetryMerge { id: id.clone() },
        ),
        offer(
            "I settled the conflict",
            "resolve",
            "Your resolution in the worktree is checked; then the merge continues.",
            Way::AtOnce,
            Command::ResolveMerge { id: id.clone() },
        ),
    ]
}

fn of_idea(state: &State, id: &IdeaId, is_held: bool) -> [Offer; 5] {
    let offer = |words, verb, does, way, command: Command| Offer {
        words,
        verb,
        id: id.to_string(),
        does,
        way,
        refused: refused(state, &command),
    };
    let edit = Command::EditIdea {
        id: id.clone(),
        edit: IdeaEdit::default(),
    };
    let assign = Command::AssignIdea {
        id: id.clone(),
        profile: None,
    };
    let hold = if is_held {
        let command = Command::UnholdIdea { id: id.clone() };
        let does = "It may start again.";
        offer("Release", "unhold", does, Way::AtOnce, command)
    } else {
        let command = Command::HoldIdea { id: id.clone() };
        let does = "It does not start, or start again, until you release it.";
        offer("Hold", "hold", does, Way::AtOnce, command)
    };
    [
        offer(
            "Edit the idea",
            "edit",
            "Text, priority, tags and what it waits for.",
            Way::Asks,
            edit,
        ),
        offer(
            "Assign",
            "assign",
            "It starts as soon as a slot is free, in semi-auto mode too.",
            Way::AtOnce,
            assign,
        ),
        hold,
        offer(
            "Retry",
            "retry",
            "A fresh start with full iterations and time, from the work so far.",
            Way::AtOnce,
            Command::RetryIdea { id: id.clone() },
        ),
        offer(
            "Cancel the idea",
            "cancel",
            "Its agent is stopped; its commits are kept.",
            Way::Asks,
            Command::CancelIdea { id: id.clone() },
        ),
    ]
}

fn drawn(drawing: &Drawing<'_>, sheet: &Sheet) -> Markup {
    html! {
        p { b { (sheet.title) } }
        @match &sheet.agent {
            Some((agent, None)) => (drawing.form(&format!("do/say/{agent}"), &html! {
                @if let Some(run) = &sheet.question { (shown::field("say-shown", run.as_str())) }
                div .say {
                    label for="say-text" { "Say something to " (agent)
                        " " span .dim { "It reads this with its next prompt." } }
                    textarea #say-text name="text" rows="2" required {}
                    div .row { button .b.pri { "Say" } }
                }
            })),
            Some((_, Some(why))) => p .sub { (capital(why)) "." },
            None => {},
        }
        ul .offers { @for offer in &sheet.offers { li { (offered(drawing, sheet, offer)) } } }
    }
}

fn offered(drawing: &Drawing<'_>, sheet: &Sheet, offer: &Offer) -> Markup {
    let address = format!("do/{}/{}", offer.verb, offer.id);
    html! {
        div {
            b { (offer.words) }
            @match &offer.refused {
                Some(why) => span .sub { "Not now: " (why) "." },
                None => span .sub { (offer.does) },
            }
        }
        @if offer.refused.is_none() {
            @match offer.way {
                Way::AtOnce => (drawing.form(&address, &html! {
                    @if offer.verb == "retry" { (shown::field("retry-shown", &sheet.shown)) }
                    button .b { (offer.words) }
                })),
                Way::Asks => (drawing.ask(&address, "b", &html! { (offer.words) "…" })),
            }
        }
    }
}
