//! Reads the time at which a limit resets from a program's message.
//!
//! Invariant: the time comes from the text alone. A time without a date means the day of the
//! message, because programs name every other date. A time without a zone is local.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};

use crate::domain::time::Timestamp;

/// How far away a reset may be: no limit runs for longer.
const FARTHEST: SignedDuration = SignedDuration::from_hours(24 * 60);

/// The time in a text like `try again at 2:29 AM`, `resets 3am (UTC)`, `resets Nov 25, 3:49am
/// (UTC)`, `try again at Nov 25th, 2026 8:40 AM`, `try again in 3 days 4 hours 5 minutes` or `reset
/// after 16h37m2.5s`, read at `now`.
pub fn time_in(text: &str, now: &Zoned) -> Option<Timestamp> {
    let after = |mark: &str| {
        let at = text.to_ascii_lowercase().find(mark)?;
        text.get(at + mark.len()..)
    };
    let in_some_time = [
        "try again in ",
        "resets in ",
        "reset after ",
        "retry in ",
        "retry after ",
    ];
    let mut in_some_time = in_some_time.into_iter().filter_map(after);
    let found = if let Some(span) = in_some_time.find_map(span) {
        now.checked_add(span).ok()?
    } else {
        let at = ["try again at ", "resets at ", "resets "];
        point(at.into_iter().find_map(after)?, now)?
    };
    let away = found.duration_since(now).abs();
    let millis = found.timestamp().as_millisecond();
    (away <= FARTHEST).then_some(Timestamp::from_millis(millis))
}

/// `3 days 4 hours 5 minutes`, `5h12m34.5s`.
fn span(text: &str) -> Option<SignedDuration> {
    let mut total = None;
    let mut number: Option<f64> = None;
    for word in words(text).flat_map(numbers_and_units) {
        if let Ok(value) = word.parse::<f64>() {
            number = Some(value);
            continue;
        }
        let seconds = match word.to_ascii_lowercase().as_str() {
            "and" => continue,
            "ms" => 0.001,
            "second" | "seconds" | "s" => 1.0,
            "minute" | "minutes" | "m" => 60.0,
            "hour" | "hours" | "h" => 3_600.0,
            "day" | "days" | "d" => 86_400.0,
            _ => break,
        };
        total = Some(total.unwrap_or(0.0) + number.take()? * seconds);
    }
    SignedDuration::try_from_secs_f64(total?).ok()
}

/// `5h12m` as `5`, `h`, `12`, `m`.
fn numbers_and_units(word: &str) -> impl Iterator<Item = &str> {
    let is_unit = |c: char| c.is_ascii_alphabetic();
    let mut rest = word;
    std::iter::from_fn(move || {
        let begins = is_unit(rest.chars().next()?);
        let end = rest.find(|c| is_unit(c) != begins).unwrap_or(rest.len());
        let (one, after) = rest.split_at(end);
        rest = after;
        Some(one)
    })
}

/// `[Nov 25[th][, 2026][,]] 8[:40] AM [(zone)]`.
fn point(text: &str, now: &Zoned) -> Option<Zoned> {
    let zone = match text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
    {
        Some((name, _)) => TimeZone::get(name).ok()?,
        None => now.time_zone().clone(),
    };
    let today = now.with_time_zone(zone.clone()).date();
    let said = text.split('(').next().unwrap_or_default();
    let mut words = words(said).peekable();
    let date = match words.peek().and_then(|word| month(word)) {
        None => today,
        Some(month) => {
            words.next();
            let day = number_at_start(words.next()?)?;
            let year = words.peek().and_then(|word| word.parse::<i16>().ok());
            let year = year.filter(|year| *year > 31);
            if year.is_some() {
                words.next();
            }
            let date = Date::new(year.unwrap_or(today.year()), month, day).ok()?;
            // In December a day of January is one of the next year.
            if year.is_none() && date < today {
                Date::new(today.year() + 1, month, day).ok()?
            } else {
                date
            }
        }
    };
    let time = time_of_day(words.next()?, words.next())?;
    DateTime::from_parts(date, time).to_zoned(zone).ok()
}

/// `8:40`, `AM`; `8am`; `20:40`.
fn time_of_day(word: &str, next: Option<&str>) -> Option<Time> {
    let lower = word.to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let half = match &lower[digits.len()..] {
        "" => next.map(str::to_ascii_lowercase).unwrap_or_default(),
        half => half.to_owned(),
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half.as_str() {
        "am" | "pm" if !(1..=12).contains(&hour) => return None,
        "am" => hour % 12,
        "pm" => hour % 12 + 12,
        _ if digits.contains(':') => hour,
        _ => return None,
    };
    Time::new(hour, minute, 0, 0).ok()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    words
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty())
}

fn number_at_start(word: &str) -> Option<i8> {
    let end = word
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(word.len());
    word[..end].parse().ok()
}

fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let lower = word.to_ascii_lowercase();
    let index = MONTHS.iter().position(|name| lower.starts_with(name))?;
    i8::try_from(index + 1).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    #[test]
    fn resets_are_read_as_people_do() {
        let now: Zoned = "2026-11-22T04:22:00+00:00[UTC]".parse().unwrap();
        for (text, expected) in [
            ("or try again at 6:16 AM.", Some("2026-11-22T06:16:00.000Z")),
            ("try again at 12:05 PM", Some("2026-11-22T12:05:00.000Z")),
            ("Try again at 12:05 AM", Some("2026-11-22T00:05:00.000Z")),
            (
                "try again at Nov 25th, 2026 8:40 AM.",
                Some("2026-11-25T08:40:00.000Z"),
            ),
            (
                "You've hit your limit · resets 6:22am (UTC)",
                Some("2026-11-22T06:22:00.000Z"),
            ),
            (
                "limit · resets 3pm (Europe/Berlin)",
                Some("2026-11-22T14:00:00.000Z"),
            ),
            (
                "resets Nov 25, 3:49am (UTC)",
                Some("2026-11-25T03:49:00.000Z"),
            ),
            ("resets Jan 2, 3am (UTC)", Some("2027-01-02T03:00:00.000Z")),
            (
                "try again in 3 days 4 hours 5 minutes.",
                Some("2026-11-25T08:27:00.000Z"),
            ),
            (
                "try again in 1 hour and 1 minute",
                Some("2026-11-22T05:23:00.000Z"),
            ),
            ("resets 3am (Nowhere/Land)", None),
            ("resets soon", None),
            ("try again later", None),
            ("try again in a moment", None),
            ("try again at 25:70", None),
            ("try again at 13 PM", None),
            ("resets Nov 99, 3am", None),
            ("try again in 99999999 days", None),
            (
                "Your quota will reset after 16h37m2s.",
                Some("2026-11-22T20:59:02.000Z"),
            ),
            (
                "Please retry in 34.25s, or retry after a week",
                Some("2026-11-22T04:22:34.250Z"),
            ),
            ("try again in 450ms", Some("2026-11-22T04:22:00.450Z")),
            ("retry after NaN s, retry after inf s", None),
            ("İİ resets 3", None),
        ] {
            let found = time_in(text, &now).map(|time| time.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        let berlin: Zoned = "2026-11-22T05:22:00+01:00[Europe/Berlin]".parse().unwrap();
        let found = time_in("try again at 6:16 AM.", &berlin).unwrap();
        assert_eq!(found.to_string(), "2026-11-22T05:16:00.000Z");
    }
}
