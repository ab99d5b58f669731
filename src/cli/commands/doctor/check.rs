//! One check of the doctor, and the list of all that were made.

use serde::Serialize;

use crate::cli::error::CliError;
use crate::daemon::repair::Findings;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    Warn,
    Fail,
}

/// One check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) level: Level,
    /// What was found.
    pub(super) message: String,
    /// What to do about it: one step a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
    /// The problem was fixed by this call.
    pub(super) fixed: bool,
}

impl Check {
    pub(super) fn new(name: &'static str, level: Level, message: impl Into<String>) -> Self {
        Self {
            name,
            level,
            message: message.into(),
            advice: None,
            fixed: false,
        }
    }

    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Level::Ok, message)
    }

    pub(super) fn warn(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Level::Warn, message)
    }

    pub(super) fn fail(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Level::Fail, message)
    }

    pub(super) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// A command's error as a finding.
    pub(super) fn error(name: &'static str, error: impl Into<CliError>) -> Self {
        let error = error.into();
        let details = error.details.as_deref();
        let message = match details {
            Some(details) => format!("{}\n{details}", error.message),
            None => error.message.clone(),
        };
        let check = Self::fail(name, message);
        match error.hints.as_slice() {
            [] => check,
            hints => check.advice(hints.join("\n")),
        }
    }
}

pub(super) fn fixed(name: &'static str, message: String) -> Check {
    Check {
        fixed: true,
        ..Check::ok(name, message)
    }
}

/// All checks, and what is wrong with the state.
pub(super) struct Examination {
    pub(super) checks: Vec<Check>,
    /// `None` while a daemon runs, or if the state cannot be examined.
    pub(super) findings: Option<Findings>,
}
