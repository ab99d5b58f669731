//! `swarm doctor`: what is wrong, and how to mend it.

mod checks;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::terminal::{Tone, safe, safe_block};

/// `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 when something fails; warnings do not count.

Examples:
  $ swarm doctor
  $ swarm doctor --fix")]
pub struct Doctor {
    /// Mend what can be mended without harm: permissions, and what a daemon that was killed left behind.
    #[arg(long)]
    pub fix: bool,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    name: &'static str,
    level: Level,
    /// What was found.
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// It was wrong and has been mended.
    fixed: bool,
}

impl Check {
    fn new(name: &'static str, level: Level, message: impl Into<String>) -> Self {
        Self {
            name,
            level,
            message: message.into(),
            advice: None,
            fixed: false,
        }
    }

    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Level::Ok, message)
    }

    fn warn(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Level::Warn, message)
    }

    fn fail(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Level::Fail, message)
    }

    fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// A command's error as a finding.
    fn error(name: &'static str, error: &CliError) -> Self {
        let details = error.details.as_deref();
        let message = match details {
            Some(details) => format!("{}\n{details}", error.message),
            None => error.message.clone(),
        };
        let check = Self::fail(name, message);
        match error.hints.as_slice() {
            [] => check,
            hints => check.advice(hints.join("; ")),
        }
    }
}

/// Looks at everything.
pub fn run(args: &Doctor, context: &mut Context<'_>) -> Result<(), CliError> {
    let checks = checks::all(args.fix, context);
    let failed = checks
        .iter()
        .filter(|check| check.level == Level::Fail)
        .count();
    if context.output.json {
        context
            .output
            .document(&json!({ "ok": failed == 0, "checks": checks }))?;
    } else {
        checks
            .iter()
            .try_for_each(|check| show(check, &mut context.output))?;
    }
    match failed {
        0 => Ok(()),
        1 => Err(CliError::refused("one check failed")),
        failed => Err(CliError::refused(format!("{failed} checks failed"))),
    }
}

fn show(check: &Check, output: &mut Output) -> Result<(), CliError> {
    let (tone, word) = match check.level {
        Level::Ok if check.fixed => (Tone::Good, "mended"),
        Level::Ok => (Tone::Good, "ok"),
        Level::Warn => (Tone::Warn, "warn"),
        Level::Fail => (Tone::Bad, "FAIL"),
    };
    let message = safe_block(&check.message);
    let mut lines = message.lines();
    let word = output.paint(tone, &format!("{word:<6}")).into_owned();
    let first = lines.next().unwrap_or_default();
    output.line(format!("{word}  {:<12}  {first}", check.name))?;
    for line in lines {
        output.line(format!("                      {line}"))?;
    }
    if let Some(advice) = &check.advice {
        let advice = output.paint(Tone::Live, &safe(advice)).into_owned();
        output.line(format!("                      -> {advice}"))?;
    }
    Ok(())
}
