//! `swarm doctor`: checks the installation and the state, and repairs damage.
//!
//! `checks` has the single checks, `agents` those of the agent programs, `commits` those of swarm's
//! own commits, `content` those of filters and partial clones, `repository` those of the layout and
//! of leftovers, `damage` the repairs.

mod agents;
mod check;
mod checks;
mod commits;
mod content;
mod damage;
mod repository;

use clap::Args;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, safe, safe_block};
use check::{Check, Examination, Level};

/// `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if a check fails; warnings do not count.

If acknowledged events are damaged, doctor lists the possible repairs and what each one loses. It \
repairs only in the way that you name. The original files stay in .swarm/state/doctor-TIME/old/.

Examples:
  $ swarm doctor
  $ swarm doctor --fix
  $ swarm doctor --fix --way cut")]
pub struct Doctor {
    /// Fix what can be fixed without loss: permissions, files that a killed daemon left, an
    /// interrupted repair.
    #[arg(long)]
    pub fix: bool,
    /// How to repair damaged state.
    #[arg(long, value_enum, requires = "fix")]
    pub way: Option<damage::Way>,
    /// Accept what the repair loses, without asking.
    #[arg(long, requires = "way")]
    pub yes: bool,
}

/// Runs all checks; with `--way`, repairs first.
pub fn run(args: &Doctor, context: &mut Context) -> Result<(), CliError> {
    let repaired = match args.way {
        Some(way) => damage::repair(way, args.yes, context)?,
        None => None,
    };
    let mut examination = checks::all(args.fix, context);
    examination.checks.extend(repaired);
    report(&examination, context)?;
    let failed = examination
        .checks
        .iter()
        .filter(|check| check.level == Level::Fail)
        .count();
    let error = match failed {
        0 => return Ok(()),
        1 => CliError::refused("one check failed"),
        failed => CliError::refused(format!("{failed} checks failed")),
    };
    let is_repairable = examination
        .findings
        .as_ref()
        .is_some_and(|found| !found.ways.is_empty());
    Err(if args.fix && is_repairable {
        error.hint("choose how to repair the damage: swarm doctor --fix --way WAY")
    } else {
        error
    })
}

fn report(examination: &Examination, context: &mut Context) -> Result<(), CliError> {
    let (checks, findings) = (&examination.checks, examination.findings.as_ref());
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
        Level::Ok if check.fixed => (Tone::Good, "fixed"),
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
    for step in check.advice.iter().flat_map(|advice| advice.lines()) {
        let advice = output.paint(Tone::Live, &safe(step)).into_owned();
        output.line(format!("                      -> {advice}"))?;
    }
    Ok(())
}
