//! Reads opencode's log on standard error: `timestamp=2026-11-22T07:05:32.683Z level=ERROR
//! name="value" ...`.
//!
//! Invariant: used only if the stream does not say why it ended.

use jiff::{Timestamp, Zoned};

use crate::agents::stream::failure_cause::{cause_from_status_in, cause_from_text};
use crate::agents::stream::limit_reset;
use crate::agents::stream::verdict::Failure;
use crate::domain::session::SessionId;
use crate::domain::verdict::Cause;

/// How a line of the log begins.
const BEGIN: &str = "timestamp=";
/// The message of an answer that failed; it is tried again after it.
const STREAM_ERROR: &str = "message=\"stream error\"";

/// The failure of a service that it waits for in silence, if that came later than `after`
/// (milliseconds since 1970).
pub(super) fn waits_for(stderr: &str, after: u64) -> Option<Failure> {
    let mut lines = stderr.lines().rev();
    let line = lines.find(|line| line.starts_with(BEGIN) && line.contains(STREAM_ERROR))?;
    let at = value(line, BEGIN)?.parse::<Timestamp>().ok()?;
    if at.as_millisecond() <= i64::try_from(after).ok()? {
        return None;
    }
    let error = value(line, "error.error=")?;
    let at = at.to_zoned(jiff::tz::TimeZone::system());
    let cause = cause(error, &at);
    (cause != Cause::Other).then(|| Failure::new(cause, error))
}

/// What the words of an error blame, told at `now`.
pub(super) fn cause(error: &str, now: &Zoned) -> Cause {
    match cause_from_text(error).or_else(|| cause_from_status_in(error)) {
        Some(Cause::Limit { .. }) => Cause::Limit {
            until: limit_reset::time_in(error, now),
        },
        Some(cause) => cause,
        None => Cause::Other,
    }
}

/// The conversation that it names.
pub(super) fn session(stderr: &str) -> Option<SessionId> {
    let mut lines = stderr.lines().rev();
    lines.find_map(|line| {
        let line = Some(line).filter(|line| line.starts_with(BEGIN))?;
        value(line, "session.id=")?.parse().ok()
    })
}

/// What is behind the error of this name, of which the stream tells nothing else.
pub(super) fn named<'a>(stderr: &'a str, name: &str) -> Option<&'a str> {
    let name = format!(" ref={name} ");
    let mut lines = stderr.lines();
    let line = lines.find(|line| line.starts_with(BEGIN) && line.contains(&name))?;
    value(line, " error=")
}

/// The last line that is not of the log, else the last error in it.
pub(super) fn last_word(stderr: &str) -> Option<&str> {
    let said = |line: &&str| !line.trim().is_empty() && !line.starts_with(BEGIN);
    let told = stderr.lines().rfind(said).map(str::trim);
    let error = |line| {
        ["error.error=", " error=", "cause="]
            .into_iter()
            .find_map(|name| value(line, name))
    };
    told.or_else(|| stderr.lines().rev().find_map(error))
}

/// The value of a field: up to the next space, or as long as it is quoted.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(name)?;
    match rest.strip_prefix('"') {
        None => rest.split_whitespace().next(),
        Some(quoted) => {
            let mut escaped = false;
            let end = quoted.find(|c| {
                let end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                end
            });
            Some(&quoted[..end.unwrap_or(quoted.len())])
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    const LOG: &str = concat!(
        "timestamp=2026-11-22T07:05:26.169Z level=ERROR run=f message=\"Failed to fetch\" \
        cause=\"Cause([\\\"x\\\"])\"\n",
        "timestamp=2026-11-22T07:05:32.683Z level=ERROR run=f message=\"stream error\" \
        session.id=ses_1 small=false ",
        "error.error=\"AI_APICallError: Rate limit reached. Please try again in 5h.\"\n",
    );

    #[test]
    fn what_it_waits_for_in_silence_is_in_the_log() {
        let failure = waits_for(LOG, 1_795_331_132_000).unwrap();
        let until = Cause::Limit {
            until: Some("2026-11-22T12:05:32.683Z".parse().unwrap()),
        };
        assert_eq!(failure.cause, until);
        assert!(failure.message.contains("Rate limit"));
        // It went on after that.
        assert_eq!(waits_for(LOG, 1_795_331_133_000), None);
        assert_eq!(session(LOG).unwrap().as_str(), "ses_1");
    }

    #[test]
    fn its_own_words_come_before_its_log() {
        assert_eq!(
            last_word(LOG),
            Some("AI_APICallError: Rate limit reached. Please try again in 5h.")
        );
        let told = format!("Error: no such thing\n{LOG}\n");
        assert_eq!(last_word(&told), Some("Error: no such thing"));
        let first = LOG.lines().next().unwrap();
        assert_eq!(last_word(first), Some("Cause([\\\"x\\\"])"));
        assert_eq!(last_word("\n"), None);
    }
}
