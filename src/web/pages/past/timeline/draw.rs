//! Draws the timeline: SVG in percent, and the same as a table.

use maud::{Markup, html};

use super::lanes::{Drawn, LaneView, path};
use super::{LANES, Line, SPANS, View};
use crate::view::describe::Tone;
use crate::view::history::{LaneBy, MarkKind, Told, Work};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::asked::Ready;
use crate::web::pages::past::{READING, pick};
use crate::web::parts::{clock, local, look, many, span, tinted};
use crate::web::time::axis::ticks;
use crate::web::touches::Touched;

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let head = html! {
            div .head {
                div { h1 { "Timeline" } p { (summary(self)) } }
                div .acts { (choices(drawing, self)) }
            }
        };
        let lanes = if self.is_table {
            drawing.fragment("f-lanes", Touched::TIMELINE, &table(drawing, self))
        } else {
            chart(drawing, self)
        };
        let main = html! {
            (head)
            @if self.is_ready { (lanes) (pages(drawing, self)) } @else {
                p .note role="status" { (READING) }
            }
            @if self.is_cut && self.last == "all" {
                p .sub {
                    "Older work is no longer kept here. All of it: " code { "swarm events" }
                }
            }
            (drawing.fragment("f-around", Touched::TIME, &around(drawing, self)))
        };
        Page {
            title: "Timeline".into(),
            place: Place::Timeline,
            main,
        }
    }
}

fn summary(view: &View) -> String {
    let what = match view.by {
        LaneBy::Idea => "idea",
        LaneBy::Agent => "agent",
    };
    let (from, _) = view.window.range();
    format!(
        "{} with work since {}",
        many(view.count, what),
        local(from, "%Y-%m-%d %H:%M")
    )
}

fn choices(drawing: &Drawing<'_>, view: &View) -> Markup {
    let link = |name: &str, value: &str| {
        drawing.link(&format!("timeline?{}", pick(&view.query, name, value)))
    };
    let by = match view.by {
        LaneBy::Idea => "idea",
        LaneBy::Agent => "agent",
    };
    let shape = if view.is_table { "table" } else { "chart" };
    let current = |is: bool| is.then_some("true");
    html! {
        nav .seg aria-label="Lanes" { @for one in ["idea", "agent"] {
            a href=(link("by", one)) aria-current=[current(one == by)] { "By " (one) }
        } }
        nav .seg aria-label="Span" { @for one in SPANS {
            a href=(link("last", one)) aria-current=[current(one == view.last)] {
                @match one.strip_suffix('h') { Some(hours) => { (hours) " h" } None => "All" }
            }
        } }
        nav .seg aria-label="Form" { @for one in ["chart", "table"] {
            a href=(link("as", one)) aria-current=[current(one == shape)] {
                @if one == "chart" { "Chart" } @else { "Table" }
            }
        } }
    }
}

fn chart(drawing: &Drawing<'_>, view: &View) -> Markup {
    let then = if drawing.moment.is_past() {
        " then"
    } else {
        ""
    };
    let open = html! { @if view.count == 0 {
        p .none { "No work in this time." }
    } @else {
        table .gantt {
            (axis(view))
            tbody {
                tr .grp {
                    th scope="row" { "Active" (then) ", " (view.open.len()) }
                    td { (strip(&html! {})) }
                }
                @for lane in &view.open { (row(drawing, view, lane)) }
            }
        }
    } };
    let ended = html! {
        @if !view.ended.is_empty() { table .gantt { tbody {
            tr .grp {
                th scope="row" { "Ended" (then) ", " (view.ended.len()) }
                td { (strip(&html! {})) }
            }
            @for lane in &view.ended { (row(drawing, view, lane)) }
        } } }
    };
    html! {
        (drawing.fragment("f-axis", Touched::TIMELINE, &symbols(view)))
        div .card.clip {
            (drawing.fragment("f-open", Touched::TIMELINE, &open))
            (drawing.fragment("f-ended", Touched::TIMELINE, &ended))
        }
        (legend())
    }
}

/// What each lane's picture begins and ends with, once for all.
fn symbols(view: &View) -> Markup {
    let (from, to) = view.window.range();
    let upright = |class: &str, place: f64| {
        let x = percent(place);
        html! { line class=(class) x1=(x) x2=(x) y2="30" {} }
    };
    html! {
        svg .vh aria-hidden="true" {
            symbol #gr width="100%" height="30" {
                @for tick in ticks(from, to, 8) { (upright("grid", tick.place)) }
            }
            symbol #ov width="100%" height="30" overflow="visible" {
                @for line in &view.lines { (upright(class(line), line.place)) }
                @if let Some(place) = view.window.moment.and_then(|at| view.window.place(at)) {
                    (upright("ph", place))
                }
            }
        }
        @if !view.lines.is_empty() {
            p .vh { "In this time: " @for (index, line) in view.lines.iter().take(40).enumerate() {
                @if index > 0 { "; " } (line.words)
            } }
        }
    }
}

fn class(line: &Line) -> &'static str {
    match line.kind {
        MarkKind::Checkpoint | MarkKind::RolledBack => "cp",
        MarkKind::Limit => "lim",
        MarkKind::Started | MarkKind::Landed | MarkKind::Bad => "rst",
    }
}

fn axis(view: &View) -> Markup {
    let (from, to) = view.window.range();
    html! {
        thead { tr {
            th scope="row" { span .vh { "Lane" } }
            th {
                span .vh { (local(from, "%H:%M")) " to " (local(to, "%H:%M")) }
                svg aria-hidden="true" {
                    @for (index, tick) in ticks(from, to, 8).iter().enumerate() {
                        text x=(percent(tick.place)) y="17" .hide-s[index % 2 == 1]
                            text-anchor=(if tick.place < 2.0 { "start" } else { "middle" }) {
                            (tick.words)
                        }
                    }
                }
            }
        } }
    }
}

fn strip(content: &Markup) -> Markup {
    html! {
        svg aria-hidden="true" { use href="#gr" {} (content) use href="#ov" {} }
    }
}

fn row(drawing: &Drawing<'_>, view: &View, lane: &LaneView) -> Markup {
    let content = html! {
        @if let Some((from, to)) = lane.line {
            line .waitln x1=(percent(from)) x2=(percent(to)) y1="15" y2="15" {}
        }
        @for bar in &lane.bars { (rect(bar)) }
        @for place in &lane.failed {
            svg x=(percent(*place)) overflow="visible" {
                path .cross d="m-3.5 11.5 7 7m0-7-7 7" {}
            }
        }
        @for (place, is_future) in &lane.landed {
            circle .ld.future[*is_future] cx=(percent(*place)) {}
        }
    };
    html! {
        tr {
            th scope="row" { (name(drawing, view, lane)) }
            td { span .vh { (in_words(lane)) } (strip(&content)) }
        }
    }
}

fn name(drawing: &Drawing<'_>, view: &View, lane: &LaneView) -> Markup {
    let (shape, tone) = match (lane.is_open, lane.status) {
        (true, _) => ("run", "run"),
        (false, Some(status)) => look(status),
        (false, None) => ("ring", "idle"),
    };
    let words = match view.by {
        LaneBy::Agent if lane.id.is_some() => {
            format!("{} {}", lane.id.as_deref().unwrap_or_default(), lane.title)
        }
        LaneBy::Agent | LaneBy::Idea => lane.title.clone(),
    };
    html! {
        span .row {
            (tinted(shape, tone))
            @match path(view.by, lane) {
                Some(path) => a .t.cut href=(drawing.link(&path)) title=[lane.id.as_deref()] {
                    (words)
                },
                None => span .t.cut { (words) },
            }
        }
    }
}

fn rect(bar: &Drawn) -> Markup {
    let class = match (bar.work, bar.is_bad) {
        (Work::Check | Work::MergeCheck | Work::TargetCheck, true) => "gate no",
        (Work::Check | Work::TargetCheck, false) => "gate",
        (Work::MergeCheck, false) => "ver",
        (Work::Conflict, _) => "res",
        (Work::Setup, false) => "st",
        (Work::Setup, true) => "st no",
        (Work::Hook, false) => "hk",
        (Work::Hook, true) => "hk no",
        (Work::Iteration | Work::Attempt, _) => "it",
    };
    let future = if bar.is_future { " future" } else { "" };
    html! {
        rect class={ (class) (future) } x=(percent(bar.from)) width=(percent(bar.to - bar.from)) {}
    }
}

fn percent(place: f64) -> String {
    format!("{place:.2}%")
}

fn in_words(lane: &LaneView) -> String {
    let sum = &lane.sum;
    let mut parts = vec![
        format!("from {}", local(sum.from, "%H:%M")),
        match sum.to {
            Some(to) => format!("to {}", local(to, "%H:%M")),
            None => "goes on".to_owned(),
        },
        many(sum.iterations, "iteration"),
    ];
    if sum.failed_checks > 0 {
        parts.push(many(sum.failed_checks, "failed check"));
    }
    parts.push(format!("{} of work", span(sum.work)));
    parts.push(format!("{} of waiting", span(sum.waiting)));
    if lane.landed.iter().any(|(_, is_future)| !is_future) {
        parts.push("landed".to_owned());
    }
    parts.join(", ")
}

fn legend() -> Markup {
    let bars = [
        ("it", "Iteration"),
        ("gate", "Check"),
        ("gate no", "Failed"),
        ("res", "Conflict"),
        ("ver", "Merged tree"),
        ("st", "Setup"),
        ("hk", "Hook"),
    ];
    html! {
        ul .keys.sec2 {
            @for (class, words) in bars {
                li { svg aria-hidden="true" { rect class=(class) width="16" {} } (words) }
            }
            li { svg aria-hidden="true" { line .waitln x2="16" y1="15" y2="15" {} } "Waits" }
            @for (class, words) in [("cp", "Checkpoint"), ("lim", "Limit"), ("rst", "Restart")] {
                li { svg aria-hidden="true" { line class=(class) x1="8" x2="8" y1="8" y2="22" {} }
                    (words) }
            }
        }
    }
}

fn table(drawing: &Drawing<'_>, view: &View) -> Markup {
    if view.count == 0 {
        return html! { p .sub { "No work in this time." } };
    }
    html! {
        div .card.clip { table .stackable {
            thead { tr {
                th { "Lane" } th { "From" } th { "To" } th .num { "Iterations" }
                th .num { "Failed checks" } th .num { "Work" } th .num { "Waiting" }
            } }
            tbody { @for lane in view.open.iter().chain(&view.ended) { tr {
                td .full { (name(drawing, view, lane)) }
                td { (clock(lane.sum.from)) }
                td { @match lane.sum.to { Some(to) => (clock(to)), None => "goes on" } }
                td .num { (lane.sum.iterations) }
                td .num { (lane.sum.failed_checks) }
                td .num { (span(lane.sum.work)) }
                td .num { (span(lane.sum.waiting)) }
            } } }
        } }
    }
}

fn pages(drawing: &Drawing<'_>, view: &View) -> Markup {
    let link = |page: usize| {
        drawing.link(&format!(
            "timeline?{}",
            pick(&view.query, "page", &page.to_string())
        ))
    };
    let last = view.count.saturating_sub(1) / LANES;
    html! {
        @if last > 0 {
            nav .row.sec2 aria-label="Pages of lanes" {
                @if view.page > 0 { a .b href=(link(view.page - 1)) { "Newer" } }
                span .sub { "Page " (view.page + 1) " of " (last + 1) }
                @if view.page < last { a .b href=(link(view.page + 1)) { "Older" } }
            }
        }
    }
}

fn around(drawing: &Drawing<'_>, view: &View) -> Markup {
    let is_past = drawing.moment.is_past();
    html! {
        section .sec {
            header {
                h2 { @if is_past { "Around this moment" } @else { "Last" } }
                span { "until " (local(view.until(), "%H:%M")) "; plumbing is folded" }
                a .more href=(drawing.link("events")) { "Show every event" }
            }
            @if view.around.is_empty() { p .sub { "Nothing has happened yet." } }
            @else { ol .card.clip { @for one in &view.around {
                li .ev.now[is_past && one.seq == view.seq].later[one.seq > view.seq] {
                    (story(drawing, one))
                }
            } } }
        }
    }
}

/// An event: when, its icon, what, and the idea.
pub fn story(drawing: &Drawing<'_>, told: &Told) -> Markup {
    let (shape, tone) = tone(told.tone);
    html! {
        time datetime=(told.at.to_string()) title=(local(told.at, "%Y-%m-%d %H:%M:%S")) {
            (local(told.at, "%H:%M:%S"))
        }
        (tinted(shape, tone))
        span { (told.words) }
        @match &told.idea {
            Some(idea) => a .id href=(drawing.link(&format!("ideas/{idea}"))) { (idea) },
            None => span {},
        }
    }
}

/// The mark of an event and its colour.
pub fn tone(tone: Tone) -> (&'static str, &'static str) {
    match tone {
        Tone::Good => ("okc", "ok"),
        Tone::Bad => ("x", "bad"),
        Tone::Warn => ("warn", "wait"),
        Tone::Live => ("run", "run"),
        Tone::Plain | Tone::Strong => ("ring", "idle"),
        Tone::Dim => ("clock", "idle"),
    }
}
