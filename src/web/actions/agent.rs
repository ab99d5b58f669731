//! Actions on agents: say something, stop, redirect.

use futures_util::FutureExt as _;
use maud::{Markup, html};

use super::call::Call;
use super::changes;
use super::dialog::Dialog;
use super::swarm::radios;
use super::{Action, Done, Watch, shown};
use crate::domain::decide;
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::operation::Command;
use crate::domain::scheduling;
use crate::domain::settings::Mode;
use crate::domain::state::State;
use crate::view::own_worktree;
use crate::web::pages::WebError;
use crate::web::parts::{doing, span, title};

/// The most ideas that a redirect offers, in the order in which they would start.
const MOST_IDEAS: usize = 100;

/// See the module.
pub(super) const ACTIONS: &[Action] = &[
    Action {
        verb: "say",
        about: Some("agent"),
        ask: Some(|call| ask_say(call).boxed()),
        act: |call| say(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "stop-agent",
        about: Some("agent"),
        ask: Some(|call| ask_stop(call).boxed()),
        act: |call| stop(call).boxed(),
        watch: watch_agent,
    },
    Action {
        verb: "redirect",
        about: Some("agent"),
        ask: Some(|call| ask_redirect(call).boxed()),
        act: |call| redirect(call).boxed(),
        watch: watch_agent,
    },
];

fn watch_agent(call: &Call) -> Watch {
    call.agent().map_or(Watch::Nothing, Watch::Agent)
}

fn back(call: &Call, id: &AgentId) -> String {
    call.back(&format!("agents/{id}"))
}

/// The open question of an agent: the run that ended with it, and its words.
fn question(call: &Call, id: &AgentId) -> Option<(String, String)> {
    call.read(|state| {
        let open = shown::question(state, id);
        open.map(|(run, question)| (run.to_string(), question.to_owned()))
    })
}

async fn ask_say(call: &Call) -> Result<Dialog, WebError> {
    let id = call.agent()?;
    call.allowed(&Command::SayToAgent {
        id: id.clone(),
        text: "?".into(),
    })?;
    let question = question(call, &id);
    let title = match &question {
        Some(_) => format!("Answer {id}"),
        None => format!("Say something to {id}"),
    };
    Ok(Dialog {
        says: html! {
            @match &question {
                Some((_, question)) => p { (id) " asks: " b { (question) } },
                None => p { "It asks nothing now. It reads this with its next prompt." },
            }
        },
        fields: html! {
            @if let Some((run, _)) = &question { (shown::field("say-shown", run)) }
            label for="say-words" { "Your words" }
            textarea #say-words name="text" rows="3" required autofocus {
                "\n" (call.text("text"))
            }
        },
        button: Some(if question.is_some() { "Answer" } else { "Say" }.into()),
        back: back(call, &id),
        title,
        is_grave: false,
    })
}

/// Sends a message, unless this form already sent it before a restart of the daemon. An answer
/// reaches the question that its form showed, and no other.
async fn say(call: &Call) -> Result<Done, WebError> {
    let id = call.agent()?;
    let text = call.text("text");
    let command = Command::SayToAgent {
        id: id.clone(),
        text: text.clone(),
    };
    let answered = call.text(shown::FIELD);
    let open = question(call, &id);
    let is_open = open.is_some_and(|(run, _)| run == answered);
    if !is_open && was_said(call, &id, &text, &answered).await? {
        return Ok(Done::at(back(call, &id)));
    }
    if !is_open && !answered.is_empty() {
        call.allowed(&command)?;
        let message = format!("the question of {id} that you answered is no longer open");
        return Err(shown::changed(message, "your answer was not sent"));
    }
    call.command(command).await?;
    let is_finished = call.read(|state| {
        let attempt = state.agents.get(&id);
        attempt.is_some_and(|attempt| state.entry(&attempt.idea).is_some())
    });
    let done = Done::at(back(call, &id));
    if !is_finished {
        return Ok(done);
    }
    Ok(done.note(format!(
        "message kept, but the work of {id} is in the merge train: {id} reads it only if the merge \
         comes back"
    )))
}

/// Whether this was said since the form was drawn; of an answer, whether it answered the question
/// with which the run `answered` ended.
pub(super) async fn was_said(
    call: &Call,
    id: &AgentId,
    text: &str,
    answered: &str,
) -> Result<bool, WebError> {
    let Some(seq) = call.drawn_at() else {
        return Ok(false);
    };
    let Some(mut events) = changes::events_after(&call.site, seq).await? else {
        return Ok(false);
    };
    if !answered.is_empty() {
        keep_answers(&mut events, id, answered);
    }
    let is_this = |event: &Event| {
        matches!(event, Event::MessageQueued(queued)
            if queued.agent == *id && queued.text == text)
    };
    Ok(events.iter().any(is_this))
}

/// Leaves of these events those from the question of this run to the agent's next iteration.
fn keep_answers(events: &mut Vec<Event>, id: &AgentId, run: &str) {
    let iteration = |event: &Event| {
        let Event::IterationStarted(it) = event else {
            return None;
        };
        (it.agent == *id).then(|| it.run.to_string() == run)
    };
    if let Some(began) = events
        .iter()
        .position(|event| iteration(event) == Some(true))
    {
        events.drain(..=began);
    }
    if let Some(next) = events.iter().position(|event| iteration(event).is_some()) {
        events.truncate(next);
    }
    let is_asked = |event: &Event| {
        matches!(event, Event::AttemptMoved(it)
            if it.agent == *id && it.phase == AttemptPhase::WaitingForHuman)
    };
    if let Some(asked) = events.iter().rposition(is_asked) {
        events.drain(..=asked);
    }
}

/// What a stop ends.
struct Stopped {
    idea: IdeaId,
    iteration: Option<String>,
    phase: AttemptPhase,
    worktree: Option<String>,
    is_autopilot: bool,
}

impl Stopped {
    fn of(state: &State, id: &AgentId, now: crate::domain::time::Timestamp) -> Option<Self> {
        let attempt = state.agents.get(id)?;
        let is_busy = attempt.phase == AttemptPhase::Working;
        let since = attempt.iteration_at.filter(|_| is_busy);
        Some(Self {
            idea: attempt.idea.clone(),
            iteration: since.map(|since| {
                let age = span(now.since(since));
                format!("iteration {}, under way for {age}", attempt.iteration)
            }),
            phase: attempt.phase,
            worktree: own_worktree(state, attempt),
            is_autopilot: state.mode() == Mode::Autopilot,
        })
    }

    fn says(&self) -> Markup {
        html! {
            dl .pv {
                dt { "Lost" }
                dd {
                    @match &self.iteration {
                        Some(iteration) => {
                            "the rest of " (iteration) "; its files stay as they are then"
                        },
                        None => { "no iteration: " (doing(self.phase).to_lowercase()) },
                    }
                }
                dt { "Idea" }
                dd {
                    span .id { (self.idea) } " becomes pending again and goes on from this work. "
                    @if self.is_autopilot {
                        "Autopilot starts it again in its turn; hold it to prevent that."
                    } @else { "In semi-auto mode it waits until you assign it." }
                }
                dt { "Worktree" }
                dd {
                    @match &self.worktree {
                        Some(worktree) => { code { (worktree) } " stays" },
                        None => "lent to another idea; all work is on the branch",
                    }
                }
                dt { "Slot" }
                dd { "becomes free for the next idea" }
            }
        }
    }
}

async fn ask_stop(call: &Call) -> Result<Dialog, WebError> {
    let id = call.agent()?;
    call.allowed(&Command::StopAgent { id: id.clone() })?;
    let now = crate::web::moment::Moment::now().time();
    let stopped = call.read(|state| Stopped::of(state, &id, now));
    let Some(stopped) = stopped else {
        return Err(WebError::not_found(format!("{id} has ended")));
    };
    Ok(Dialog {
        title: format!("Stop {id}?"),
        back: back(call, &id),
        says: stopped.says(),
        fields: html! {},
        button: Some(format!("Stop {id}")),
        is_grave: true,
    })
}

async fn stop(call: &Call) -> Result<Done, WebError> {
    let id = call.agent()?;
    call.command(Command::StopAgent { id: id.clone() }).await?;
    Ok(Done::at(back(call, &id)))
}

/// An idea that may take an agent's place.
pub(super) struct Candidate {
    pub(super) id: IdeaId,
    title: String,
    /// It has work of its own and needs a new worktree.
    needs_worktree: bool,
}

/// The ideas that may take this agent's place, next ones first. If there is none: why the first
/// pending idea may not.
pub(super) fn candidates(state: &State, agent: &AgentId) -> Result<Vec<Candidate>, String> {
    let mut refused = None;
    let mut found = Vec::new();
    for id in scheduling::line(state).into_iter().take(MOST_IDEAS) {
        let may = |new_worktree| {
            let command = Command::RedirectAgent {
                id: agent.clone(),
                idea: id.clone(),
                new_worktree,
            };
            decide::command(state, &command, state.swarm.last_event_at)
        };
        if let Err(why) = may(true) {
            refused.get_or_insert_with(|| why.to_string());
            continue;
        }
        let text = state.ideas.get(id).map(|idea| title(&idea.text).to_owned());
        found.push(Candidate {
            needs_worktree: may(false).is_err(),
            title: text.unwrap_or_default(),
            id: id.clone(),
        });
    }
    if found.is_empty() {
        return Err(refused.unwrap_or_else(|| "no idea is pending".into()));
    }
    Ok(found)
}

async fn ask_redirect(call: &Call) -> Result<Dialog, WebError> {
    let id = call.agent()?;
    let found = call.read(|state| {
        let attempt = state.agents.get(&id)?;
        let worktree = own_worktree(state, attempt);
        let worktree = worktree.unwrap_or_else(|| "a new worktree, for its own is lent".into());
        let place = (attempt.idea.clone(), worktree);
        Some((place, candidates(state, &id)))
    });
    let Some(((own, worktree), candidates)) = found else {
        call.allowed(&Command::StopAgent { id: id.clone() })?;
        return Err(WebError::not_found(format!("{id} has ended")));
    };
    let (says, fields, button) = match candidates {
        Err(why) => (
            html! {
                p { "No idea can take its place now. The next one: " (why) "." }
                p { "To have " (id) " do something else with " span .id { (own) }
                    ", write to it on its page." }
            },
            html! {},
            None,
        ),
        Ok(candidates) => (
            html! { p {
                (id) " stops, and its work so far is saved as a commit. " span .id { (own) }
                " becomes pending again and goes on from that work."
            } },
            redirect_fields(call, &own, &worktree, &candidates),
            Some(format!("Redirect {id}")),
        ),
    };
    Ok(Dialog {
        title: format!("Redirect {id} to another idea"),
        back: back(call, &id),
        says,
        fields,
        button,
        is_grave: true,
    })
}

fn redirect_fields(call: &Call, own: &IdeaId, worktree: &str, candidates: &[Candidate]) -> Markup {
    let chosen = call.text("idea");
    let place = call.text("worktree");
    let in_same = format!(
        "It finds the files of {own} there, in {worktree}. {own} goes on later in a new worktree."
    );
    let in_new = format!("It starts from the target. {own} goes on later from its commit.");
    let choices = [
        ("new", "In a new worktree", in_new.as_str()),
        ("same", "In the same worktree", in_same.as_str()),
    ];
    html! {
        label for="idea" { "Idea that takes its place" }
        select #idea name="idea" required {
            @for candidate in candidates {
                option value=(candidate.id) selected[candidate.id.as_str() == chosen] {
                    (candidate.id) ": " (short(&candidate.title))
                    @if candidate.needs_worktree { " (has work; new worktree only)" }
                }
            }
        }
        (radios("Where", "worktree", &choices, &|value| {
            place == value || place.is_empty() && value == "new"
        }))
    }
}

fn short(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    if start.len() < text.len() {
        return format!("{start}…");
    }
    start
}

async fn redirect(call: &Call) -> Result<Done, WebError> {
    let id = call.agent()?;
    let idea: IdeaId = match call.text("idea").as_str() {
        "" => return Err(WebError::bad("choose an idea")),
        text => text
            .parse()
            .map_err(|_| WebError::not_found(format!("there is no idea `{text}`")))?,
    };
    let new_worktree = match call.text("worktree").as_str() {
        "new" => true,
        "same" => false,
        _ => return Err(WebError::bad("choose the worktree")),
    };
    let command = Command::RedirectAgent {
        id: id.clone(),
        idea,
        new_worktree,
    };
    call.command(command).await?;
    Ok(Done::at(back(call, &id)))
}
