//! Actions on finished work: approve it, land it without a review, send it back, retry its merge,
//! settle its conflict, answer its resolver.

use futures_util::FutureExt as _;
use maud::{Markup, html};

use super::agent::was_said;
use super::call::Call;
use super::dialog::Dialog;
use super::idea::{back, watch_idea};
use super::{Action, Done, Watch, shown};
use crate::api::ApiError;
use crate::daemon::review::Wanted;
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::operation::Command;
use crate::domain::state::State;
use crate::domain::usage::MicroUsd;
use crate::view::{self, ChangedFile, MergeDiff};
use crate::web::pages::WebError;
use crate::web::parts::{commit, many};

/// The most files that a dialog lists.
const MOST_FILES: usize = 200;

/// See the module.
pub(super) const ACTIONS: &[Action] = &[
    Action {
        verb: "approve",
        about: Some("idea"),
        ask: None,
        act: |call| approve(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "land",
        about: Some("idea"),
        ask: Some(|call| ask_land(call).boxed()),
        act: |call| approve(call).boxed(),
        watch: watch_idea,
    },
    Action {
        verb: "reject",
        about: Some("idea"),
        ask: Some(|call| ask_reject(call).boxed()),
        act: |call| reject(call).boxed(),
        watch: watch_idea,
    },
    Action {
        verb: "merge-retry",
        about: Some("idea"),
        ask: None,
        act: |call| retry(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "answer",
        about: Some("idea"),
        ask: None,
        act: |call| answer(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "resolve",
        about: Some("idea"),
        ask: None,
        act: |call| resolve(call).boxed(),
        watch: |_| Watch::Nothing,
    },
];

/// Approves the commit that the person saw.
async fn approve(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    let commit: Oid = match call.text("commit").as_str() {
        "" => return Err(WebError::bad("the commit that you saw is missing")),
        text => text
            .parse()
            .map_err(|_| WebError::bad(format!("`{text}` is no commit")))?,
    };
    let commit = Some(commit);
    let approve = Command::ApproveMerge {
        id: id.clone(),
        commit,
    };
    call.finish(approve).await?;
    Ok(Done::at(back(call, &id)))
}

async fn ask_land(call: &Call) -> Result<Dialog, WebError> {
    let id = call.idea()?;
    call.allowed(&Command::ApproveMerge {
        id: id.clone(),
        commit: None,
    })?;
    let wanted = call.read(|state| Wanted::of(state, &id));
    let wanted = wanted.map_err(ApiError::from)?;
    let diff = call.site.api.control.merge_diff(wanted).await;
    let diff = diff.map_err(WebError::failed)?;
    Ok(Dialog {
        title: format!("Land {id} without a review?"),
        back: back(call, &id),
        says: land_says(&diff),
        fields: html! { input type="hidden" name="commit" value=(diff.source_commit); },
        button: Some(format!("Land {}", many(diff.files.len(), "file"))),
        is_grave: true,
    })
}

fn land_says(diff: &MergeDiff) -> Markup {
    let sum = |count: fn(&ChangedFile) -> Option<u64>| -> u64 {
        diff.files.iter().filter_map(count).sum()
    };
    html! {
        p {
            (many(diff.files.len(), "file")) " with "
            span .plus { "+" (sum(|file| file.insertions)) } " "
            span .minus { "−" (sum(|file| file.deletions)) } " lines land though you have not \
            seen them: commit " (commit(&diff.source_commit)) ". They are checked once more with \
            what is on the target then."
        }
        @if !diff.conflicts.is_empty() {
            p { "In conflict with the target: " (diff.conflicts.join(", ")) ". The resolved work \
                waits for your review again." }
        }
        ul .filelist {
            @for file in diff.files.iter().take(MOST_FILES) { li {
                code .cut title=(file.path) { (file.path) }
                span .num { (counts(file)) }
            } }
        }
        @if diff.files.len() > MOST_FILES {
            p .dim { "and " (diff.files.len() - MOST_FILES) " more" }
        }
    }
}

fn counts(file: &ChangedFile) -> Markup {
    html! {
        @match (file.insertions, file.deletions) {
            (Some(plus), Some(minus)) => {
                span .plus { "+" (plus) } " " span .minus { "−" (minus) }
            },
            _ => span .dim { "binary" },
        }
        @if file.status != "modified" { " " span .tag { (file.status) } }
    }
}

/// What is left for an agent whose work is sent back.
struct Left {
    agent: String,
    iterations: u32,
    budget: Option<String>,
}

impl Left {
    fn of(state: &State, id: &IdeaId) -> Option<Self> {
        let (agent, _) = state.attempt_at(id)?;
        let idea = state.ideas.get(id)?;
        let settings = state.settings.as_deref()?;
        let used = view::used(&idea.used);
        let used = used.usd + used.estimated_usd;
        let limit = settings.budget.usd_per_idea.map(MicroUsd::dollars);
        let left = |limit: f64| {
            let left = (limit - used).max(0.0);
            format!("${left:.2} of ${limit:.2} of the idea's budget are left")
        };
        Some(Self {
            agent: agent.to_string(),
            iterations: settings.max_iterations,
            budget: limit.map(left),
        })
    }

    fn says(&self) -> Markup {
        html! {
            p {
                "It goes to " (self.agent) " as its next prompt, in the same worktree, with all "
                (self.iterations) " iterations and its time again. "
                @match &self.budget {
                    Some(left) => { (left) "." },
                    None => "No budget limits the idea.",
                }
            }
        }
    }
}

async fn ask_reject(call: &Call) -> Result<Dialog, WebError> {
    let id = call.idea()?;
    call.allowed(&Command::RejectMerge {
        id: id.clone(),
        why: "?".into(),
    })?;
    let left = call.read(|state| Left::of(state, &id));
    let lines = call.texts("line");
    Ok(Dialog {
        title: format!("Send {id} back"),
        back: back(call, &id),
        says: left.map(|left| left.says()).unwrap_or_default(),
        fields: html! {
            label for="why" { "What must change" }
            textarea #why name="why" rows="5" required[lines.is_empty()] autofocus {
                "\n" (call.text("why"))
            }
            @for (index, line) in lines.iter().enumerate() {
                label for={ "line-" (index) } { "Comment " (index + 1) " on a line" }
                textarea #{ "line-" (index) } name="line" rows="2" { "\n" (line) }
            }
        },
        button: Some("Send back".into()),
        is_grave: false,
    })
}

/// The comment, with those on single lines below it.
async fn reject(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    let lines = call.texts("line").join("\n");
    let parts = [call.text("why"), lines];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let command = Command::RejectMerge {
        id: id.clone(),
        why: parts.join("\n\n"),
    };
    call.command(command).await?;
    Ok(Done::at(back(call, &id)))
}

async fn retry(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    call.command(Command::RetryMerge { id: id.clone() }).await?;
    Ok(Done::at(back(call, &id)))
}

/// Says the answer to the agent, then lets the resolver try again: its prompt has the answer. It
/// answers the question that its form showed, and no other.
async fn answer(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    let (text, answered) = (call.text("text"), call.text(shown::FIELD));
    let (agent, open) = call.read(|state| {
        let agent = state.entry(&id).map(|entry| entry.agent.clone());
        let open = shown::conflict_question(state, &id);
        (agent, open.map(|(_, question)| question.run.to_string()))
    });
    let retry = Command::RetryMerge { id: id.clone() };
    let (Some(agent), true) = (&agent, open.as_deref() == Some(answered.as_str())) else {
        if let Some(agent) = &agent
            && was_said(call, agent, &text, &answered).await?
        {
            return Ok(Done::at(back(call, &id)));
        }
        call.allowed(&retry)?;
        let message = format!("the question about {id} that you answered is no longer open");
        return Err(shown::changed(message, "your answer was not sent"));
    };
    call.allowed(&retry)?;
    let say = Command::SayToAgent {
        id: agent.clone(),
        text,
    };
    call.command(say).await?;
    call.command(retry).await?;
    Ok(Done::at(back(call, &id)))
}

/// Waits until the resolution has been checked, as the command line does.
async fn resolve(call: &Call) -> Result<Done, WebError> {
    let id = call.idea()?;
    call.finish(Command::ResolveMerge { id: id.clone() })
        .await?;
    Ok(Done::at(back(call, &id)))
}
