//! The settings: each value, where it comes from and what it means; what is wrong with them; and
//! what a person chooses for the pages.
//!
//! Invariant: values that may be secret are hidden by `Layered::show`, as in `swarm config show`.

use std::path::Path;

use maud::{Markup, html};

use crate::config::{self, ConfigError, Layered, Origin, schema};
use crate::daemon::owned_arguments;
use crate::domain::settings::Mode;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::history::leaves;
use crate::web::document::{Drawing, Page, Place};
use crate::web::frame::shortcuts;
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{clock, many};
use crate::web::preferences::{self, Preferences, Theme, on_off};
use crate::web::touches::Touched;

/// Keys of the configuration, and their names in the log where these differ.
const IN_THE_LOG: [(&str, &str); 26] = [
    ("agents.maxParallel", "maxParallel"),
    ("agents.timeoutMinutes", "attemptTimeoutMs"),
    ("agents.profile", "defaultProfile"),
    ("agents.failuresToPause", "failuresToPause"),
    ("agents.crashRetries", "crashRetries"),
    ("agents.providerWaitMinutes", "providerWaitMs"),
    ("completion.maxIterations", "maxIterations"),
    ("completion.stuckThreshold", "stuckThreshold"),
    ("completion.sameCheckFailures", "sameCheckFailures"),
    ("completion.autoCommit", "autoCommit"),
    ("completion.resume", "resumeSessions"),
    ("worktree.setup", "setup"),
    ("qualityTimeoutMinutes", "qualityTimeoutMs"),
    ("checks.baseline", "baseline"),
    ("checks.canary", "canary"),
    ("merge.autoMerge", "autoMerge"),
    ("merge.verify", "verify"),
    ("merge.conflictRetries", "conflictRetries"),
    ("merge.cleanupOnSuccess", "cleanupOnSuccess"),
    ("merge.resolver", "resolver"),
    ("shutdown.graceSeconds", "graceMs"),
    ("checkpoints.periodic", "checkpointEvery"),
    ("checkpoints.beforeAutopilot", "checkpointBeforeAutopilot"),
    ("checkpoints.tag", "checkpointTag"),
    ("checkpoints.keep", "checkpointsKept"),
    ("limits.autoResume", "autoResume"),
];

/// What the page shows.
pub struct View {
    rows: Vec<Row>,
    problems: Vec<String>,
    mode: Mode,
    /// Whether the files hold something else than what is in force.
    is_changed: bool,
}

struct Row {
    key: String,
    value: String,
    /// `None`: it is not known where it came from.
    from: Option<String>,
    meaning: Option<String>,
    /// When it got this value, and by which event, if the log tells.
    since: Option<(u64, Timestamp)>,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let mut view = load_values(asked).await?;
    // What is in the files is not in force yet.
    if !view.is_changed || view.rows.iter().all(|row| row.from.is_none()) {
        let seq = asked.read(|state| state.seq);
        asked.site.chronicle.read(|history| {
            for row in &mut view.rows {
                row.since = history.settings.of(in_the_log(&row.key), seq);
            }
        });
    }
    Ok(view)
}

fn in_the_log(key: &str) -> &str {
    let found = IN_THE_LOG.iter().find(|(configured, _)| *configured == key);
    found.map_or(key, |(_, logged)| logged)
}

async fn load_values(asked: &Asked<'_>) -> Result<View, WebError> {
    let (mode, hash) = asked.read(|state| (state.mode(), state.config_hash.clone()));
    let known = |problems, is_changed| View {
        rows: asked.read(in_force),
        problems,
        mode,
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
            since: None,
            key: shown.key,
        }
    })
    .collect()
}

/// What decisions depend on, as the log has it.
fn in_force(state: &State) -> Vec<Row> {
    let settings = serde_json::to_value(&state.settings).unwrap_or_default();
    let all = leaves(&settings).into_iter();
    all.map(|(key, value)| Row {
        key,
        value: value.to_string(),
        from: None,
        meaning: None,
        since: None,
    })
    .collect()
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
                @if view.is_changed { span { "changed on disk: reload to use it" } }
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
                        td .sub {
                            @match row.from.as_deref() {
                                None => "not recorded",
                                Some(from) if from == Origin::Default.to_string() => {
                                    span .dim { (from) }
                                }
                                Some(from) => (from),
                            }
                            @if let Some((seq, at)) = row.since {
                                span .dim.nw title={ "event " (seq) } { ", since " (clock(at)) }
                            }
                        }
                        td .sub.full { (row.meaning.as_deref().unwrap_or_default()) }
                    } } }
                } }
            }
        }
    }
}
