//! Actions on the swarm as a whole: pause, resume, mode, reload, stop, and the choice about landed
//! work that a rewritten target lacks.

use std::future::ready;

use futures_util::FutureExt as _;
use maud::{Markup, html};

use super::call::Call;
use super::changes::{self, Watch};
use super::dialog::Dialog;
use super::{Action, Done, shown};
use crate::api::ApiError;
use crate::domain::event::Event;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::operation::{Command, TargetChoice};
use crate::domain::rejection::Rejection;
use crate::domain::settings::Mode;
use crate::domain::state::State;
use crate::view::names;
use crate::web::pages::WebError;
use crate::web::parts::{commit, many};

/// See the module.
pub(super) const ACTIONS: &[Action] = &[
    Action {
        verb: "pause",
        about: None,
        ask: Some(|call| ask_pause(call).boxed()),
        act: |call| pause(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "resume",
        about: None,
        ask: Some(|call| ready(Ok(ask_resume(call))).boxed()),
        act: |call| resume(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "mode",
        about: None,
        ask: None,
        act: |call| set_mode(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "reload",
        about: None,
        ask: None,
        act: |call| reload(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "stop",
        about: None,
        ask: Some(|call| ask_stop(call).boxed()),
        act: |call| stop(call).boxed(),
        watch: |_| Watch::Phase,
    },
    Action {
        verb: "settle-target",
        about: None,
        ask: Some(|call| ask_settle(call).boxed()),
        act: |call| settle(call).boxed(),
        watch: |_| Watch::Target,
    },
];

async fn ask_pause(call: &Call) -> Result<Dialog, WebError> {
    Ok(Dialog {
        title: "Pause the swarm?".into(),
        back: call.back(""),
        says: html! {
            p { "Nothing new starts; agents stop after their current iteration. A pause survives a \
                restart." }
        },
        fields: html! {
            label for="why" { "Why (for whoever looks next)" }
            input #why name="why" value=(call.text("why")) autofocus;
        },
        button: Some("Pause".into()),
        is_grave: false,
    })
}

async fn pause(call: &Call) -> Result<Done, WebError> {
    let reason = Some(call.text("why")).filter(|why| !why.is_empty());
    call.command(Command::Pause { reason }).await?;
    Ok(Done::at(call.back("")))
}

fn ask_resume(call: &Call) -> Dialog {
    let (reason, shown) = call.read(|state| {
        let reason = state.swarm.paused.then(|| state.swarm.pause_reason.clone());
        (reason, shown::pause(state))
    });
    Dialog {
        title: "Resume the swarm?".into(),
        back: call.back(""),
        says: html! {
            @match reason {
                Some(reason) => p { "It is paused: " b { (reason.unwrap_or_default()) } },
                None => p { "It is not paused now." },
            }
            p { "Ideas start again, and accounts and checks that wait for you are tried again." }
        },
        fields: shown::field("resume-now", &shown),
        button: Some("Resume".into()),
        is_grave: false,
    }
}

/// Lifts the pause that was shown, and no other.
async fn resume(call: &Call) -> Result<Done, WebError> {
    let is_other = !shown::is(call, &call.read(shown::pause));
    if is_other || is_paused_again(call).await? {
        let message = "the swarm has been paused or resumed since you saw it";
        return Err(shown::changed(message.into(), "nothing was done"));
    }
    call.command(Command::Resume).await?;
    Ok(Done::at(call.back("")))
}

/// Whether a pause was lifted and another one set since the form was drawn: they may have the same
/// reason.
async fn is_paused_again(call: &Call) -> Result<bool, WebError> {
    let Some(seq) = call.drawn_at() else {
        return Ok(false);
    };
    let events = changes::events_after(&call.site, seq).await?;
    let mut events = events.unwrap_or_default().into_iter();
    let is_lifted = events.any(|event| matches!(event, Event::PauseLifted(_)));
    Ok(is_lifted && events.any(|event| matches!(event, Event::PauseSet(_))))
}

async fn set_mode(call: &Call) -> Result<Done, WebError> {
    let mode = match call.text("mode").as_str() {
        "autopilot" => Mode::Autopilot,
        "semi-auto" => Mode::SemiAuto,
        other => {
            let message = format!("`{other}` is no mode; there are autopilot and semi-auto");
            return Err(WebError::bad(message));
        }
    };
    call.command(Command::SetMode { mode }).await?;
    Ok(Done::at(call.back("settings")))
}

async fn reload(call: &Call) -> Result<Done, WebError> {
    let reloaded = call.site.api.control.reload().await;
    reloaded.map_err(|error| WebError::from(ApiError::from(error)))?;
    Ok(Done::at(call.back("settings")))
}

/// The agents whose iteration runs now, with its number.
fn in_iteration(state: &State) -> Vec<String> {
    let all = state.agents.iter();
    let busy = all.filter(|(_, attempt)| attempt.phase == AttemptPhase::Working);
    busy.map(|(id, attempt)| format!("{id} (iteration {}, {})", attempt.iteration, attempt.idea))
        .collect()
}

async fn ask_stop(call: &Call) -> Result<Dialog, WebError> {
    let busy = call.read(in_iteration);
    let chosen = call.text("how");
    let is_chosen = |how: &str| chosen == how || chosen.is_empty() && how == "gracefully";
    let choices = [
        (
            "gracefully",
            "Let running iterations finish, then stop",
            "Nothing is lost. Agents go on from their worktrees with the next start.",
        ),
        (
            "keep-agents",
            "Stop only the daemon and keep the agents running",
            "They work on under their runners; the next start adopts them.",
        ),
        (
            "now",
            "Stop running iterations at once",
            "What an agent did in this iteration and did not commit stays in its worktree.",
        ),
    ];
    Ok(Dialog {
        title: "Stop the daemon?".into(),
        back: call.back(""),
        says: html! {
            @match busy.len() {
                0 => p { "No agent is in an iteration." },
                1 => p { "In an iteration now: " (busy[0]) "." },
                _ => p {
                    (many(busy.len(), "agent")) " are in an iteration now: " (busy.join(", ")) "."
                },
            }
            p { "This page answers again after " code { "swarm start" } "." }
        },
        fields: html! {
            @for agent in &busy { input type="hidden" name="busy" value=(agent); }
            (radios("How", "how", &choices, &is_chosen))
        },
        button: Some("Stop the daemon".into()),
        is_grave: true,
    })
}

/// A choice of one, each with what it does.
pub(super) fn radios(
    legend: &str,
    name: &str,
    choices: &[(&str, &str, &str)],
    is_chosen: &dyn Fn(&str) -> bool,
) -> Markup {
    html! {
        fieldset .choice {
            legend { (legend) }
            @for (value, words, effect) in choices {
                label {
                    input type="radio" name=(name) value=(value) required
                        checked[is_chosen(value)];
                    span { b { (words) } span .sub { (effect) } }
                }
            }
        }
    }
}

async fn stop(call: &Call) -> Result<Done, WebError> {
    let (command, note) = match call.text("how").as_str() {
        "gracefully" => (
            Command::Shutdown { keep_agents: false },
            "the daemon stops when running iterations have finished",
        ),
        "keep-agents" => (
            Command::Shutdown { keep_agents: true },
            "the daemon stops; its agents keep running",
        ),
        "now" => (Command::ShutdownNow, "the daemon and its agents stop now"),
        _ => return Err(WebError::bad("choose how the daemon stops")),
    };
    same(
        "the agents in an iteration have",
        &call.texts("busy"),
        &call.read(in_iteration),
    )?;
    call.command(command).await?;
    let done = Done::at(call.back("")).note(note);
    Ok(done.note("start it again: swarm start"))
}

/// Refuses a form that showed other entries than there are now.
fn same(what: &str, shown: &[String], now: &[String]) -> Result<(), WebError> {
    let without = |all: &[String], others: &[String]| {
        let rest: Vec<_> = all
            .iter()
            .filter(|one| !others.contains(one))
            .cloned()
            .collect();
        rest.join(", ")
    };
    let (come, gone) = (without(now, shown), without(shown, now));
    let changes = match (come.as_str(), gone.as_str()) {
        ("", "") => return Ok(()),
        (come, "") => format!("new: {come}"),
        ("", gone) => format!("no longer: {gone}"),
        (come, gone) => format!("new: {come}; no longer: {gone}"),
    };
    let message = format!("{what} changed since you saw it");
    Err(shown::changed(
        message,
        format!("{changes}; nothing was done"),
    ))
}

/// The landed ideas whose work the target lacks.
fn missing(state: &State) -> Vec<String> {
    let rewritten = state.swarm.rewritten.iter();
    let dropped = rewritten.flat_map(|rewritten| &rewritten.dropped);
    dropped.map(ToString::to_string).collect()
}

async fn ask_settle(call: &Call) -> Result<Dialog, WebError> {
    let target = call.read(|state| {
        let rewritten = state.swarm.rewritten.as_ref()?;
        let branch = state.settings.as_deref().map(|all| all.target.clone());
        let commits = (rewritten.from.clone(), rewritten.to.clone());
        Some((branch.unwrap_or_default(), commits, missing(state)))
    });
    let Some((branch, (from, to), missing)) = target else {
        let error = Rejection::NotNow {
            what: "choose what happens to missing work".into(),
            why: "the target has all the work that has landed".into(),
            instead: None,
        };
        return Err(ApiError::from(error).into());
    };
    let chosen = call.text("choice");
    let choices = [
        (
            "redo",
            "Do them again",
            "Agents begin them once more, from the target as it is now.",
        ),
        (
            "ignore",
            "Leave them done",
            "Their work stays away, or is there in another shape.",
        ),
        (
            "cancel",
            "Cancel them",
            "Their commits stay under refs/swarm/rescue/.",
        ),
    ];
    Ok(Dialog {
        title: format!("What becomes of the work that {branch} has lost?"),
        back: call.back("train"),
        says: html! {
            p { "The history of " (branch) " was rewritten from " (commit(&from)) " to "
                (commit(&to)) ", and the work of " (names(&missing)) " is missing there." }
            p { "Everything else continues. If you bring the work back, swarm notices." }
        },
        fields: html! {
            @for id in &missing { input type="hidden" name="missing" value=(id); }
            (radios("What to do", "choice", &choices, &|value| chosen == value))
        },
        button: Some("Settle it".into()),
        is_grave: true,
    })
}

async fn settle(call: &Call) -> Result<Done, WebError> {
    let choice = match call.text("choice").as_str() {
        "redo" => TargetChoice::Redo,
        "ignore" => TargetChoice::Ignore,
        "cancel" => TargetChoice::Cancel,
        _ => return Err(WebError::bad("choose what becomes of the missing work")),
    };
    same(
        "the missing work has",
        &call.texts("missing"),
        &call.read(missing),
    )?;
    call.command(Command::SettleTarget { choice }).await?;
    Ok(Done::at(call.back("train")))
}
