//! What differs between two points of the log: by default since the last checkpoint.
//!
//! Invariant: the differences are those of `swarm snapshot diff`, by the same function. They change
//! by themselves only from a fixed point to now: an age or a time would replay the log each time.

mod rows;

use std::sync::Arc;

use maud::{Markup, html};
use strum::VariantArray as _;

use crate::api::locate_state;
use crate::daemon::offline::Upto;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::view::describe::Point;
use crate::view::history::MarkKind;
use crate::view::snapshot::{Comparison, Head, Section};
use crate::web::document::{Drawing, Page, Place, encoded};
use crate::web::moment::Moment;
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Query, Ready};
use crate::web::parts::{commands, icon, local};
use crate::web::touches::Touched;

/// Checkpoints that the form offers.
const OFFERED: usize = 20;

/// What the page shows.
pub struct View {
    from: End,
    to: End,
    /// The only section that is compared.
    only: Option<Section>,
    /// The page of its rows, from 0.
    page: usize,
    /// Events of checkpoints, newest first.
    offered: Vec<(CheckpointName, u64)>,
    /// Whether it follows new events.
    is_live: bool,
    /// `None` in an update of a page that does not follow.
    found: Option<Comparison>,
}

/// One of the two points.
struct End {
    /// As it stands in the address, or as it is chosen.
    text: String,
    /// Whether it is the moment that the page shows.
    is_moment: bool,
    /// Whether somebody chose it.
    is_typed: bool,
}

impl End {
    fn new(typed: Option<&str>, default: impl FnOnce() -> String) -> Self {
        let text = typed.map_or_else(default, str::to_owned);
        Self {
            is_moment: text == "now",
            text,
            is_typed: typed.is_some(),
        }
    }

    /// Whether it means the same event for ever.
    fn is_fixed(&self) -> bool {
        self.text.parse::<u64>().is_ok() || self.text.starts_with("checkpoint:")
    }
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let typed = |name| asked.query.get(name);
    let from = End::new(typed("from"), || last_milestone(asked).to_string());
    let to = End::new(typed("to"), || "now".to_owned());
    let mut view = View {
        is_live: from.is_fixed() && to.is_moment && !asked.moment.is_past(),
        from,
        to,
        only: section(asked.query)?,
        page: asked.query.page(),
        offered: asked.read(checkpoints),
        found: None,
    };
    view.offered.truncate(OFFERED);
    if view.is_live || !asked.is_update {
        let from = state(asked, &view.from).await?;
        let to = state(asked, &view.to).await?;
        let only = view.only;
        let compare = move || Comparison::of(&from, &to, only);
        let found = tokio::task::spawn_blocking(compare).await;
        view.found = Some(found.map_err(|error| WebError::failed(error.to_string()))?);
    }
    Ok(view)
}

/// The event of the last checkpoint, else that with which a daemon started last, else none.
fn last_milestone(asked: &Asked<'_>) -> u64 {
    let (last, checkpoint) = asked.read(|state| {
        let newest = checkpoints(state).first().map(|(_, seq)| *seq);
        (state.seq, newest)
    });
    let started = || {
        asked.site.chronicle.read(|history| {
            let marks = history.marks.all().iter().rev();
            let mut starts =
                marks.filter(|mark| mark.kind == MarkKind::Started && mark.seq <= last);
            starts.next().map(|mark| mark.seq)
        })
    };
    checkpoint.or_else(started).unwrap_or_default()
}

/// The checkpoints, newest first, with the last event that each holds.
fn checkpoints(state: &State) -> Vec<(CheckpointName, u64)> {
    let all = state.checkpoints.iter();
    let mut all: Vec<_> = all.map(|(name, it)| (name.clone(), it.seq)).collect();
    all.sort_by_key(|(_, seq)| std::cmp::Reverse(*seq));
    all
}

fn section(query: &Query) -> Result<Option<Section>, WebError> {
    let Some(text) = query.get("section") else {
        return Ok(None);
    };
    let known = Section::VARIANTS.iter().copied();
    let found = known.clone().find(|section| section.name() == text);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = known.map(Section::name).collect();
        let shown: String = text.chars().take(60).collect();
        WebError::bad(format!(
            "there is no section `{shown}`: the sections are {}",
            names.join(", ")
        ))
    })
}

/// The state at one of the two points.
async fn state(asked: &Asked<'_>, end: &End) -> Result<Arc<State>, WebError> {
    let upto = match locate_state(&asked.site.api, &end.text).await? {
        None => return Ok(asked.moment.state(asked.site)),
        Some(Point::Seq(seq)) => Upto::Seq(seq),
        Some(Point::Time(time)) => Upto::Time(time),
    };
    Ok(Moment::at(asked.site, upto).await?.state(asked.site))
}

impl View {
    /// The address of this comparison, with another section.
    fn address(&self, section: Option<Section>) -> String {
        let (from, to) = (encoded(&self.from.text), encoded(&self.to.text));
        let only = section.map_or(String::new(), |it| format!("&section={}", it.name()));
        format!("changes?from={from}&to={to}{only}")
    }

    /// The command that shows the same.
    fn command(&self, drawing: &Drawing<'_>, found: &Comparison) -> String {
        let to = if self.to.is_moment && !drawing.moment.is_past() {
            "now".to_owned()
        } else {
            found.to.seq.to_string()
        };
        let only = self
            .only
            .map_or(String::new(), |it| format!(" --section {}", it.name()));
        format!("swarm snapshot diff {} {to}{only}", found.from.seq)
    }
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        Page {
            title: "What changed".into(),
            place: Place::Elsewhere,
            main: main(drawing, self),
        }
    }
}

fn main(drawing: &Drawing<'_>, view: &View) -> Markup {
    // Not the time bar, and nothing that is drawn from runs and calls of hooks alone.
    let touched = Touched::EVERYTHING
        .without(Touched::TIME | Touched::TIMELINE | Touched::HOOKS | Touched::REPORT);
    let differences = html! {
        @if let Some(found) = &view.found {
            p .sec2 { (between(drawing, view, found)) }
            (rows::all(drawing, view, found))
            (still(drawing, view, found))
            section .sec { (commands(&[view.command(drawing, found)])) }
        }
    };
    html! {
        div .head { div {
            h1 { "What changed" }
            p { "What differs between two points of the event log." }
        } }
        (points(drawing, view))
        @if view.is_live {
            (drawing.fragment("f-changes", touched, &differences))
        } @else { (differences) }
    }
}

/// The two points in words.
fn between(drawing: &Drawing<'_>, view: &View, found: &Comparison) -> Markup {
    html! {
        "From " (point(drawing, view, found.from)) " to "
        @if view.to.is_moment {
            @if drawing.moment.is_past() { "the moment that you look at" } @else { "now" }
        } @else { (point(drawing, view, found.to)) }
        "."
    }
}

fn point(drawing: &Drawing<'_>, view: &View, head: Head) -> Markup {
    let seq = head.seq;
    let checkpoint = view.offered.iter().find(|(_, its)| *its == seq);
    html! {
        @if seq == 0 { "before the first event" } @else {
            a href=(drawing.live_link(&format!("?at={seq}"))) { "event " (seq) }
            ", " time datetime=(head.at.to_string()) { (local(head.at, "%Y-%m-%d %H:%M:%S")) }
            @if let Some((name, _)) = checkpoint { ", checkpoint " (name) }
        }
    }
}

/// Where both points are chosen.
fn points(drawing: &Drawing<'_>, view: &View) -> Markup {
    let field = |name: &str, label: &str, default: &str, end: &End| {
        html! {
            label { span { (label) }
                input name=(name) value=(if end.is_typed { &end.text } else { "" })
                    placeholder=(default) list="points" autocomplete="off"; }
        }
    };
    html! {
        form .filters method="get" action=(drawing.live_link("changes")) {
            @if let Some(at) = &drawing.moment.at { input type="hidden" name="at" value=(at); }
            (field("from", "From (event, time or age)", "the last checkpoint", &view.from))
            (field("to", "To", "now", &view.to))
            @if let Some(only) = view.only {
                input type="hidden" name="section" value=(only.name());
            }
            button .b { (icon("half")) " Compare" }
            datalist #points {
                option value="now" { "now" }
                @for age in ["1h", "12h", "24h", "7d"] { option value=(age) { (age) " ago" } }
                @for (name, seq) in &view.offered {
                    option value=(seq) { "checkpoint " (name) }
                }
            }
        }
    }
}

/// Says that differences up to now do not follow new events.
fn still(drawing: &Drawing<'_>, view: &View, found: &Comparison) -> Markup {
    let is_now = view.to.is_moment && !drawing.moment.is_past() && !view.is_live;
    let address = format!("changes?from={}&to=now", found.from.seq);
    html! {
        @if is_now {
            p .sub.sec2 {
                "These are the differences when you loaded this page. "
                a href=(drawing.link(&address)) { "Follow them from event " (found.from.seq) }
            }
        }
    }
}
