//! A point in the event log that somebody typed: a sequence number, a time or an age.

use jiff::tz::TimeZone;

use crate::cli::error::{CliError, Kind};
use crate::domain::time::Timestamp;
use crate::view::describe::{self, Point};

/// Parses a point: `120`, `10m`, `2h`, `1d`, an RFC 3339 time, or a local time with or
/// without its date.
///
/// # Errors
/// The text is none of these (exit code 2).
pub fn read_point(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Point, CliError> {
    describe::point(text, zone, now).ok_or_else(|| {
        let message = format!("`{text}` is no event number, age or time");
        CliError::new(Kind::Usage, message).hint(describe::POINTS)
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
        let at_ten = Point::Time("2026-02-01T00:10:00.000Z".parse().unwrap());
        assert_eq!(read("00:10").unwrap(), at_ten);
        assert_eq!(read("0:10").unwrap(), at_ten);
        let last_night = Point::Time("2026-01-31T23:11:07.000Z".parse().unwrap());
        assert_eq!(read("23:11:07").unwrap(), last_night);
        let wrong = ["yesterday", "-5", "1 month", ""];
        let no_time_of_day = ["24:00", "7:5", ":10", "12:60", "00:10:00:00", "a:bc"];
        for text in wrong.into_iter().chain(no_time_of_day) {
            let error = read(text).unwrap_err();
            assert_eq!(error.kind.exit_code(), 2, "{text}: {error}");
        }
    }
}
