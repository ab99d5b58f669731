//! The hooks: whether each may run, and how its last call ended.

use maud::{Markup, html};

use crate::daemon::hooks::HookView;
use crate::domain::hook::{HookName, LastCall};
use crate::domain::state::State;
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{clock, many, tinted};
use crate::web::touches::Touched;

/// What the page shows.
pub struct View {
    hooks: Vec<Row>,
}

/// A hook; of an earlier moment, the log knows only its name and its calls.
struct Row {
    hook: HookName,
    program: Option<String>,
    /// Whether it may run, if that is known.
    may_run: Option<bool>,
    refused: Option<String>,
    last: Option<LastCall>,
    waiting: usize,
}

impl From<HookView> for Row {
    fn from(hook: HookView) -> Self {
        Self {
            hook: hook.hook,
            program: Some(hook.program),
            may_run: Some(hook.approved),
            refused: hook.refused,
            last: hook.last,
            waiting: hook.waiting,
        }
    }
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    if asked.moment.is_past() {
        return Ok(View {
            hooks: asked.read(then),
        });
    }
    let hooks = asked.site.api.control.hooks().await;
    let hooks = hooks.map_err(WebError::failed)?;
    Ok(View {
        hooks: hooks.into_iter().map(Row::from).collect(),
    })
}

/// The hooks of an earlier moment.
fn then(state: &State) -> Vec<Row> {
    let settings = state.settings.as_deref();
    let is_known = |hook: &HookName| {
        settings.is_some_and(|settings| settings.hooks.contains_key(hook))
            || state.hooks_last.contains_key(hook)
    };
    let known = HookName::ALL.into_iter().filter(is_known);
    let row = |hook| Row {
        hook,
        program: None,
        may_run: None,
        refused: None,
        last: state.hooks_last.get(&hook).cloned(),
        waiting: state.hooks.iter().filter(|call| call.hook == hook).count(),
    };
    known.map(row).collect()
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let list = html! {
            div .head { div {
                h1 { (many(self.hooks.len(), "hook")) }
                p { "Programs of yours that swarm calls. They run with your permissions." }
            } }
            @if self.hooks.is_empty() { (none()) } @else { (table(drawing, &self.hooks)) }
        };
        Page {
            title: "Hooks".into(),
            place: Place::Hooks,
            main: drawing.fragment("f-hooks", Touched::HOOKS, &list),
        }
    }
}

fn none() -> Markup {
    html! {
        p { "There are none. Add an executable file " code { ".swarm/hooks/NAME.sh" }
            ", or name a program under " code { "hooks" } " in " code { ".swarm/config.json" } "." }
        dl .card.say { @for hook in HookName::ALL {
            div { dt { code { (hook.as_str()) } } dd .sub { (hook.description()) } }
        } }
    }
}

fn table(drawing: &Drawing<'_>, hooks: &[Row]) -> Markup {
    html! {
        div .card.clip { table .fix.stackable {
            colgroup { col width="140"; col width="130"; col; col; col width="90"; }
            thead { tr {
                th { "Hook" } th { "May run" } th { "Program" } th { "Last call" }
                th .num { "Waiting" }
            } }
            tbody { @for row in hooks { tr #{ "hook-" (row.hook.as_str()) } {
                td .nw { a .t href=(drawing.link(&format!("hooks/{}", row.hook.as_str()))) {
                    (row.hook.as_str())
                } }
                td { (may_run(row.may_run)) }
                td .full {
                    @if let Some(program) = &row.program { code { (program) } }
                    @if let Some(why) = &row.refused { p .sub { (why) } }
                }
                td .sub.full { (last_call(row.last.as_ref())) }
                td .num { @if row.waiting > 0 { (many(row.waiting, "call")) } }
            } } }
        } }
    }
}

/// Whether a hook may run.
pub fn may_run(known: Option<bool>) -> Markup {
    html! { span .st { @match known {
        Some(true) => { (tinted("ok", "ok")) " Yes" },
        Some(false) => { (tinted("x", "bad")) " No" },
        None => "Not recorded",
    } } }
}

/// How a hook's last call ended.
pub fn last_call(last: Option<&LastCall>) -> Markup {
    html! { @match last {
        None => "Never called",
        Some(last) => {
            span .st {
                @if last.well { (tinted("ok", "ok")) } @else { (tinted("x", "bad")) }
                " " (clock(last.at))
            }
            ": " span .two { (last.how) }
        },
    } }
}
