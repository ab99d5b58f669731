//! A point in the event log that somebody typed: a sequence number, a time or an age.

use jiff::tz::TimeZone;

use crate::cli::error::{CliError, Kind};
use crate::domain::time::Timestamp;
use crate::view::describe::{self, Point};

/// Parses a point: `120`, `10m`, `2h`, `1d`, an RFC 3339 time, or a local date and time.
///
/// # Errors
/// The text is none of these (exit code 2).
pub fn read_point(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Point, CliError> {
    describe::point(text, zone, now).ok_or_else(|| {
        let message = format!("`{text}` is no event number, age or time");
        CliError::new(Kind::Usage, message).hint(
            "use a number (120), an age (10m, 2h, 1d), a time (2026-01-31T23:59:00Z) or a local \
            date and time (\"2026-01-31 23:59\")",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_number_an_age_or_a_time() {
        let now: Timestamp = "2026-02-01T00:10:00.000Z".parse().unwrap();
        let midnight = Point::Time("2026-02-01T00:00:00.000Z".parse().unwrap());
        let read = |text| read_point(text, &TimeZone::UTC, now);
        assert_eq!(read("120").unwrap(), Point::Seq(120));
        for text in ["10m", "600s", "2026-02-01T00:00:00Z", "2026-02-01 00:00"] {
            assert_eq!(read(text).unwrap(), midnight, "{text}");
        }
        for text in ["yesterday", "-5", "1 month", ""] {
            let error = read(text).unwrap_err();
            assert_eq!(error.kind.exit_code(), 2, "{text}: {error}");
        }
    }
}
