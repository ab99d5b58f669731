//! Points in time as data. The domain never reads a clock: a [`Timestamp`] comes with the input.
//!
//! Invariant: the text form is RFC 3339 UTC with milliseconds (`2026-01-31T23:59:59.123Z`), and the
//! round trip is exact. Years outside 0 to 9999, whatever a program reports, are clamped.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Milliseconds since 1970-01-01T00:00:00Z without leap seconds, in the years 0 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 UTC time with milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time like 2026-01-31T23:59:59.123Z")]
pub struct BadTimestamp(String);

impl Timestamp {
    /// From milliseconds since the Unix epoch, clamped to the range.
    pub const fn from_millis(millis: i64) -> Self {
        if millis < EARLIEST {
            Self(EARLIEST)
        } else if millis > LATEST {
            Self(LATEST)
        } else {
            Self(millis)
        }
    }

    /// Milliseconds since the Unix epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// This time plus `millis` milliseconds, clamped to the range.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// The day (UTC): `2026-01-31`.
    pub fn day(self) -> String {
        let text = self.to_string();
        text.split('T').next().unwrap_or_default().to_owned()
    }

    /// Milliseconds from `earlier` to this time; negative if the clock went back.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The beginning of the year 0.
const EARLIEST: i64 = -62_167_219_200_000;
/// The end of the year 9999.
const LATEST: i64 = 253_402_300_799_999;

const DAY_MILLIS: i64 = 86_400_000;

/// Converts days since 1970-01-01 to (year, month, day), proleptic Gregorian. The 400-year era
/// counts from 1 March 0000, so that the leap day is the last of its year.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The inverse of [`civil_from_days`].
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(DAY_MILLIS));
        let rest = self.0.rem_euclid(DAY_MILLIS);
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
        let (second, milli) = (rest / 1_000 % 60, rest % 1_000);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
        )
    }
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0_i64, |sum, byte| {
        byte.is_ascii_digit()
            .then(|| sum * 10 + i64::from(byte - b'0'))
    })
}

fn parse(text: &[u8]) -> Option<Timestamp> {
    let marks = [
        (0, b'-'),
        (3, b'-'),
        (6, b'T'),
        (9, b':'),
        (12, b':'),
        (15, b'.'),
        (19, b'Z'),
    ];
    let (year, rest) = text.split_at_checked(text.len().checked_sub(20)?)?;
    if year.len() != 4 || marks.iter().any(|(at, mark)| rest[*at] != *mark) {
        return None;
    }
    let (year, month, day) = (digits(year)?, digits(&rest[1..3])?, digits(&rest[4..6])?);
    let (hour, minute) = (digits(&rest[7..9])?, digits(&rest[10..12])?);
    let (second, milli) = (digits(&rest[13..15])?, digits(&rest[16..19])?);
    let days = days_from_civil(year, month, day);
    let in_range = hour < 24 && minute < 60 && second < 60;
    if !in_range || civil_from_days(days) != (year, month, day) {
        return None;
    }
    let seconds = hour * 3_600 + minute * 60 + second;
    let millis = days * DAY_MILLIS + seconds * 1_000 + milli;
    Some(Timestamp::from_millis(millis))
}

impl FromStr for Timestamp {
    type Err = BadTimestamp;

    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        parse(text.as_bytes()).ok_or_else(|| BadTimestamp(text.to_owned()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time like 2026-01-31T23:59:59.123Z")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_times_parse_and_format() {
        for (text, millis) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T12:00:00.001Z", 951_825_600_001),
            ("2026-11-21T02:06:39.999Z", 1_795_226_799_999),
        ] {
            assert_eq!(text.parse(), Ok(Timestamp::from_millis(millis)));
            assert_eq!(Timestamp::from_millis(millis).to_string(), text);
        }
    }

    #[test]
    fn impossible_times_are_refused() {
        for text in [
            "",
            "2026-02-30T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-01 00:00:00.000Z",
            "2026-01-01T00:00:00Z",
            "226-01-01T00:00:00.000Z",
            "-226-01-01T00:00:00.000Z",
            "58862-01-20T02:40:00.000Z",
            "1234567890-01-01T00:00:00.000Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_outside_the_range_are_clamped() {
        let last = "9999-12-31T23:59:59.999Z";
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), last);
        assert_eq!(
            Timestamp::from_millis(0).plus_millis(i64::MAX).to_string(),
            last
        );
        let first = Timestamp::from_millis(i64::MIN);
        assert_eq!(first.to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(first, Timestamp::from_millis(0).plus_millis(i64::MIN));
    }

    proptest! {
        #[test]
        fn every_time_survives_the_round_trip(millis in prop_oneof![EARLIEST..LATEST,
            proptest::num::i64::ANY]) {
            let time = Timestamp::from_millis(millis);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}
