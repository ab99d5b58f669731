//! Environment variables that `notify.webhook` names and that are not set: until they are, nothing
//! can be sent. Called by `config check`, `doctor`, at a start and before each message.
//!
//! Invariant: only names are shown, never a value.

use std::ffi::OsStr;

use crate::agents::environment::Environment;
use crate::config::Config;

/// What to do about an unset variable.
pub const WEBHOOK_ADVICE: &str =
    "set it where the daemon starts, then start the daemon again: messages wait up to an hour";

/// Why nothing can be sent to the webhook from this environment; `None` if nothing prevents it.
pub fn webhook_problem(config: &Config, environment: &Environment) -> Option<String> {
    let webhook = config.notify.webhook.as_ref()?;
    let is_set = |name: &str| {
        let value = environment.get(OsStr::new(name));
        value.is_some_and(|value| value.to_str().is_some())
    };
    let unset: Vec<&str> = webhook
        .variables()
        .into_iter()
        .filter(|name| !is_set(name))
        .collect();
    let is_not_set = match unset.as_slice() {
        [] => return None,
        [one] => format!("the environment variable {one} is not set"),
        several => format!(
            "the environment variables {} are not set",
            several.join(", ")
        ),
    };
    Some(format!(
        "notify.webhook cannot be used, and its messages wait: {is_not_set}"
    ))
}
