//! What surrounds every page: header, navigation, time bar.
//!
//! Invariant: its counts come from the same views as the command line's.

mod navigation;
mod past;
mod shortcuts;

pub use shortcuts::shortcuts;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::domain::ids::CheckpointName;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::settings::Mode;
use crate::domain::state::State;
use crate::domain::state::checkpoint::RollbackStep;
use crate::domain::time::Timestamp;
use crate::view::{self, TargetNow, WarningView};
use crate::web::actions::shown;
use crate::web::assets::{self, TabIcon};
use crate::web::document::{Drawing, Page, Place, encoded};
use crate::web::pages::Route;
use crate::web::palette;
use crate::web::parts::{commands, icon, phase, tinted};
use crate::web::preferences::{self, Theme};
use crate::web::time::bar::{Shown, time_bar};
use crate::web::touches::Touched;
use crate::web::{DemoRun, Site};

/// The icons that [`icon`] refers to.
const ICONS: &str = include_str!("../assets/icons.svg");

/// Written in full: the short form of htmx would make the list of attributes a string.
const HTMX: &str = concat!(
    r#"{"morphIgnore":["data-htmx-powered","open","value","checked","tabindex"],"#,
    r#""history":false,"includeIndicatorCSS":false}"#
);

/// What the frame shows of a state.
#[derive(Debug, Clone)]
pub struct FrameView {
    phase: SwarmPhase,
    mode: Mode,
    slots: view::SlotsView,
    needs: usize,
    ideas: usize,
    agents: usize,
    train: usize,
    checkpoints: usize,
    learnings: usize,
    facts: usize,
    spent_today: Option<String>,
    budget_today: Option<String>,
    checkpoint: Option<CheckpointName>,
    seq: u64,
    last_seq: u64,
    at: Timestamp,
    rollback: Option<(CheckpointName, RollbackStep)>,
    pause_reason: Option<String>,
    /// What the button to resume lifts.
    pause: String,
    notices: Vec<WarningView>,
}

impl FrameView {
    /// The frame's view of a state; `last_seq` is the log's last event now.
    pub fn of(state: &State, last_seq: u64) -> Self {
        let settings = state.settings.as_deref();
        let today = state.used.get(&state.swarm.last_event_at.day());
        let budget = settings.and_then(|settings| settings.budget.usd_per_day);
        Self {
            phase: state.swarm.phase,
            mode: state.mode(),
            slots: view::SlotsView {
                used: state.slots_used(),
                max: settings.map_or(0, |settings| settings.max_parallel as usize),
            },
            needs: view::needs_you(state).len(),
            ideas: state.ideas.iter().count(),
            agents: state.agents.len(),
            train: state.queue.len(),
            checkpoints: state.checkpoints.len(),
            learnings: state.learnings.len(),
            facts: view::memory::fact_count(state),
            spent_today: today.and_then(|used| crate::web::parts::dollars(&view::used(used))),
            budget_today: budget.map(|budget| format!("${:.2}", budget.dollars())),
            checkpoint: state
                .checkpoints
                .iter()
                .max_by_key(|(_, one)| one.created_at)
                .map(|(name, _)| name.clone()),
            seq: state.seq,
            last_seq,
            at: state.swarm.last_event_at,
            rollback: state
                .rollback
                .as_deref()
                .map(|rollback| (rollback.to.clone(), rollback.step)),
            pause_reason: state.swarm.pause_reason.clone(),
            pause: shown::pause(state),
            notices: view::standstills(state, &TargetNow::Unknown, None),
        }
    }

    /// Adds what the state does not know: whether the target is there, and the log can be written.
    pub async fn look_outside(&mut self, site: &Site) {
        let (target, stalled) = (site.target().await, site.api.handle.stalled());
        let handle = &site.api.handle;
        self.notices = handle.read(|state| view::standstills(state, &target, stalled));
    }

    fn tab_icon(&self, is_past: bool) -> TabIcon {
        match self.phase {
            _ if is_past => TabIcon::Past,
            SwarmPhase::Paused
            | SwarmPhase::Pausing
            | SwarmPhase::Draining
            | SwarmPhase::Stopped => TabIcon::Paused,
            SwarmPhase::Running | SwarmPhase::Recovering | SwarmPhase::RollingBack => {
                if self.needs > 0 {
                    TabIcon::Waiting
                } else {
                    TabIcon::Running
                }
            }
        }
    }
}

/// A whole page.
pub fn document(drawing: &Drawing<'_>, page: &Page, view: &FrameView) -> Markup {
    let name = &drawing.site.name;
    let needs = if view.needs > 0 {
        format!("({}) ", view.needs)
    } else {
        String::new()
    };
    let chosen = preferences::current();
    let theme = match chosen.theme {
        Theme::System => None,
        Theme::Light | Theme::Dark => Some(chosen.theme.as_str()),
    };
    let tab_icon = assets::icon(view.tab_icon(drawing.moment.is_past()));
    html! {
        (DOCTYPE)
        html lang="en" class=[drawing.moment.is_past().then_some("is-past")] data-theme=[theme]
            data-base=(drawing.live_link("")) data-keys=(preferences::on_off(chosen.has_keys))
            data-notify=(preferences::on_off(chosen.notifies)) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="htmx-config" content=(HTMX);
                title { (needs) (page.title) " · " (name) " · swarm" }
                link rel="icon" type="image/svg+xml" href=(drawing.live_link(&tab_icon));
                link rel="stylesheet" href=(drawing.live_link(&assets::style()));
                @for script in assets::scripts(page.place) {
                    script src=(drawing.live_link(&script)) defer {}
                }
            }
            body {
                (PreEscaped(ICONS))
                a .skip href="#main" { "Skip to content" }
                (header(drawing, view))
                (navigation::navigation(drawing, page.place, view))
                main #main tabindex="-1" {
                    (past::bar(drawing, view))
                    (connection(drawing))
                    (drawing.fragment("f-notices", Touched::STATUS, &notices(drawing, view)))
                    (drawing.fragment(
                        "f-rollback",
                        Touched::STATUS | Touched::CHECKPOINTS,
                        &rollback(drawing, view),
                    ))
                    (page.main)
                }
                (time_bar(drawing, &Shown {
                    seq: view.seq,
                    last_seq: view.last_seq,
                    at: view.at,
                }))
                (dialogs(drawing))
                p #announce .vh role="status" {}
                (stream(drawing, page.place, view))
            }
        }
    }
}

/// The steps of a rollback under way.
fn rollback(drawing: &Drawing<'_>, view: &FrameView) -> Markup {
    const STEPS: [(RollbackStep, &str); 5] = [
        (RollbackStep::Checking, "Check the checkpoint"),
        (RollbackStep::Stopping, "Stop the agents"),
        (RollbackStep::Saving, "Save the present state"),
        (RollbackStep::Moving, "Move the target"),
        (RollbackStep::Restoring, "Restore the ideas"),
    ];
    let Some((to, now)) = &view.rollback else {
        return html! {};
    };
    html! {
        div .card.under-way role="status" {
            b { "Rolling back to "
                a href=(drawing.link(&format!("checkpoints/{to}"))) { (to) } }
            ol .steps { @for (step, words) in STEPS {
                li .is-done[step < *now] .is-now[step == *now]
                    aria-current=[(step == *now).then_some("step")] {
                    @if step < *now { (icon("ok")) }
                    @else if step == *now { (icon("half")) }
                    (words)
                }
            } }
        }
    }
}

/// What the script shows when the stream ends: the page stays readable.
fn connection(drawing: &Drawing<'_>) -> Markup {
    html! {
        @if let Some(run) = drawing.site.demo_run { (demo_over(drawing, run)) }
        p #gone .note.note-bad role="status" hidden {
            "No answer since " time {} "; agents work on under their runners. Start the daemon: "
            code { "swarm start" }
        }
        p #signed-out .note.note-bad role="status" hidden {
            "You are signed out, so this page no longer changes. Make a new link: "
            code { "swarm open" }
        }
        p #crowded .note role="status" hidden {
            "Five newer tabs are open. This one asks every 5 s."
        }
    }
}

/// What is shown in place of an error when a demo has ended.
fn demo_over(drawing: &Drawing<'_>, run: DemoRun) -> Markup {
    let root = drawing.site.api.repo_root.display();
    let command = |command: &str| commands(&[command.to_owned()]);
    html! {
        div #demo-over .note role="status" hidden {
            p { b { "The demo is over." } " This page stays as it was at its end." }
            @if run.is_kept {
                p { "Its repository is kept in " code { (root) } ". To go on there, run:" }
                (command("swarm start"))
            } @else {
                p { "Its repository is gone. To keep the next one and look around in it:" }
                (command("swarm demo --keep"))
            }
            p { "To start for real, run these in a repository of your own:" }
            (commands(&["swarm init".to_owned(), "swarm start".to_owned()]))
        }
    }
}

/// What everybody must see on every page.
fn notices(drawing: &Drawing<'_>, view: &FrameView) -> Markup {
    let words = match view.phase {
        // The header says what it was.
        _ if drawing.moment.is_past() => None,
        // A rollback shows its own steps.
        SwarmPhase::Running | SwarmPhase::Stopped | SwarmPhase::RollingBack => None,
        SwarmPhase::Pausing => Some("Pausing: agents finish their iteration; nothing new starts."),
        SwarmPhase::Paused => Some("Paused: nothing new starts until you resume."),
        SwarmPhase::Recovering => {
            Some("Recovering: swarm takes over the agents that worked on without a daemon.")
        }
        SwarmPhase::Draining => Some("Stopping: nothing new starts; the daemon ends soon."),
    };
    html! {
        @if let Some(words) = words {
            p .note role="note" {
                (words)
                @if let Some(reason) = view.pause_reason.as_ref().filter(|why| !why.is_empty()) {
                    " Why: " span .cut { (reason) }
                }
            }
        }
        @for notice in &view.notices {
            div .note.note-bad role="note" {
                p { (icon("warn")) " " (notice.message) }
                @if !notice.commands.is_empty() { (commands(&notice.commands)) }
            }
        }
    }
}

/// Dialogs that the script opens: the palette, and the list of shortcuts.
fn dialogs(drawing: &Drawing<'_>) -> Markup {
    html! {
        dialog #palette aria-label="Find" {
            div .dh {
                (palette::search(drawing, "palette-q", ""))
            }
            div #palette-found .body aria-live="polite" {}
        }
        dialog #shortcuts aria-labelledby="shortcuts-title" {
            div .dh { h2 #shortcuts-title { "Shortcuts" } }
            div .body { (shortcuts(drawing)) }
            form .df method="dialog" {
                a .b.quiet href=(drawing.live_link("settings")) { "Switch single keys off" }
                button .b { "Close" }
            }
        }
    }
}

fn path_of(address: &str) -> &str {
    address.split('?').next().unwrap_or_default()
}

/// The connection for live updates; an earlier moment does not change.
fn stream(drawing: &Drawing<'_>, place: Place, view: &FrameView) -> Markup {
    // Of the pages, these have live updates; a dialog, a search or an error stays as it is.
    let is_page = place != Place::Nowhere && Route::of(path_of(&drawing.path)).is_some();
    if drawing.moment.is_past() || !is_page {
        return html! {};
    }
    let (page, document) = (encoded(&drawing.path), encoded(&drawing.document));
    let log = drawing.site.known_log_id().unwrap_or_default();
    let address = format!(
        "live?page={page}&document={document}&log={log}&seq={}",
        view.seq
    );
    // Who wants notifications keeps the stream of a hidden tab, to have them.
    let background = preferences::current().notifies;
    let background = background.then_some(r#"{"sse":{"pauseOnBackground":false}}"#);
    html! {
        div #stream hx-sse:connect=(drawing.live_link(&address)) hx-swap="none"
            hx-config=[background] hidden {}
    }
}

fn header(drawing: &Drawing<'_>, view: &FrameView) -> Markup {
    html! {
        header .top {
            a .brand href=(drawing.link("")) {
                svg viewBox="0 0 20 20" aria-hidden="true" {
                    path d="M4 4h0M4 10h0M4 16h0" {}
                    path d="m4 4 10 6L4 16M4 10h9" class="th" {}
                    circle cx="15" cy="10" r="3.6" {}
                }
                span .hide-s { "swarm" } " " b { (drawing.site.name) }
            }
            @if drawing.site.is_demo {
                span .tag title="Only the scripted agent works here: no model, no money" { "Demo" }
            }
            (drawing.fragment("f-status", Touched::STATUS | Touched::COST, &status(drawing, view)))
            a .b.find href=(drawing.link("palette")) data-palette {
                (icon("find")) span { "Search or do" } kbd .hide-m { "Ctrl K" }
            }
            span .acts { (acts(drawing, view)) }
        }
    }
}

fn status(drawing: &Drawing<'_>, view: &FrameView) -> Markup {
    let (words, shape, tone) = phase(view.phase);
    let is_past = drawing.moment.is_past();
    let tab_icon = assets::icon(view.tab_icon(is_past));
    html! {
        span #tab-state hidden data-needs=(view.needs) data-icon=(drawing.live_link(&tab_icon)) {}
        span .row {
            @if is_past {
                span .st { (tinted("clock", "past")) " " b .c-past { "Past" } }
            } @else { span .st { (tinted(shape, tone)) " " b { (words) } } }
            span .sub.hide-s.nw {
                @if is_past { (words.to_lowercase()) " then, " }
                (mode(view.mode)) " · " (view.slots.used) " of " (view.slots.max) " slots"
            }
            @if view.needs > 0 {
                a .tag.wait.hide-s href=(drawing.link("")) {
                    (view.needs) " " (need(drawing, view.needs)) " you"
                }
            }
        }
        span .grow {}
        @if let Some(spent) = &view.spent_today {
            span .nw.hide-m title="Spent today (UTC)" {
                (spent)
                @if let Some(budget) = &view.budget_today {
                    " " span .dim { "of " (budget) }
                }
            }
        }
    }
}

/// `3 need you`, and `3 needed you` in the past.
fn need(drawing: &Drawing<'_>, count: usize) -> &'static str {
    match count {
        _ if drawing.moment.is_past() => "needed",
        1 => "needs",
        _ => "need",
    }
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Autopilot => "autopilot",
        Mode::SemiAuto => "semi-auto",
    }
}

/// The actions of the header; none in the past.
fn acts(drawing: &Drawing<'_>, view: &FrameView) -> Markup {
    if drawing.moment.is_past() {
        return html! {};
    }
    let is_paused = matches!(view.phase, SwarmPhase::Paused | SwarmPhase::Pausing);
    html! {
        @if is_paused {
            (drawing.form("do/resume", &html! {
                (shown::field("resume-shown", &view.pause))
                button .b.quiet aria-label="Resume" { (icon("play")) span .hide-s { "Resume" } }
            }))
        } @else {
            (drawing.ask("do/pause", "b quiet", &html! {
                (icon("pause")) span .hide-s { "Pause" }
            }))
        }
        (drawing.ask("do/checkpoint", "b quiet hide-m", &html! { (icon("flag")) " Checkpoint" }))
        (drawing.ask("ideas/add", "b", &html! {
            (icon("plus")) span .hide-s { "Add idea" }
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::testkit::scenario::Scenario;
    use crate::web::DemoRun;
    use crate::web::pages::checkpoints::testkit::World;

    #[tokio::test]
    async fn a_demo_has_the_words_for_its_end_and_other_pages_do_not() {
        let state = Scenario::running().state;
        let (gone, kept) = ("swarm demo --keep", "Its repository is kept in");
        for (is_kept, has, lacks) in [(false, gone, kept), (true, kept, gone)] {
            let world = World::of_demo_run(&state, DemoRun { is_kept });
            let page = world.page("").await;
            let (_, over) = page.split_once("id=\"demo-over\"").unwrap();
            let (over, _) = over.split_once("</div>").unwrap();
            for words in ["The demo is over.", "swarm init", "swarm start", has] {
                assert!(over.contains(words), "{words}: {over}");
            }
            assert!(!over.contains(lacks), "{lacks}: {over}");
        }
        let page = World::of(&state).page("").await;
        assert!(!page.contains("demo-over"), "{page}");
    }
}
