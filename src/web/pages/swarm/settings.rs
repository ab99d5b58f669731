//! The settings: each value, where it comes from and what it means; what is wrong with them; and
//! what a person chooses for the pages.
//!
//! Invariant: values that may be secret are hidden by `Layered::show`, as in `swarm config show`.

use std::path::Path;

use maud::{Markup, html};
use serde_json::Value;

use crate::config::{self, ConfigError, Layered, Origin, schema};
use crate::daemon::owned_arguments;
use crate::domain::event::Event;
use crate::domain::settings::Mode;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::web::document::{Drawing, Page, Place};
use crate::web::frame::shortcuts;
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{clock, many};
use crate::web::preferences::{self, Preferences, Theme, on_off};
use crate::web::touches::Touched;

/// Events that are searched for the last loading of the settings.
const SEARCHED: u64 = 40_000;

/// What the page shows.
pub struct View {
    rows: Vec<Row>,
    problems: Vec<String>,
    mode: Mode,
    /// When the settings in force were loaded, and by which event, if that is not long ago.
    since: Option<(Timestamp, u64)>,
    /// Whether the files hold something else than what is in force.
    is_changed: bool,
}

struct Row {
    key: String,
    value: String,
    /// `None`: it is not known where it came from.
    from: Option<String>,
    meaning: Option<String>,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let (mode, hash) = asked.read(|state| (state.mode(), state.config_hash.clone()));
    let since = loaded_at(asked).await;
    let known = |problems, is_changed| View {
        rows: asked.read(in_force),
        problems,
        mode,
        since,
        is_changed,
    };
    if asked.moment.is_past() {
        return Ok(known(Vec::new(), false));
    }
    let folder = asked.site.api.repo_root.join(".swarm");
    let read = tokio::task::spawn_blocking(move || read(&folder)).await;
    Ok(
        match read.map_err(|error| WebError::failed(error.to_string()))? {
            Ok((layered, problems)) => View {
                rows: rows(&layered, mode),
                problems,
                mode,
                since,
                is_changed: layered.config.hash() != hash,
            },
            // The last settings that were right stay in force.
            Err(error) => known(
                error.problems.iter().map(ToString::to_string).collect(),
                true,
            ),
        },
    )
}

/// The configuration, and what keeps agents from working with it.
fn read(folder: &Path) -> Result<(Layered, Vec<String>), ConfigError> {
    let layered = config::load(folder, config::environment(), vec![])?;
    let problems = owned_arguments(&layered).into_iter();
    let problems = problems.chain(layered.readiness());
    let problems = problems.map(|problem| problem.to_string()).collect();
    Ok((layered, problems))
}

fn rows(layered: &Layered, mode: Mode) -> Vec<Row> {
    let mode = serde_json::to_value(mode).unwrap_or_default();
    let all = layered.show().into_iter();
    all.map(|shown| {
        let is_set_aside = shown.key == "mode" && shown.value != mode;
        let (value, from) = if is_set_aside {
            (&mode, "set while running".to_owned())
        } else {
            (&shown.value, shown.origin.to_string())
        };
        Row {
            value: value.to_string(),
            from: Some(from),
            meaning: schema::meaning(&shown.key),
            key: shown.key,
        }
    })
    .collect()
}

/// What decisions depend on, as the log has it.
fn in_force(state: &State) -> Vec<Row> {
    let settings = serde_json::to_value(&state.settings).unwrap_or_default();
    let mut rows = Vec::new();
    flatten(&settings, "", &mut rows);
    rows
}

fn flatten(value: &Value, key: &str, rows: &mut Vec<Row>) {
    match value.as_object().filter(|object| !object.is_empty()) {
        Some(object) => {
            for (name, value) in object {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                flatten(value, &key, rows);
            }
        }
        None if value.is_null() => {}
        None => rows.push(Row {
            key: key.to_owned(),
            value: value.to_string(),
            from: None,
            meaning: None,
        }),
    }
}

/// The last event that loaded settings, among the latest [`SEARCHED`].
async fn loaded_at(asked: &Asked<'_>) -> Option<(Timestamp, u64)> {
    let last = asked.read(|state| state.seq);
    let handle = &asked.site.api.handle;
    let from = last.saturating_sub(SEARCHED);
    let in_memory = handle.recent_after(handle.forgotten().min(last), usize::MAX);
    let is_one = |seq: u64, event: &Event| {
        seq <= last && matches!(event, Event::SettingsLoaded(_) | Event::ModeSet(_))
    };
    let known = in_memory.unwrap_or_default();
    let found = known.iter().rev().find(|one| is_one(one.seq, &one.event));
    if let Some(found) = found {
        return Some((found.ts, found.seq));
    }
    if asked.is_update {
        return None;
    }
    let log = std::sync::Arc::clone(&asked.site.api.log);
    let count = usize::try_from(last - from).unwrap_or(usize::MAX);
    let read = tokio::task::spawn_blocking(move || log.read(from, count)).await;
    let read = read.ok()?.ok()?;
    let found = read.iter().rev().find(|one| is_one(one.seq, &one.event))?;
    Some((found.ts, found.seq))
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let chosen = preferences::current();
        let main = html! {
            div .head { div {
                h1 { "Settings" }
                p { "Change them with " code { "swarm config set KEY VALUE" } " or in "
                    code { ".swarm/config.json" } ", then reload." }
            } }
            (daemon(drawing, self.mode))
            @if !drawing.moment.is_past() { (choices(drawing, chosen)) }
            (drawing.fragment("f-settings", Touched::SETTINGS, &table(drawing, self)))
            section .sec #keys {
                header { h2 { "Shortcuts" } }
                div .card.say { (shortcuts(drawing)) }
            }
        };
        Page {
            title: "Settings".into(),
            place: Place::Settings,
            main,
        }
    }
}

/// What changes the running daemon.
fn daemon(drawing: &Drawing<'_>, mode: Mode) -> Markup {
    let (other, button, says) = match mode {
        Mode::Autopilot => (
            "semi-auto",
            "Switch to semi-auto",
            "swarm starts ready ideas",
        ),
        Mode::SemiAuto => ("autopilot", "Switch to autopilot", "you start each idea"),
    };
    let fragment = html! { p .sub {
        "Mode: " b { @match mode {
            Mode::Autopilot => "autopilot", Mode::SemiAuto => "semi-auto",
        } } ", " (says) "."
    } };
    html! {
        div .row.wrap.sec2 {
            (drawing.fragment("f-mode", Touched::SETTINGS, &html! {
                (fragment)
                (drawing.form("do/mode", &html! {
                    input type="hidden" name="mode" value=(other);
                    button .b { (button) }
                }))
            }))
            (drawing.form("do/reload", &html! { button .b { "Reload the configuration" } }))
        }
    }
}

/// What a person chooses for the pages in this browser.
fn choices(drawing: &Drawing<'_>, chosen: Preferences) -> Markup {
    let themes = Theme::ALL.map(|theme| {
        let word = match theme {
            Theme::System => "As the system",
            Theme::Light => "Light",
            Theme::Dark => "Dark",
        };
        (theme.as_str(), word, chosen.theme == theme)
    });
    let switch = |is_on: bool| [("on", "On", is_on), ("off", "Off", !is_on)];
    let all: [(&str, &str, &[_]); 3] = [
        ("theme", "Theme", &themes),
        ("keys", "Single-key shortcuts", &switch(chosen.has_keys)),
        ("notify", "Desktop notifications", &switch(chosen.notifies)),
    ];
    html! {
        section .sec aria-labelledby="choices" {
            header { h2 #choices { "This browser" } }
            div .card.choices {
                @for (name, title, values) in all {
                    (drawing.form("do/theme", &html! {
                        b #{ "choice-" (name) } { (title) }
                        input type="hidden" name="back" value="settings";
                        span .row role="group" aria-labelledby={ "choice-" (name) } {
                            @for (value, word, is_chosen) in values {
                                button .b.pri[*is_chosen] name=(name) value=(value)
                                    aria-pressed=(is_chosen) { (word) }
                            }
                        }
                    }))
                }
                p .sub {
                    "With notifications " (on_off(true))
                    ", hidden tabs keep their connection."
                }
            }
        }
    }
}

fn table(drawing: &Drawing<'_>, view: &View) -> Markup {
    let has_sources = view.rows.iter().any(|row| row.from.is_some());
    html! {
        @if !view.problems.is_empty() {
            section .sec {
                header { h2 { (many(view.problems.len(), "problem")) } }
                div .card.say {
                    @for problem in &view.problems { pre .out { (problem) } }
                    @if !has_sources { p {
                        "The files are invalid, so the settings that were loaded last stay in \
                        force. Check them: " code { "swarm config check" }
                    } }
                }
            }
        }
        section .sec {
            header {
                h2 { "Configuration" }
                span {
                    @if let Some((at, seq)) = view.since {
                        "in force since " (clock(at)) ", event " (seq)
                    }
                    @if view.is_changed { " · changed on disk since: reload to use it" }
                }
            }
            @if drawing.moment.is_past() {
                p .sub { "What decisions depended on then, as the log has it." }
            }
            @if view.rows.is_empty() {
                p .sub { "None were loaded yet." }
            } @else {
                div .card.clip { table .fix.stackable.settings {
                    colgroup { col width="27%"; col width="23%"; col width="150"; col; }
                    thead { tr { th { "Key" } th { "Value" } th { "From" } th { "Meaning" } } }
                    tbody { @for row in &view.rows { tr #{ "key-" (row.key) } {
                        td .full { code { (row.key) } }
                        td { code { (row.value) } }
                        td .sub { @match row.from.as_deref() {
                            None => "not recorded",
                            Some(from) if from == Origin::Default.to_string() => {
                                span .dim { (from) }
                            }
                            Some(from) => (from),
                        } }
                        td .sub.full { (row.meaning.as_deref().unwrap_or_default()) }
                    } } }
                } }
            }
        }
    }
}
