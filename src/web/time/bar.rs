//! The time bar: how busy the swarm was, what marked the way, and the way back to any event.
//!
//! Invariant: a native range over event numbers in a GET form, so it works without script; what
//! `time.js` needs is in `data-` attributes. Drawn from what the page keeps, never from the log.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::axis::ticks;
use crate::domain::time::Timestamp;
use crate::view::history::{Column, History, Mark, MarkKind};
use crate::web::document::Drawing;
use crate::web::parts::{icon, local, many, tinted};
use crate::web::touches::Touched;

/// Parts of the histogram.
const COLUMNS: usize = 120;
/// The width of the drawing, in its own units.
const WIDTH: f64 = 1_200.0;
/// Marks that are nearer than this are drawn as one.
const NEAR: f64 = 3.0;
/// Labels below the histogram.
const TICKS: i64 = 8;

/// The moment that a page shows.
pub struct Shown {
    /// Its event.
    pub seq: u64,
    /// The log's last event.
    pub last_seq: u64,
    /// Its time.
    pub at: Timestamp,
}

/// The bar at the bottom of every page.
pub fn time_bar(drawing: &Drawing<'_>, shown: &Shown) -> Markup {
    let bar = drawing
        .site
        .chronicle
        .read(|history| bar(drawing, shown, history));
    let is_past = drawing.moment.is_past();
    html! {
        footer .time aria-label="Time" {
            button #time-play .b.quiet.sq type="button" hidden aria-label="Play"
                aria-pressed="false" {
                (icon("play"))
            }
            (drawing.fragment("f-time", Touched::TIME, &bar))
            a .b.livepill.quiet[!is_past] href=(drawing.live_link(&drawing.path)) data-key="l"
                aria-current=[(!is_past).then_some("true")] {
                @if is_past { "Back to live" } @else { (tinted("run", "run")) " Live" }
            }
        }
    }
}

fn bar(drawing: &Drawing<'_>, shown: &Shown, history: &History) -> Markup {
    let (path, query) = split(&drawing.path);
    let activity = &history.activity;
    let columns = activity.columns(COLUMNS);
    let is_known = activity.first_at().is_some();
    let first = activity.first_seq().max(1);
    let time = local(shown.at, "%H:%M:%S");
    let seqs: Vec<String> = columns.iter().map(|it| it.last_seq.to_string()).collect();
    let end = activity.time_at(1.0);
    html! {
        div .clock {
            b .c-past[drawing.moment.is_past()] { (time) }
            span { i .hide-s { "event " } (shown.seq) }
        }
        form .scrub method="get" action=(drawing.live_link(path))
            data-seqs=[is_known.then(|| seqs.join(" "))]
            data-from=[activity.first_at().map(Timestamp::millis)] data-to=(end.millis()) {
            @for (name, value) in &query { input type="hidden" name=(name) value=(value); }
            input type="range" name="at" min=(first) max=(shown.last_seq.max(first))
                value=(shown.seq) aria-label="Moment shown"
                aria-valuetext={ (time) ", event " (shown.seq) " of " (shown.last_seq) };
            @if is_known { (picture(shown, history, &columns)) }
            noscript { button .b { "Go" } }
        }
        (steps(drawing, shown, history, first))
    }
}

/// A path and the pairs of its query.
fn split(path: &str) -> (&str, Vec<(String, String)>) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
    // Another moment has another list of pages.
    (
        path,
        pairs
            .filter(|(name, _)| name != "at" && name != "page")
            .collect(),
    )
}

fn steps(drawing: &Drawing<'_>, shown: &Shown, history: &History, first: u64) -> Markup {
    let link = |seq: u64| {
        if seq >= shown.last_seq {
            return drawing.live_link(&drawing.path);
        }
        let sign = if drawing.path.contains('?') { '&' } else { '?' };
        drawing.live_link(&format!("{}{sign}at={seq}", drawing.path))
    };
    let before = history.marks.before(shown.seq);
    let after = history.marks.after(shown.seq);
    let milestone = |mark: Option<&Mark>, key: &str, what: &str| {
        html! { @if let Some(mark) = mark {
            a .b.quiet.sq.hide-m href=(link(mark.seq)) data-key=(key)
                aria-label={ (what) ": " (words(mark)) } title=(words(mark)) { (key) }
        } }
    };
    html! {
        span .row.hide-s {
            (milestone(before, "{", "Milestone before"))
            @if shown.seq > first {
                a .b.quiet.sq href=(link(shown.seq - 1)) data-key="[" aria-label="Event before" {
                    (icon("prev"))
                }
            }
            @if shown.seq < shown.last_seq {
                a .b.quiet.sq href=(link(shown.seq + 1)) data-key="]" aria-label="Next event" {
                    (icon("next"))
                }
            }
            (milestone(after, "}", "Next milestone"))
        }
    }
}

/// A mark in words: `idea-003 landed, 23:59`.
pub fn words(mark: &Mark) -> String {
    let idea = mark.idea.as_ref().map(ToString::to_string);
    let label = mark.label.as_deref().unwrap_or_default();
    let what = match (mark.kind, idea) {
        (MarkKind::Landed, Some(idea)) => format!("{idea} landed"),
        (MarkKind::Landed, None) => "an idea landed".to_owned(),
        (MarkKind::Bad, Some(idea)) => format!("{idea} failed"),
        (MarkKind::Bad, None) => "a check of the target failed".to_owned(),
        (MarkKind::Checkpoint, _) => format!("checkpoint {label}"),
        (MarkKind::RolledBack, _) => format!("rolled back to {label}"),
        (MarkKind::Limit, _) => format!("limit of {label}"),
        (MarkKind::Started, _) => "the daemon started".to_owned(),
    };
    format!("{what}, {}", local(mark.at, "%H:%M"))
}

fn picture(shown: &Shown, history: &History, columns: &[Column]) -> Markup {
    let activity = &history.activity;
    let marks = history.marks.all();
    let place = activity.place(shown.at);
    let place = if shown.seq >= shown.last_seq {
        1.0
    } else {
        place
    };
    let percent = format!("{:.2}%", place * 100.0);
    let rest = format!("{:.2}%", (1.0 - place) * 100.0);
    let path = |kinds: &[MarkKind], line: &str| {
        let of_kind = marks.iter().filter(|mark| kinds.contains(&mark.kind));
        lines(of_kind.map(|mark| activity.place(mark.at)), line)
    };
    let count = |kind| marks.iter().filter(|mark| mark.kind == kind).count();
    html! {
        span .vh {
            "From " (local(activity.first_at().unwrap_or_default(), "%Y-%m-%d %H:%M")) " to "
            (local(activity.last_at(), "%Y-%m-%d %H:%M")) ": "
            (many(count(MarkKind::Landed), "landing")) ", "
            (many(count(MarkKind::Bad), "failure")) ", "
            (many(count(MarkKind::Checkpoint), "checkpoint"))
        }
        svg aria-hidden="true" {
            svg viewBox={ "0 0 " (WIDTH) " 36" } preserveAspectRatio="none" height="36" {
                path .hist d=(histogram(columns)) {}
                path .base d={ "M0 30H" (WIDTH) } {}
                path .mk.cps d=(path(&[MarkKind::Checkpoint, MarkKind::RolledBack], " 2V30")) {}
                path .mk.ok d=(path(&[MarkKind::Landed], " 32v4")) {}
                path .mk.bad d=(path(&[MarkKind::Bad, MarkKind::Limit], " 32v4")) {}
            }
            text y="44.5" { @for (index, tick) in
                ticks(activity.time_at(0.0), activity.time_at(1.0), TICKS).iter().enumerate() {
                tspan x={ (format!("{:.2}", tick.place)) "%" } .hide-s[index % 3 != 0] {
                    (tick.words)
                }
            } }
            @if place < 1.0 { rect .veil x=(percent) width=(rest) height="36" {} }
            line .head x1=(percent) x2=(percent) y1="-2" y2="34" {}
            circle .grip cx=(percent) cy="-1" r="4" {}
        }
    }
}

/// The histogram as a path; small numbers stay visible beside large ones.
#[expect(clippy::cast_precision_loss, reason = "for drawing")]
fn histogram(columns: &[Column]) -> String {
    let most = columns.iter().map(|it| it.events).max().unwrap_or(0).max(1);
    let width = WIDTH / columns.len().max(1) as f64;
    let mut path = "M0 30".to_owned();
    for (index, column) in columns.iter().enumerate() {
        let height = 24.0 * (column.events as f64 / most as f64).sqrt();
        let right = width * (index + 1) as f64;
        // Writing to a string cannot fail.
        let _ = write!(path, "V{:.0}H{right:.0}", 30.0 - height);
    }
    path.push_str("V30Z");
    path
}

/// Upright lines at these places, those that are near each other as one.
fn lines(places: impl Iterator<Item = f64>, line: &str) -> String {
    let mut path = String::new();
    let mut last = -NEAR;
    for place in places {
        let x = place * WIDTH;
        if x >= last + NEAR {
            let _ = write!(path, "M{x:.0}{line}");
            last = x;
        }
    }
    path
}
