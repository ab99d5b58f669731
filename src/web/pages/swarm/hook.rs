//! One hook: whether it may run, its last call with its output, and a change by an agent that needs
//! approval.

use std::io::{self, Read as _};
use std::path::Path;

use maud::{Markup, html};

use super::hooks::{last_call, may_run};
use crate::daemon::Paths;
use crate::daemon::hooks::{self, HookView};
use crate::domain::hook::{HookName, LastCall};
use crate::domain::ids::RunId;
use crate::domain::state::State;
use crate::plain_file;
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::many;
use crate::web::touches::Touched;

/// The most that is shown of a call's output, in bytes of each stream.
const MAX_OUTPUT: u64 = 64 * 1024;
/// The most lines of a change that are shown.
const MAX_LINES: usize = 1_000;

/// What the page shows.
pub struct View {
    name: HookName,
    /// As it is now; `None` if there is no such hook, or for an earlier moment.
    now: Option<HookView>,
    is_past: bool,
    last: Option<LastCall>,
    /// The last call's streams with their names.
    output: Vec<(&'static str, String)>,
    change: Option<Change>,
}

/// What an agent changed, and nobody approved.
struct Change {
    ideas: Vec<String>,
    /// As a patch.
    patch: String,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>, name: &str) -> Result<View, WebError> {
    let known = HookName::ALL.into_iter().find(|hook| hook.as_str() == name);
    let name = known.ok_or_else(|| {
        let all = HookName::ALL.map(HookName::as_str);
        let near = crate::config::nearest(name, all).map(|near| format!("; do you mean `{near}`?"));
        let near = near.unwrap_or_default();
        WebError::not_found(format!("there is no hook `{name}`{near}"))
    })?;
    let is_past = asked.moment.is_past();
    let last = asked.read(|state| state.hooks_last.get(&name).cloned());
    let runs = asked.site.api.runs_dir.clone();
    let run = last.as_ref().and_then(|last| last.run.clone());
    let now = if is_past {
        None
    } else {
        let all = asked.site.api.control.hooks().await;
        let mut all = all.map_err(WebError::failed)?.into_iter();
        all.find(|hook| hook.hook == name)
    };
    // A refused hook may be one that an agent changed; git tells, and the state's approvals.
    let is_refused = now.as_ref().is_some_and(|hook| !hook.approved);
    let state = is_refused.then(|| asked.read(State::clone));
    let root = asked.site.api.repo_root.clone();
    let read = tokio::task::spawn_blocking(move || {
        let output = run.map(|run| output(&runs, &run)).unwrap_or_default();
        let change = state.and_then(|state| change(&root, &state, name));
        (output, change)
    });
    let (output, change) = read
        .await
        .map_err(|error| WebError::failed(error.to_string()))?;
    Ok(View {
        name,
        now,
        is_past,
        last,
        output,
        change,
    })
}

/// What there is to approve; `None` if the hook is refused for another reason.
fn change(root: &Path, state: &State, name: HookName) -> Option<Change> {
    let found = hooks::difference(&Paths::new(root), state, name).ok()?;
    (!found.ideas.is_empty()).then(|| Change {
        patch: found.patch(),
        ideas: found.ideas,
    })
}

/// The streams of a call that have any text; one that was cleaned up has none.
fn output(runs: &Path, run: &RunId) -> Vec<(&'static str, String)> {
    let files = [("Output", "stdout.log"), ("Errors", "stderr.log")];
    let read = |name: &str| -> io::Result<String> {
        let mut bytes = Vec::new();
        let file = plain_file::open(&runs.join(run.as_str()).join(name))?;
        file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let all = files.into_iter().filter_map(|(title, name)| {
        let text = read(name).ok()?;
        (!text.trim().is_empty()).then_some((title, text))
    });
    all.collect()
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let name = self.name.as_str();
        let all = html! {
            div .head { div {
                h1 { "Hook " (name) }
                p { (self.name.description()) }
            } }
            (self.facts())
            (self.change(drawing))
            (self.calls())
        };
        Page {
            title: format!("Hook {name}"),
            place: Place::Hooks,
            main: drawing.fragment("f-hook", Touched::HOOKS, &all),
        }
    }
}

impl View {
    fn facts(&self) -> Markup {
        html! { div .card.say {
            @match &self.now {
                Some(hook) => {
                    p { "May run: " (may_run(Some(hook.approved))) }
                    @if let Some(why) = &hook.refused { p { (why) } }
                    p .sub {
                        code { (hook.program) } ", from the " (hook.from) "; a call may take "
                        (hook.timeout_seconds) " s."
                        @if self.name.can_veto() { " A failure holds its step." }
                    }
                    @if hook.waiting > 0 { p .sub { (many(hook.waiting, "call")) " waiting." } }
                }
                None if self.is_past => p .sub {
                    "The log records the calls of hooks, and not their programs."
                },
                None => p {
                    "There is none. Add an executable file " code {
                        ".swarm/hooks/" (self.name.as_str()) ".sh"
                    } "."
                },
            }
            @if self.now.is_some() {
                p .sub { "Try it: " code { "swarm hooks run " (self.name.as_str()) } }
            }
        } }
    }

    fn change(&self, drawing: &Drawing<'_>) -> Markup {
        let Some(change) = &self.change else {
            return html! {};
        };
        let action = format!("do/hook-approve/{}", self.name.as_str());
        html! { section .sec {
            header {
                h2 { "Changed by " (change.ideas.join(", ")) }
                (drawing.ask(&action, "b pri", &html! { "Approve" }))
            }
            (lines(&change.patch))
        } }
    }

    fn calls(&self) -> Markup {
        let has_run = self.last.as_ref().is_some_and(|last| last.run.is_some());
        html! { section .sec {
            header { h2 { "Last call" } }
            p { (last_call(self.last.as_ref())) }
            @if has_run && self.output.is_empty() {
                p .sub { "It printed nothing, or its output is no longer kept." }
            }
            @for (title, text) in &self.output {
                h3 { (title) }
                pre .out tabindex="0" { (text) }
            }
        } }
    }
}

fn lines(patch: &str) -> Markup {
    let count = patch.lines().count();
    let shown = patch.lines().take(MAX_LINES).map(|line| {
        let class = match line.as_bytes().first() {
            Some(b'+') if !line.starts_with("+++") => "add",
            Some(b'-') if !line.starts_with("---") => "del",
            Some(b'@') => "hunk",
            _ => "",
        };
        (class, line)
    });
    html! {
        div .card.clip { table .diff { tbody {
            @for (class, line) in shown { tr class=(class) { td { (line) } } }
        } } }
        @if count > MAX_LINES { p .sub { (count - MAX_LINES) " more lines." } }
    }
}
