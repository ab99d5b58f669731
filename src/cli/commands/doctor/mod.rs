//! `swarm doctor`: what is wrong, and how to mend it.

mod agents;
mod check;
mod checks;
mod damage;

use clap::Args;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, safe, safe_block};
use check::{Check, Level, Looked};

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
