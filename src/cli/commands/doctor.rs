//! `swarm doctor`: what is wrong, and how to mend it.

mod agents;
mod checks;
mod damage;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::terminal::{Tone, safe, safe_block};
use crate::daemon::repair::Findings;

/// `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 when something fails; warnings do not count.

Damage to acknowledged events is shown with the ways out and what each of them loses. One is taken only when it is named; the \
files as they were are kept in .swarm/state/doctor-TIME/old/.

Examples:
  $ swarm doctor
  $ swarm doctor --fix
  $ swarm doctor --fix --way cut")]
pub struct Doctor {
    /// Mend what can be mended without harm: permissions, what a daemon that was killed left
    /// behind, a repair that was interrupted.
    #[arg(long)]
    pub fix: bool,
    /// Repair damaged state in this way.
    #[arg(long, value_enum, requires = "fix")]
    pub way: Option<damage::Way>,
    /// Say yes to what the way loses.
    #[arg(long, requires = "way")]
    pub yes: bool,
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
    fn error(name: &'static str, error: impl Into<CliError>) -> Self {
        let error = error.into();
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

fn mended(name: &'static str, message: String) -> Check {
    Check {
        fixed: true,
        ..Check::ok(name, message)
    }
}

/// All that was looked at.
struct Looked {
    checks: Vec<Check>,
    /// What is wrong with the state; none: a daemon has it, or it could not be looked at.
    findings: Option<Findings>,
}

/// Looks at everything.
pub fn run(args: &Doctor, context: &mut Context) -> Result<(), CliError> {
    let repaired = match args.way {
        Some(way) => damage::mend(way, args.yes, context)?,
        None => None,
    };
    let mut looked = checks::all(args.fix, context);
    looked.checks.extend(repaired);
    tell(&looked, context)?;
    let failed = looked
        .checks
        .iter()
        .filter(|check| check.level == Level::Fail)
        .count();
    let error = match failed {
        0 => return Ok(()),
        1 => CliError::refused("one check failed"),
        failed => CliError::refused(format!("{failed} checks failed")),
    };
    let choice = args.fix && looked.findings.is_some_and(|found| !found.ways.is_empty());
    Err(if choice {
        error.hint("damage is repaired only in a way that you choose: swarm doctor --fix --way WAY")
    } else {
        error
    })
}

fn tell(looked: &Looked, context: &mut Context) -> Result<(), CliError> {
    let (checks, findings) = (&looked.checks, looked.findings.as_ref());
    if context.output.json {
        let ok = checks.iter().all(|check| check.level != Level::Fail);
        let (damage, ways) = damage::document(findings);
        let document = json!({ "ok": ok, "checks": checks, "damage": damage, "ways": ways });
        return context.output.document(&document);
    }
    for check in checks {
        show(check, &mut context.output)?;
    }
    for line in findings.map(damage::ways).unwrap_or_default() {
        context.output.line(line)?;
    }
    Ok(())
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
