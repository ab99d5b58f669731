//! What needs a person, each with the ways to answer it in place.
//!
//! Invariant: an item's element has an id of its own, and its answer form is the same bytes for as
//! long as the need is (another question is another field), so that a live update of other needs
//! does not touch what somebody types.

use maud::{Markup, html};

use crate::domain::attention::NeedKey;
use crate::domain::hook::HookName;
use crate::domain::ids::IdeaId;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::{self, NeedsYou};
use crate::web::actions::shown;
use crate::web::document::Drawing;
use crate::web::parts::{commands, icon, span, tinted, title};

/// Needs in a list; the most urgent come first.
const SHOWN: usize = 20;

/// Something that needs a person.
#[derive(Debug, Clone)]
pub struct Item {
    key: NeedKey,
    need: NeedsYou,
    title: String,
    since: Option<Timestamp>,
    /// What its form carries, so that an answer reaches nothing else.
    shown: String,
}

impl Item {
    /// Whether finished work waits for a person to look at it.
    pub fn is_review(&self) -> bool {
        matches!(self.key, NeedKey::Review { .. })
    }

    /// Whether a resolver asks about a conflict, and an answer reaches it.
    fn is_conflict_question(&self) -> bool {
        matches!(self.key, NeedKey::Conflict { .. }) && !self.shown.is_empty()
    }
}

/// What needs a person in this state, most urgent first.
pub fn items(state: &State) -> Vec<Item> {
    let needs = view::needs_with_keys(state).into_iter();
    needs
        .map(|(key, need)| {
            let id = need.idea_id.as_ref();
            let idea = id.and_then(|id| state.ideas.get(id));
            Item {
                title: idea.map_or_else(String::new, |idea| title(&idea.text).to_owned()),
                since: id.and_then(|id| since(state, &key, id)),
                shown: shown_by(state, &key),
                key,
                need,
            }
        })
        .collect()
}

/// The items about one idea.
pub fn items_of(state: &State, id: &IdeaId) -> Vec<Item> {
    let all = items(state).into_iter();
    all.filter(|item| item.need.idea_id.as_ref() == Some(id))
        .collect()
}

/// What the form of an item is about, see [`shown`].
fn shown_by(state: &State, key: &NeedKey) -> String {
    match key {
        NeedKey::Baseline { .. }
        | NeedKey::Blind { .. }
        | NeedKey::Paused
        | NeedKey::Worktrees
        | NeedKey::Account { .. }
        | NeedKey::Profile { .. } => shown::pause(state),
        NeedKey::Question { agent } => {
            let question = shown::question(state, agent);
            question.map_or_else(String::new, |(run, _)| run.to_string())
        }
        NeedKey::Failed { idea } | NeedKey::Blocked { idea } => shown::idea(state, idea),
        NeedKey::WaitsInVain { after, .. } => shown::idea(state, after),
        NeedKey::Conflict { idea } => {
            let question = shown::conflict_question(state, idea);
            question.map_or_else(String::new, |(_, question)| question.run.to_string())
        }
        NeedKey::Rewritten { .. }
        | NeedKey::Review { .. }
        | NeedKey::Merge { .. }
        | NeedKey::Checkout { .. } => String::new(),
    }
}

fn since(state: &State, key: &NeedKey, id: &IdeaId) -> Option<Timestamp> {
    match key {
        NeedKey::Conflict { .. }
        | NeedKey::Review { .. }
        | NeedKey::Merge { .. }
        | NeedKey::Checkout { .. } => state.entry(id).map(|entry| entry.queued_at),
        NeedKey::Failed { .. } | NeedKey::Blocked { .. } => {
            state.ideas.get(id)?.audit.last().map(|line| line.at)
        }
        NeedKey::Rewritten { .. }
        | NeedKey::Baseline { .. }
        | NeedKey::Blind { .. }
        | NeedKey::Paused
        | NeedKey::Worktrees
        | NeedKey::Account { .. }
        | NeedKey::Profile { .. }
        | NeedKey::Question { .. }
        | NeedKey::WaitsInVain { .. } => None,
    }
}

/// The list of needs.
pub fn list(drawing: &Drawing<'_>, items: &[Item]) -> Markup {
    let more = items.len().saturating_sub(SHOWN);
    html! {
        ul .card.needs {
            @for item in items.iter().take(SHOWN) {
                li id=(name(&item.key)) { (entry(drawing, item)) }
            }
        }
        @if more > 0 {
            p .sub { (more) " more need you. "
                a href=(drawing.link("ideas?status=failed")) { "Failed ideas" } " · "
                a href=(drawing.link("train")) { "Merge train" }
            }
        }
    }
}

/// An id for its element, which stays while it is the same need.
fn name(key: &NeedKey) -> String {
    match key {
        NeedKey::Rewritten { .. } => "need-target".into(),
        NeedKey::Baseline { .. } => "need-baseline".into(),
        NeedKey::Blind { command } => {
            format!(
                "need-blind-{}",
                id_letters(command.as_deref().unwrap_or("all"))
            )
        }
        NeedKey::Paused => "need-paused".into(),
        NeedKey::Account { account } => format!("need-account-{}", id_letters(account)),
        NeedKey::Worktrees => "need-worktrees".into(),
        NeedKey::Profile { profile } => format!("need-profile-{profile}"),
        NeedKey::Question { agent } => format!("need-question-{agent}"),
        NeedKey::Conflict { idea } => format!("need-conflict-{idea}"),
        NeedKey::Review { idea } => format!("need-review-{idea}"),
        NeedKey::Merge { idea, .. } => format!("need-merge-{idea}"),
        NeedKey::Checkout { idea, .. } => format!("need-checkout-{idea}"),
        NeedKey::Failed { idea } => format!("need-failed-{idea}"),
        NeedKey::Blocked { idea } => format!("need-blocked-{idea}"),
        NeedKey::WaitsInVain { idea, .. } => format!("need-in-vain-{idea}"),
    }
}

/// The text with `-` for whatever an id should not have.
fn id_letters(text: &str) -> String {
    let safe = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    text.chars().map(safe).collect()
}

fn entry(drawing: &Drawing<'_>, item: &Item) -> Markup {
    let (shape, words) = if item.is_conflict_question() {
        ("ask", "asks you about a conflict")
    } else {
        heading(&item.key)
    };
    let time = drawing.moment.time();
    let is_question = matches!(item.key, NeedKey::Question { .. });
    let actions = actions(drawing, item);
    html! {
        (tinted(shape, "wait"))
        h3 {
            @match &item.need.idea_id {
                Some(id) => {
                    a href=(drawing.link(&format!("ideas/{id}"))) { (item.title) " " (words) }
                    " " span .id { (id) }
                }
                None => (words),
            }
            @if let Some(since) = item.since {
                " " span .age { (span(time.since(since))) }
            }
        }
        div .what {
            (item.need.message)
            @if !is_question && !item.need.commands.is_empty() {
                details { summary { "Commands" } (commands(&item.need.commands)) }
            }
        }
        @if !drawing.moment.is_past() {
            @let has_box = is_question || item.is_conflict_question();
            div class=(if has_box { "do" } else { "acts" }) { (actions) }
        }
    }
}

/// The icon and the words of a heading.
fn heading(key: &NeedKey) -> (&'static str, &'static str) {
    match key {
        NeedKey::Rewritten { .. } => ("warn", "Landed work is missing on the target"),
        NeedKey::Baseline { .. } => ("warn", "The target does not pass its own checks"),
        NeedKey::Blind { .. } => ("warn", "A check cannot be trusted"),
        NeedKey::Paused => ("pause", "The swarm is paused"),
        NeedKey::Account { .. } => ("clock", "An account needs you"),
        NeedKey::Worktrees => ("warn", "No worktree can be made"),
        NeedKey::Profile { .. } => ("clock", "An agent's program cannot begin"),
        NeedKey::Question { .. } => ("ask", "asks you"),
        NeedKey::Conflict { .. } => ("fork", "has a conflict only you can settle"),
        NeedKey::Review { .. } => ("eye", "is ready to land"),
        NeedKey::Merge { .. } => ("half", "cannot land"),
        NeedKey::Checkout { .. } => ("half", "cannot land: your checkout is in the way"),
        NeedKey::Failed { .. } => ("x", "failed"),
        NeedKey::Blocked { .. } => ("stopped", "is blocked"),
        NeedKey::WaitsInVain { .. } => ("stopped", "waits for an idea that is cancelled"),
    }
}

/// What to do about it, the likeliest last.
fn actions(drawing: &Drawing<'_>, item: &Item) -> Markup {
    match &item.key {
        NeedKey::Rewritten { .. } => drawing.ask("do/settle-target", "b", &html! { "Decide…" }),
        NeedKey::Baseline { .. } => resume(drawing, item, "Check again"),
        NeedKey::Blind { .. } => resume(drawing, item, "Probe again"),
        NeedKey::Paused => resume(drawing, item, "Resume"),
        NeedKey::Worktrees | NeedKey::Account { .. } | NeedKey::Profile { .. } => {
            resume(drawing, item, "Try again")
        }
        NeedKey::Question { agent } => html! {
            (question(drawing, item, ("say", agent.as_str()), agent.as_str()))
            a .b.quiet href=(drawing.link(&format!("agents/{agent}"))) { "Open" }
        },
        NeedKey::Review { idea } => review(drawing, idea, &item.need),
        NeedKey::Conflict { idea } => html! {
            @if item.is_conflict_question() {
                (question(drawing, item, ("answer", idea.as_str()), "the resolver"))
            }
            (button(drawing, "merge-retry", idea, "b quiet", "Try again"))
            (button(drawing, "resolve", idea, "b", "I settled it"))
        },
        NeedKey::Merge { idea, .. } | NeedKey::Checkout { idea, .. } => html! {
            (cancel(drawing, idea))
            (hook(drawing, &item.need))
            (button(drawing, "merge-retry", idea, "b", "Try again"))
        },
        NeedKey::Failed { idea } | NeedKey::Blocked { idea } => html! {
            (cancel(drawing, idea))
            (edit(drawing, idea))
            (hook(drawing, &item.need))
            (retry(drawing, item, idea, "Retry"))
        },
        NeedKey::WaitsInVain { idea, after } => html! {
            (cancel(drawing, idea))
            (edit(drawing, idea))
            (retry(drawing, item, after, &format!("Retry {after}")))
        },
    }
}

/// The box for an answer to `who`, which goes on then.
fn question(drawing: &Drawing<'_>, item: &Item, (verb, id): (&str, &str), who: &str) -> Markup {
    let body = html! {
        (carried(item))
        input id={ "answer-" (id) "-" (item.shown) } name="text" required
            autocomplete="off" aria-label={ "Answer to " (who) }
            placeholder="Answer; it goes on at once";
        button .b.pri { "Send" }
    };
    drawing.form(&format!("do/{verb}/{id}"), &body)
}

fn review(drawing: &Drawing<'_>, idea: &IdeaId, need: &NeedsYou) -> Markup {
    let approve = need.commit.as_ref().map(|commit| {
        html! {
            input type="hidden" name="commit" value=(commit.as_str());
            button .b.quiet { "Approve" }
        }
    });
    html! {
        (drawing.ask(&format!("do/reject/{idea}"), "b quiet", &html! { "Send back…" }))
        @if let Some(approve) = &approve {
            (drawing.form(&format!("do/approve/{idea}"), approve))
        }
        a .b href=(drawing.link(&format!("ideas/{idea}?tab=changes"))) { "Review" }
    }
}

/// What the item's form carries.
fn carried(item: &Item) -> Markup {
    shown::field(&format!("{}-shown", name(&item.key)), &item.shown)
}

fn resume(drawing: &Drawing<'_>, item: &Item, words: &str) -> Markup {
    let body = html! { (carried(item)) button .b { (icon("play")) (words) } };
    drawing.form("do/resume", &body)
}

fn retry(drawing: &Drawing<'_>, item: &Item, id: &IdeaId, words: &str) -> Markup {
    let body = html! { (carried(item)) button .b { (words) } };
    drawing.form(&format!("do/retry/{id}"), &body)
}

fn button(drawing: &Drawing<'_>, verb: &str, id: &IdeaId, classes: &str, words: &str) -> Markup {
    drawing.form(
        &format!("do/{verb}/{id}"),
        &html! { button class=(classes) { (words) } },
    )
}

fn cancel(drawing: &Drawing<'_>, idea: &IdeaId) -> Markup {
    drawing.ask(
        &format!("do/cancel/{idea}"),
        "b quiet",
        &html! { "Cancel…" },
    )
}

fn edit(drawing: &Drawing<'_>, idea: &IdeaId) -> Markup {
    drawing.ask(&format!("do/edit/{idea}"), "b quiet", &html! { "Edit…" })
}

/// The way to approve the hook that holds it, if one does.
fn hook(drawing: &Drawing<'_>, need: &NeedsYou) -> Markup {
    let holds = |hook: &HookName| need.commands.contains(&hook.approval());
    let hook = HookName::ALL.into_iter().find(holds);
    html! {
        @if let Some(hook) = hook {
            (drawing.ask(&format!("do/hook-approve/{hook}"), "b", &html! { "Approve the hook…" }))
        }
    }
}
