//! Ticks of a time axis.

use jiff::tz::TimeZone;

use crate::domain::time::Timestamp;
use crate::web::parts::local;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;
/// The distances between two ticks, the shortest first.
const STEPS: [i64; 21] = [
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    30 * DAY,
    YEAR,
];

/// A tick: where it is, in percent, and its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// From the left, in percent.
    pub place: f64,
    /// `23:00`, or `4 Jan` when days apart.
    pub words: String,
}

/// Ticks at round local times between two times, at most `most`.
#[expect(clippy::cast_precision_loss, reason = "for drawing")]
pub fn ticks(from: Timestamp, to: Timestamp, most: i64) -> Vec<Tick> {
    let whole = to.since(from);
    if whole <= 0 || most <= 0 {
        return Vec::new();
    }
    let fits = |step: &&i64| whole / **step < most;
    // Times of many years get no ticks.
    let Some(step) = STEPS.iter().find(fits) else {
        return Vec::new();
    };
    let format = match *step {
        ..MINUTE => "%H:%M:%S",
        MINUTE..DAY => "%H:%M",
        DAY..YEAR => "%-d %b",
        _ => "%Y",
    };
    let offset = offset(from);
    let first = (from.millis() + offset).div_euclid(*step) * step - offset;
    let after_first = (0..).map(|index| Timestamp::from_millis(first + index * step));
    after_first
        .take_while(|at| *at <= to)
        .filter(|at| *at >= from)
        .map(|at| Tick {
            place: at.since(from) as f64 * 100.0 / whole as f64,
            words: local(at, format),
        })
        .collect()
}

/// The local zone's distance from UTC at this time, in milliseconds.
fn offset(at: Timestamp) -> i64 {
    jiff::Timestamp::from_millisecond(at.millis()).map_or(0, |at| {
        i64::from(TimeZone::system().to_offset(at).seconds()) * 1_000
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_within() {
        let from: Timestamp = "2026-01-31T22:04:10.000Z".parse().unwrap();
        for minutes in [0, 1, 59, 61, 500, 5_000, 100_000, 3_000_000] {
            let to = from.plus_millis(minutes * MINUTE);
            let ticks = ticks(from, to, 8);
            assert!(ticks.len() <= 9, "{minutes}: {ticks:?}");
            assert!(minutes < 2 || !ticks.is_empty(), "{minutes}");
            assert!(ticks.iter().all(|tick| (0.0..=100.0).contains(&tick.place)));
        }
        let wild = ticks(from, Timestamp::from_millis(i64::MAX), 8);
        assert!(wild.is_empty());
    }
}
