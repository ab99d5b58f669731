//! Writes and reads the JSON views, which are the same with and without a daemon.
//!
//! Invariant: a field that is missing or has another type reads as empty, so that a newer daemon's
//! view never makes a command fail.

use serde::Serialize;
use serde_json::Value;

use super::error::CliError;
use crate::domain::time::Timestamp;

/// A view as JSON.
pub fn to_value(view: &impl Serialize) -> Result<Value, CliError> {
    serde_json::to_value(view)
        .map_err(|error| CliError::refused(format!("cannot write the view as JSON: {error}")))
}

/// A text; empty if it is missing.
pub fn text<'a>(view: &'a Value, key: &str) -> &'a str {
    view.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A number; 0 if it is missing.
pub fn number(view: &Value, key: &str) -> u64 {
    view.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// A list; empty if it is missing.
pub fn list<'a>(view: &'a Value, key: &str) -> &'a [Value] {
    view.get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The texts of a list.
pub fn texts<'a>(view: &'a Value, key: &str) -> Vec<&'a str> {
    list(view, key).iter().filter_map(Value::as_str).collect()
}

/// A time.
pub fn time(view: &Value, key: &str) -> Option<Timestamp> {
    text(view, key).parse().ok()
}
