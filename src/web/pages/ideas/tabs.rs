//! Parts of an idea's page: the runs with their output, what happened, and what the agent was told.

use std::io::{self, Read as _};
use std::path::Path;

use maud::{Markup, html};

use super::rail::audit;
use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::state::{Audit, State};
use crate::plain_file;
use crate::view::{self, AttemptStory, IdeaDetail, RunPurpose};
use crate::web::document::Drawing;
use crate::web::pages::asked::Asked;
use crate::web::parts::{clock, doing, dollars, many, span};

/// Bytes of a prompt on the page.
const PROMPT_MAX: u64 = 256 << 10;
/// Runs of one attempt on the page.
const RUNS: usize = 60;

/// What happened to an idea.
pub struct History {
    id: IdeaId,
    attempts: Vec<AttemptStory>,
    lines: Vec<Audit>,
}

impl History {
    /// From the state of the moment.
    pub fn of(state: &State, id: &IdeaId, idea: &IdeaDetail) -> Self {
        Self {
            id: id.clone(),
            attempts: view::idea_story(state, id),
            lines: idea.history.clone(),
        }
    }

    /// The run of the latest iteration.
    fn last_iteration(&self) -> Option<&RunId> {
        let runs = self
            .attempts
            .iter()
            .rev()
            .flat_map(|one| one.runs.iter().rev());
        let mut iterations = runs.filter(|run| matches!(run.purpose, RunPurpose::Iteration(_)));
        iterations.next().map(|run| &run.id)
    }
}

/// The runs, newest attempt first, each with a link to its output.
pub fn output(drawing: &Drawing<'_>, history: &History) -> Markup {
    html! {
        @if history.attempts.is_empty() {
            p .sub.sec2 { "No agent has worked on it yet." }
        }
        @for attempt in history.attempts.iter().rev() {
            section .sec {
                header { h2 { "Attempt " (attempt.agent.attempt) } span { (attempt.agent.id) } }
                (runs(drawing, attempt))
            }
        }
    }
}

fn runs(drawing: &Drawing<'_>, attempt: &AttemptStory) -> Markup {
    let agent = &attempt.agent.id;
    let hidden = attempt.runs.len().saturating_sub(RUNS);
    html! {
        @if attempt.runs.is_empty() {
            p .sub { "Nothing has run yet." }
        } @else {
            @if hidden > 0 { p .dim { (many(hidden, "earlier run")) " are with the agent." } }
            ol .card.runs { @for run in attempt.runs.iter().skip(hidden) {
                li {
                    a href=(run_link(drawing, agent, &run.id)) { (purpose(run.purpose)) }
                    " " span .id { (run.id) }
                }
            } }
        }
    }
}

fn run_link(drawing: &Drawing<'_>, agent: &AgentId, run: &RunId) -> String {
    drawing.link(&format!("agents/{agent}?run={run}"))
}

fn purpose(purpose: RunPurpose) -> String {
    match purpose {
        RunPurpose::Iteration(number) => format!("Iteration {number}"),
        RunPurpose::Check(number) => format!("Quality command {number}"),
        RunPurpose::MergeCheck(number) => format!("Quality command {number} on the merged tree"),
        RunPurpose::Setup(number) => format!("Setup command {number}"),
        RunPurpose::Other => "Other run".to_owned(),
    }
}

/// What happened: the attempts with what was said to them, and the audit lines.
pub fn history(drawing: &Drawing<'_>, history: &History) -> Markup {
    html! {
        @for attempt in history.attempts.iter().rev() { (told_attempt(drawing, attempt)) }
        section .sec {
            header {
                h2 { "What happened" } span { "the last " (many(history.lines.len(), "line")) }
            }
            @if history.lines.is_empty() { p .sub { "Nothing has happened yet." } }
            ol .bumps { @for line in &history.lines { li { (audit(line)) } } }
            p .sub {
                a href=(drawing.link(&format!("events?idea={}", history.id))) {
                    "Every event of it"
                }
            }
        }
    }
}

fn told_attempt(drawing: &Drawing<'_>, attempt: &AttemptStory) -> Markup {
    let agent = &attempt.agent;
    let until = agent.ended_at.unwrap_or_else(|| drawing.moment.time());
    html! {
        section .sec {
            header {
                h2 { "Attempt " (agent.attempt) }
                span {
                    a href=(drawing.link(&format!("agents/{}", agent.id))) { (agent.id) }
                    ", profile " (agent.profile)
                }
            }
            dl .facts {
                dt { "Began" } dd { (clock(agent.started_at)) ", took "
                    (span(until.since(agent.started_at))) }
                dt { @if agent.end.is_some() { "End" } @else { "Now" } }
                dd {
                    @match agent.end {
                        Some(end) => { "It " (end) },
                        None => (doing(agent.phase)),
                    }
                    @if let Some(reason) = &agent.reason { ": " (reason) }
                }
                dt { "Iterations" } dd { (agent.iteration) }
                dt { "Runs" } dd { (attempt.runs.len()) }
                @if let Some(cost) = agent.used.as_ref().and_then(dollars) {
                    dt { "Cost" } dd { (cost) }
                }
                @if let Some(to) = &agent.redirected_to {
                    dt { "Goes to" } dd { a href=(drawing.link(&format!("ideas/{to}"))) { (to) } }
                }
            }
            @if !agent.said.is_empty() {
                h3 .sec2 { "What you said to it" }
                ul .list { @for said in &agent.said {
                    li { span .tag { (stage(said.stage)) } span .any { (said.message.text) } }
                } }
            }
        }
    }
}

/// The stage of a message, in words.
fn stage(stage: &str) -> &str {
    match stage {
        "notDelivered" => "not delivered",
        "neverRead" => "never read",
        other => other,
    }
}

/// Reads what the agent was told in the latest iteration. `None`: it has not begun.
pub async fn prompt(asked: &Asked<'_>, history: &History) -> Option<Result<String, String>> {
    let run = history.last_iteration()?;
    let file = asked.site.api.runs_dir.join(run.as_str()).join("prompt.md");
    let read = tokio::task::spawn_blocking(move || beginning(&file)).await;
    Some(match read {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
            Err("It is no longer kept.".to_owned())
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    })
}

fn beginning(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    plain_file::open(file)?
        .take(PROMPT_MAX)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the agent was told.
pub fn told(prompt: Option<&Result<String, String>>) -> Markup {
    html! {
        @match prompt {
            None => p .sub.sec2 { "No agent has been told anything yet." },
            Some(Err(why)) => p .sub.sec2 { "The prompt cannot be shown: " (why) },
            Some(Ok(text)) => pre .card.prompt.sec2 tabindex="0" aria-label="Prompt" { (text) },
        }
    }
}
