//! Determines the cause of an agent's error response.
//!
//! Invariant: the protocol has codes for a missing login and a missing resource. Otherwise the
//! HTTP status counts, then the words of the message. Ambiguous messages determine no cause.

use agent_client_protocol::{Error, ErrorCode};
use serde_json::Value;

use crate::agents::stream::failure_cause::{
    cause_from_status_in, cause_from_text, names_exhausted_conversation,
};
use crate::agents::stream::verdict::{Failure, cause_from_status};
use crate::domain::verdict::Cause;

/// The statuses of HTTP answers that are errors.
const STATUS: std::ops::Range<u64> = 400..600;
/// How deep a status may lie in what an error carries.
const DEPTH: usize = 6;

/// What an error of the agent's blames.
pub(super) fn failure(error: &Error) -> Failure {
    let said = said(error);
    Failure::new(cause(error, &said), &said)
}

fn cause(error: &Error, said: &str) -> Cause {
    if error.code == ErrorCode::AUTH_REQUIRED {
        return Cause::Login;
    }
    let data = error.data.as_ref();
    // Some take the status for the code.
    let code = u64::try_from(i32::from(error.code)).ok();
    let status = code
        .filter(|code| STATUS.contains(code))
        .or_else(|| status(data?, DEPTH));
    let by_status = match status {
        Some(status) => cause_from_status(status),
        None => cause_from_status_in(said),
    };
    by_status
        .or_else(|| cause_from_text(said))
        .or_else(|| names_exhausted_conversation(said).then_some(Cause::Exhausted))
        .unwrap_or(Cause::Other)
}

/// Its message, and what it carries where that is more than the message.
fn said(error: &Error) -> String {
    let details = match &error.data {
        None | Some(Value::Null) => return error.message.clone(),
        Some(Value::String(details)) => details.clone(),
        Some(data) => match ["details", "message"]
            .iter()
            .find_map(|name| data.get(name))
        {
            Some(Value::String(details)) => details.clone(),
            _ => data.to_string(),
        },
    };
    if details.contains(&error.message) || error.message.contains(&details) {
        return if details.len() > error.message.len() {
            details
        } else {
            error.message.clone()
        };
    }
    format!("{}: {details}", error.message)
}

/// The status of an HTTP answer among what an error carries.
fn status(data: &Value, depth: usize) -> Option<u64> {
    let Value::Object(fields) = data else {
        return None;
    };
    let named = ["status", "statusCode", "code", "httpStatus"].iter();
    let found = named
        .filter_map(|name| fields.get(*name)?.as_u64())
        .find(|status| STATUS.contains(status));
    found.or_else(|| {
        let deeper = depth.checked_sub(1)?;
        fields.values().find_map(|field| status(field, deeper))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_blame_what_their_words_say() {
        let limit = || Cause::Limit { until: None };
        let error = |message: &str, data: Option<Value>| {
            let mut error = Error::new(-32603, message);
            error.data = data;
            error
        };
        for (message, data, expected) in [
            ("Internal error", None, Cause::Other),
            (
                "Internal error",
                Some(json!({"details": "got 429"})),
                limit(),
            ),
            ("Rate limit exceeded", None, limit()),
            (
                "x",
                Some(json!({"error": {"code": 503}})),
                Cause::Overloaded,
            ),
            ("x", Some(json!({"error": {"code": 400}})), Cause::Other),
            (
                "prompt is too long",
                Some(json!({"code": 400})),
                Cause::Exhausted,
            ),
            ("x", Some(json!("API key not valid")), Cause::Login),
            ("port 4290 of 1429", None, Cause::Other),
        ] {
            let found = failure(&error(message, data.clone()));
            assert_eq!(found.cause, expected, "{message} {data:?}");
        }
        let mut error = error("Authentication required", None);
        error.code = 429.into();
        assert_eq!(failure(&error).cause, limit());
        error.code = ErrorCode::AUTH_REQUIRED;
        assert_eq!(failure(&error).cause, Cause::Login);
    }

    #[test]
    fn an_error_is_told_once_and_whole() {
        let said = |data: Value| {
            let mut error = Error::new(-32603, "Internal error");
            error.data = Some(data);
            failure(&error).message
        };
        assert_eq!(
            said(json!({"details": "no such model"})),
            "Internal error: no such model"
        );
        assert_eq!(said(json!("Internal error: x")), "Internal error: x");
        assert_eq!(said(Value::Null), "Internal error");
        assert_eq!(said(json!({"a": 1})), "Internal error: {\"a\":1}");
    }
}
