//! Points in time and in the event log that somebody typed, and spans of time for people.

use jiff::tz::TimeZone;

use crate::domain::event::{Event, WorktreesHeld};
use crate::domain::ids::IdeaId;
use crate::domain::state::checks::outage::Outage;
use crate::domain::time::Timestamp;

/// A point in the log. A time means: after the last event that is not later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// After this event.
    Seq(u64),
    /// Before the first event later than this.
    Time(Timestamp),
}

/// What [`point`] understands, for messages.
pub const POINTS: &str = "use a number (120), an age (10m, 2h, 1d), a time (2026-01-31T23:59:00Z), \
    a local date and time (\"2026-01-31 23:59\") or a local time of day (23:59)";

/// Parses a point: `120`, `10m`, `2h`, `1d`, an RFC 3339 time, a local date and time, or a local
/// time of day. `None` if the text is none of these.
pub fn point(text: &str, zone: &TimeZone, now: Timestamp) -> Option<Point> {
    if let Ok(seq) = text.parse() {
        return Some(Point::Seq(seq));
    }
    if let Some(time) = time_of_day(text, zone, now) {
        return Some(Point::Time(time));
    }
    if let Some(millis) = read_span(text) {
        return Some(Point::Time(now.plus_millis(-millis)));
    }
    read(text, zone).map(Point::Time)
}

/// When the local clock last showed `02:14` or `02:14:07`: today, or yesterday if that is to come.
fn time_of_day(text: &str, zone: &TimeZone, now: Timestamp) -> Option<Timestamp> {
    let is_short = match text.split(':').map(str::len).collect::<Vec<_>>()[..] {
        [1 | 2, 2] => true,
        [1 | 2, 2, 2] => false,
        _ => return None,
    };
    let padded = format!("{text:0>width$}", width = if is_short { 5 } else { 8 });
    let time: jiff::civil::Time = padded.parse().ok()?;
    let now = jiff::Timestamp::from_millisecond(now.millis()).ok()?;
    let today = now.to_zoned(zone.clone()).date();
    let on = |date: jiff::civil::Date| date.to_datetime(time).to_zoned(zone.clone()).ok();
    let mut found = on(today)?.timestamp();
    if found > now {
        found = on(today.yesterday().ok()?)?.timestamp();
    }
    Some(Timestamp::from_millis(found.as_millisecond()))
}

/// A span of time, roughly: `8 s`, `12 min`, `3 h 20 min`, `2 days`.
pub fn span(millis: i64) -> String {
    let seconds = millis.max(0) / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (minutes, hours, days) {
        (0, ..) => format!("{seconds} s"),
        (minutes, 0, _) => format!("{minutes} min"),
        (minutes, hours, 0 | 1) => format!("{hours} h {} min", minutes % 60),
        (.., days) => format!("{days} days"),
    }
}

/// The disk is full.
pub(super) fn room_awaited() -> String {
    "the disk is full; nothing starts for a few seconds, then swarm tries again".to_owned()
}

/// Git cannot write the files of a worktree, or can again.
pub(super) fn worktrees(event: &Event) -> String {
    let Event::WorktreesHeld(WorktreesHeld { hold }) = event else {
        return "worktrees can be made again".to_owned();
    };
    let (message, times) = (&hold.message, hold.times);
    format!("no worktree can be made (try {times}): {message}; swarm tries again by itself")
}

/// How long the machine slept: `the machine slept for 8 h 20 min`.
pub fn slept(seconds: u64) -> String {
    let millis = i64::try_from(seconds).unwrap_or(i64::MAX);
    format!(
        "the machine slept for {}",
        span(millis.saturating_mul(1_000))
    )
}

/// What something outside the work held up: `` `npm test` failed on the untouched target for 25
/// min, 6 times; waited: idea-001 ``.
pub fn outage(outage: &Outage) -> String {
    let Outage { command, tries, .. } = outage;
    let (fails, waited) = match outage.until {
        Some(until) => {
            let long = span(until.since(outage.since));
            (
                format!("failed on the untouched target for {long}"),
                "waited",
            )
        }
        None => ("still fails on the untouched target".to_owned(), "waiting"),
    };
    let times = match tries {
        1 => "once".to_owned(),
        tries => format!("{tries} times"),
    };
    let ideas: Vec<&str> = outage.waited.iter().map(IdeaId::as_str).collect();
    let ideas = match ideas.as_slice() {
        [] => String::new(),
        ideas => format!("; {waited}: {}", ideas.join(", ")),
    };
    format!("`{command}` {fails}, {times}{ideas}")
}

/// How long until a time: `now`, `in 12 min`.
pub fn until(time: Timestamp, now: Timestamp) -> String {
    match time.since(now) {
        ..1_000 => "now".to_owned(),
        millis => format!("in {}", span(millis)),
    }
}

/// A time that somebody typed: RFC 3339, or a local date and time such as `2026-01-31 23:59`.
pub fn read(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let millis = |instant: jiff::Timestamp| Timestamp::from_millis(instant.as_millisecond());
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(millis(instant));
    }
    let local: jiff::civil::DateTime = text.parse().ok()?;
    let zoned = local.to_zoned(zone.clone()).ok()?;
    Some(millis(zoned.timestamp()))
}

/// A span of time that somebody typed, in milliseconds: `90m`, `12h`, `2 days`. A day has 24 hours.
pub fn read_span(text: &str) -> Option<i64> {
    let span: jiff::Span = text.parse().ok()?;
    let hours = jiff::SpanRelativeTo::days_are_24_hours();
    let millis = span.to_duration(hours).ok()?.as_millis();
    i64::try_from(millis.abs()).ok()
}
