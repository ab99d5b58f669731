//! Times for people: local, or how long ago; and times that people type.

use jiff::tz::TimeZone;

use crate::domain::time::Timestamp;
pub use crate::view::describe::{read, read_span, span, until};

/// The time now.
pub fn now() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}

/// A time in the local time zone: `2026-01-31 23:59:59`.
pub fn local(time: Timestamp, zone: &TimeZone) -> String {
    match jiff::Timestamp::from_millisecond(time.millis()) {
        Ok(instant) => instant
            .to_zoned(zone.clone())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        Err(_) => time.to_string(),
    }
}

/// How long ago a time was: `just now`, `12 min ago`.
pub fn ago(time: Timestamp, now: Timestamp) -> String {
    match now.since(time) {
        ..1_000 => "just now".to_owned(),
        millis => format!("{} ago", span(millis)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_well() {
        let cases = [
            (-5, "0 s"),
            (8_900, "8 s"),
            (12 * 60_000, "12 min"),
            (200 * 60_000, "3 h 20 min"),
            (30 * 3_600_000, "30 h 0 min"),
            (50 * 3_600_000, "2 days"),
        ];
        for (millis, words) in cases {
            assert_eq!(span(millis), words);
        }
    }

    #[test]
    fn times_for_people_are_relative() {
        let at = Timestamp::from_millis;
        assert_eq!(ago(at(60_000), at(60_999)), "just now");
        assert_eq!(ago(at(60_000), at(780_000)), "12 min ago");
        assert_eq!(ago(at(60_000), at(0)), "just now");
        assert_eq!(until(at(780_000), at(60_000)), "in 12 min");
        assert_eq!(until(at(0), at(60_000)), "now");
    }

    #[test]
    fn typed_spans_are_understood() {
        let hour = 3_600_000;
        for (text, millis) in [
            ("12h", 12 * hour),
            ("90 min", 3 * hour / 2),
            ("2d", 48 * hour),
            ("1 week", 168 * hour),
            ("PT1H30M", 3 * hour / 2),
            ("12h ago", 12 * hour),
        ] {
            assert_eq!(read_span(text), Some(millis), "{text}");
        }
        for text in ["12", "h", "last", "1 month", "2026-01-31", ""] {
            assert_eq!(read_span(text), None, "{text}");
        }
    }

    #[test]
    fn typed_times_are_understood_in_their_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let expected: Timestamp = "2026-01-31T21:59:00.000Z".parse().unwrap();
        for text in [
            "2026-01-31T21:59:00.000Z",
            "2026-01-31T21:59:00Z",
            "2026-01-31T23:59:00+02:00",
            "2026-01-31 23:59",
            "2026-01-31T23:59:00",
        ] {
            assert_eq!(read(text, &zone), Some(expected), "{text}");
        }
        assert_eq!(read("yesterday", &zone), None);
        assert_eq!(local(expected, &zone), "2026-01-31 23:59:00");
    }
}
