//! The approval of a hook that an agent's landed work changed.
//!
//! Invariant: what is approved is the content that the dialog showed, and no other.

use futures_util::FutureExt as _;
use maud::{Markup, html};

use super::call::Call;
use super::dialog::Dialog;
use super::{Action, Done, Watch};
use crate::api::ApiError;
use crate::daemon::files::paths::Paths;
use crate::daemon::hooks::{self, Difference};
use crate::domain::hook::{HookName, approval_wanted};
use crate::domain::ids::IdeaId;
use crate::domain::operation::Command;
use crate::domain::state::State;
use crate::view;
use crate::web::pages::WebError;

/// Longer patches are drawn as plain text.
const MOST_ROWS: usize = 600;

/// See the module.
pub(super) const ACTIONS: &[Action] = &[Action {
    verb: "hook-approve",
    about: Some("hook"),
    ask: Some(|call| ask_approve(call).boxed()),
    act: |call| approve(call).boxed(),
    // The approval is bound to the content.
    watch: |_| Watch::Nothing,
}];

fn hook(call: &Call) -> Result<HookName, WebError> {
    let name = call.id.as_deref().unwrap_or_default();
    name.parse()
        .map_err(|_| WebError::not_found(format!("there is no hook `{name}`")))
}

/// What there is to approve now, with its patch.
async fn difference(call: &Call, hook: HookName) -> Result<(Difference, String), WebError> {
    let paths = Paths::new(&call.site.api.repo_root);
    let state = call.read(State::clone);
    let read = tokio::task::spawn_blocking(move || {
        let found = hooks::difference(&paths, &state, hook).map_err(|error| error.to_string())?;
        let patch = found.patch();
        Ok::<_, String>((found, patch))
    });
    let read = read
        .await
        .map_err(|error| WebError::failed(error.to_string()))?;
    read.map_err(|message| {
        let status = axum::http::StatusCode::CONFLICT;
        let error = ApiError::new(status, "HOOK_UNREADABLE", message);
        error
            .details("nothing was changed")
            .suggest("list the hooks: swarm hooks list")
            .into()
    })
}

async fn ask_approve(call: &Call) -> Result<Dialog, WebError> {
    let hook = hook(call)?;
    let (found, patch) = difference(call, hook).await?;
    let back = call.back(&format!("hooks/{hook}"));
    if found.ideas.is_empty() {
        return Ok(Dialog {
            title: format!("Nothing to approve: {hook}"),
            back,
            says: html! {
                p { "No agent has changed " code { (found.program) } " since it was approved." }
            },
            fields: html! {},
            button: None,
            is_grave: false,
        });
    }
    Ok(Dialog {
        title: format!("Let {hook} run as it is now?"),
        back,
        says: html! {
            p { code { (found.program) } " was changed by " (found.ideas.join(", ")) " and runs \
                with your permissions. You approve this content and no other; merges that wait for \
                it go on." }
            (drawn(&patch))
        },
        fields: html! { input type="hidden" name="content" value=(found.content); },
        button: Some("Approve this content".into()),
        is_grave: true,
    })
}

/// A patch; what a text could hide is shown.
fn drawn(patch: &str) -> Markup {
    let lines: Vec<&str> = patch.lines().collect();
    if lines.is_empty() {
        return html! { p .dim { "The content is the same; only the landings are new." } };
    }
    if lines.len() > MOST_ROWS {
        return html! { pre .patch tabindex="0" { (visible(patch)) } };
    }
    html! {
        div .patch tabindex="0" role="region" aria-label="The change" { table .diff { tbody {
            @for line in lines {
                @let kind = kind(line);
                tr class=[kind] {
                    td .s { (line.chars().next().filter(|_| kind != Some("hunk")).unwrap_or(' ')) }
                    td { (visible(if kind == Some("hunk") { line } else { rest(line) })) }
                }
            }
        } } }
    }
}

fn kind(line: &str) -> Option<&'static str> {
    let is_head = ["diff ", "index ", "--- ", "+++ ", "@@ "];
    if is_head.iter().any(|start| line.starts_with(start)) {
        return Some("hunk");
    }
    match line.chars().next() {
        Some('+') => Some("add"),
        Some('-') => Some("del"),
        Some(_) | None => None,
    }
}

fn rest(line: &str) -> &str {
    let mut letters = line.chars();
    letters.next();
    letters.as_str()
}

/// A text whose invisible characters are named: they could make a program look like another one.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_hidden = letter.is_control() && !matches!(letter, '\n' | '\t')
            || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
            || ('\u{200b}'..='\u{200f}').contains(&letter)
            || ('\u{202a}'..='\u{202e}').contains(&letter)
            || ('\u{2060}'..='\u{2069}').contains(&letter);
        if is_hidden {
            shown.extend(format!("‹U+{:04X}›", u32::from(letter)).chars());
        } else {
            shown.push(letter);
        }
    }
    shown
}

async fn approve(call: &Call) -> Result<Done, WebError> {
    let hook = hook(call)?;
    let (found, _) = difference(call, hook).await?;
    let done = Done::at(call.back(&format!("hooks/{hook}")));
    if !found.ideas.is_empty() {
        let content = call.text("content");
        if content != found.content {
            let status = axum::http::StatusCode::CONFLICT;
            let message = format!("{} has changed since you saw it", found.program);
            let error = ApiError::new(status, "CHANGED", message);
            return Err(error
                .details("look at it once more; nothing was approved")
                .into());
        }
        call.finish(Command::ApproveHook { hook, content }).await?;
    }
    // An approval that was cut off may have left merges waiting, so this is done in any case.
    let freed = release_waiting_merges(call, hook).await?;
    Ok(freed.into_iter().fold(done, |done, id| {
        done.note(format!(
            "the merge of {id} was waiting for this and continues"
        ))
    }))
}

/// Retries the merges that waited for this approval only, and returns their ideas.
async fn release_waiting_merges(call: &Call, hook: HookName) -> Result<Vec<IdeaId>, WebError> {
    let wanted = Some(hook.approval());
    let waiting = call.read(|state| {
        let merges = view::merges(state).into_iter();
        let waits = merges
            .filter(|merge| approval_wanted(merge.reason.as_deref().unwrap_or_default()) == wanted);
        waits.map(|merge| merge.idea_id).collect::<Vec<_>>()
    });
    let mut freed = Vec::new();
    for id in waiting {
        match call.command(Command::RetryMerge { id: id.clone() }).await {
            Ok(_) => freed.push(id),
            // It has left the queue meanwhile.
            Err(error) if error.refusal().code == "NOT_NOW" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(freed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_of_a_hook_are_named() {
        let shown = visible("a\u{202e}b\u{200b}c\r\n\td");
        assert_eq!(shown, "a‹U+202E›b‹U+200B›c‹U+000D›\n\td");
    }

    #[test]
    fn a_patch_is_drawn_as_text() {
        let patch = drawn("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<b>old\n+<script>new\n").into_string();
        assert!(patch.contains("<tr class=\"add\"><td class=\"s\">+</td><td>&lt;script&gt;new"));
        assert!(patch.contains("<tr class=\"del\"><td class=\"s\">-</td><td>&lt;b&gt;old"));
    }
}
