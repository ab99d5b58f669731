//! Determines the cause of a failure of Gemini CLI.
//!
//! Invariant: the provider's status counts if it is reported, else the words of the message.

use jiff::{Timestamp as Instant, Zoned};
use serde_json::{Deserializer, Value};

use crate::agents::stream::failure_cause::{
    cause_from_text, names_exhausted_conversation, names_unknown_model,
};
use crate::agents::stream::json::{self, Object};
use crate::agents::stream::limit_reset;
use crate::agents::stream::verdict::{Failure, cause_from_status, last_line};
use crate::domain::time::Timestamp;
use crate::domain::verdict::Cause;

/// The exit code of a run that has no login.
const NO_LOGIN: i32 = 41;
/// Errors of a quota that is used up.
const USED_UP: &[&str] = &["TerminalQuotaError", "QUOTA_EXHAUSTED"];
/// Errors of a quota that it asks again after. If the model has answered, that helped.
const ASKED_AGAIN: &[&str] = &["RetryableQuotaError", "RESOURCE_EXHAUSTED"];
/// How it says that an answer broke off.
const BROKEN_OFF: &str = "without a finish reason";

/// Whether the error of a `result` is that an answer broke off.
pub(super) fn is_broken_off(message: &str) -> bool {
    message.contains(BROKEN_OFF)
}

/// What the error of a `result` blames, which was told at `now`.
pub(super) fn failure(message: &str, (resumed, answered): (bool, bool), now: &Zoned) -> Failure {
    let error = of_service(message);
    let plain = error
        .as_ref()
        .and_then(|error| json::text(error, "message"));
    let plain = plain.unwrap_or_else(|| without_frame(message));
    let status = error.as_ref().and_then(|error| json::number(error, "code"));
    let mut cause = cause(status, plain, resumed, now);
    let in_doubt = matches!(cause, Cause::Session | Cause::Other);
    if in_doubt && !answered && names_unknown_model(plain) {
        cause = Cause::Profile;
    }
    Failure::new(cause, plain)
}

fn cause(status: Option<u64>, plain: &str, resumed: bool, now: &Zoned) -> Cause {
    let blamed = status.and_then(cause_from_status);
    match blamed.or_else(|| cause_from_text(plain)) {
        Some(Cause::Limit { .. }) => Cause::Limit {
            until: limit_reset::time_in(plain, now),
        },
        Some(cause) => cause,
        None if names_exhausted_conversation(plain) => Cause::Exhausted,
        // The provider refused the whole request, which includes the earlier conversation.
        None if resumed && matches!(status, Some(400 | 413)) => Cause::Session,
        None => Cause::Other,
    }
}

/// The service's own error, which is passed on as it came: `[API Error: {"error":{...}}]`.
fn of_service(message: &str) -> Option<Object> {
    let from = message.get(message.find('{')?..)?;
    let mut values = Deserializer::from_str(from).into_iter::<Value>();
    let Value::Object(mut answer) = values.next()?.ok()? else {
        return None;
    };
    let Value::Object(error) = answer.remove("error")? else {
        return None;
    };
    Some(error)
}

/// `[API Error: this]`, and what is said behind it.
fn without_frame(message: &str) -> &str {
    let Some(inner) = message.strip_prefix("[API Error: ") else {
        return message;
    };
    inner.rsplit_once(']').map_or(inner, |(inner, _)| inner)
}

/// When a limit is reset, which only the standard error tells: `retryDelayMs: 18754500`, or in the
/// service's words.
pub(super) fn reset_in(stderr: &str, now: &Zoned) -> Option<Timestamp> {
    let delay = stderr.rsplit_once("retryDelayMs: ").and_then(|(_, rest)| {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let millis = rest[..end].parse::<i64>().ok()?;
        now.timestamp().as_millisecond().checked_add(millis)
    });
    let delay = delay.map(Timestamp::from_millis);
    delay.or_else(|| limit_reset::time_in(stderr, now))
}

/// What the standard error says of a quota, from the error's name on; `answered`: whether the model
/// has answered.
pub(super) fn quota_in(stderr: &str, answered: bool) -> Option<&str> {
    let asked_again = ASKED_AGAIN.iter().filter(|_| !answered);
    let names = || USED_UP.iter().chain(asked_again.clone());
    let from_name = |line| {
        names()
            .find_map(|name| str::find(line, name))
            .map(|at| &line[at..])
    };
    stderr.lines().find_map(from_name)
}

/// The failure of a run that ended before its stream began.
pub(super) fn at_once(code: Option<i32>, stderr: &str) -> Option<Failure> {
    // What it says more than a line about: the name of a conversation that is missing or taken
    // already, and arguments.
    let told = [
        ("Error resuming session", Cause::Session),
        ("Error starting session", Cause::Session),
        ("Unknown argument", Cause::Profile),
        (
            "Gemini CLI is not running in a trusted directory",
            Cause::Profile,
        ),
    ];
    // A line may begin with a colour.
    let says = |(words, cause): &(&str, Cause)| {
        let line = stderr.lines().find(|line| line.contains(words))?;
        Some(Failure::new(cause.clone(), line))
    };
    let cause = if code == Some(NO_LOGIN) {
        Cause::Login
    } else {
        Cause::Other
    };
    let last = || Some(Failure::new(cause, last_line(stderr)?));
    told.iter().find_map(says).or_else(last)
}

/// The time that a line of the stream carries; else the present.
pub(super) fn time_of(line: &Object) -> Zoned {
    let told = json::text(line, "timestamp").and_then(|time| time.parse::<Instant>().ok());
    told.map_or_else(Zoned::now, |time| {
        time.to_zoned(jiff::tz::TimeZone::system())
    })
}

#[cfg(test)]
mod tests {
    use super::quota_in;

    #[test]
    fn a_quota_that_is_used_up_is_found_in_the_standard_error() {
        let used_up = "Full report: /tmp/x.json TerminalQuotaError: You have exhausted it.\n  at x";
        let told = "TerminalQuotaError: You have exhausted it.";
        assert_eq!(quota_in(used_up, true), Some(told));
        let again = "Attempt 1 failed. RetryableQuotaError: Please wait.";
        assert!(quota_in(again, false).is_some());
        assert_eq!(quota_in(again, true), None, "it was answered after that");
        assert_eq!(quota_in("TypeError: x is not a function", false), None);
    }
}
