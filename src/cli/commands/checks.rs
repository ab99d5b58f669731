//! `swarm checks`: whether the quality commands see the tree that they check.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::config::load;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::output::Output;
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::{Tone, safe};
use crate::cli::output::write_page;
use crate::daemon::DaemonError;
use crate::daemon::checks_probe::{self, NoReport};
use crate::probe::{CommandReport, Dependence, Notice, ProbeError, Report, Sight, Step};

/// The commands about the project's checks.
#[derive(Debug, Subcommand)]
pub enum Checks {
    /// Find out whether your checks see the tree that they check.
    Probe(Probe),
    /// Accept that a check passes whatever the tree contains.
    AcceptBlind(AcceptBlind),
}

/// `checks probe`.
#[derive(Debug, Args)]
#[command(after_help = "\
A check that imports your checkout, or a stale copy, passes whatever an agent does. swarm runs \
each quality command on the target branch: as it is, with your checkout hidden, and with the \
source files replaced by garbage. While files are hidden or replaced, changes to the worktree and \
your home folder are thrown away. It needs user namespaces and a stopped daemon; a running one \
probes by itself (checks.canary).

SEES says what the garbage did: `executes` if the command compiles or executes the tree, `reads` \
if it only parses it, as linters do, and `blind` if it passes. CHECKOUT says what the command \
needs of your checkout.

Exit code 1 if a check cannot be trusted.

--json: {\"at\",\"commit\",\"qualityCommands\",\"setup\",\"report\":{\"classes\",\"sourceFiles\",\
\"commands\":[{\"command\",\"sight\",\"checkout\",\"millis\",\"why\",\"paths\",\"accepted\"}],\
\"alarms\":[{\"command\",\"message\",\"remedies\"}],\"notes\"}}

Examples:
  $ swarm checks probe
  $ swarm checks probe -v")]
pub struct Probe {}

/// `checks accept-blind`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  $ swarm checks accept-blind 'make smoke' --why 'it tests the deployed service'")]
pub struct AcceptBlind {
    /// The quality command, as the configuration has it.
    pub command: String,
    /// Why, for people.
    #[arg(long, value_name = "TEXT")]
    pub why: String,
}

/// Runs the command.
pub fn run(verb: &Checks, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Checks::Probe(Probe {}) => probe(context),
        Checks::AcceptBlind(args) => accept_blind(args, context),
    }
}

fn probe(context: &mut Context) -> Result<(), CliError> {
    let paths = context.repo()?.paths();
    let stop = stop_on_signal().map_err(|error| CliError::io("handle Ctrl+C", &error))?;
    let output = &mut context.output;
    let mut last = String::new();
    let mut tell = |step: Step<'_>| {
        let command = safe(step.command);
        if output.verbose > 0 {
            output.note(format!("running `{command}` {}", step.how));
        } else if step.command != last {
            step.command.clone_into(&mut last);
            output.note(format!("running `{command}`"));
        }
    };
    let probed = checks_probe::run(&paths, &stop, &mut tell).map_err(CliError::from)?;
    let report = &probed.report;
    if output.json {
        output.document(&probed)?;
    } else {
        let page = page(output, report);
        write_page(output, &page)?;
        for note in &report.notes {
            output.note(format!("note: {}", safe(&note.message)));
            for remedy in &note.remedies {
                output.next_step(safe(remedy));
            }
        }
    }
    if !report.alarms.is_empty() {
        return Err(alarm(report));
    }
    let executes = |command: &&CommandReport| command.sight == Sight::Executes;
    let count = report.commands.iter().filter(executes).count();
    if count > 0 {
        let all = report.commands.len();
        output.note(format!(
            "{count} of {all} checks execute the tree that they check"
        ));
    }
    Ok(())
}

/// Set by the first Ctrl+C.
fn stop_on_signal() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

fn page(output: &Output, report: &Report) -> Vec<String> {
    if report.commands.is_empty() {
        return vec![];
    }
    let mut table = Rows::new(output, &["SEES", "CHECKOUT", "TIME", "COMMAND"], &[3]);
    for command in &report.commands {
        let (tone, sees) = match command.sight {
            Sight::Executes => (Tone::Good, "executes"),
            Sight::Reads => (Tone::Plain, "reads"),
            Sight::Blind => (Tone::Bad, "blind"),
            Sight::Unknown => (Tone::Warn, "unknown"),
        };
        let (need_tone, needs) = match command.checkout {
            Dependence::None => (Tone::Plain, "not needed"),
            Dependence::Source => (Tone::Bad, "its source"),
            Dependence::Other => (Tone::Warn, "other files"),
            Dependence::Unknown => (Tone::Warn, "unknown"),
        };
        let tenths = command.millis.div_ceil(100);
        let time = format!("{}.{} s", tenths / 10, tenths % 10);
        table.row(&[
            (tone, sees),
            (need_tone, needs),
            (Tone::Dim, &time),
            (Tone::Plain, &command.command),
        ]);
    }
    table.lines()
}

fn alarm(report: &Report) -> CliError {
    let message = match report.alarms.len() {
        1 => "a check cannot be trusted".to_owned(),
        count => format!("{count} checks cannot be trusted"),
    };
    let lines: Vec<&str> = report.alarms.iter().map(|it| it.message.as_str()).collect();
    let error = CliError::refused(message)
        .details(lines.join("\n"))
        .code("CHECKS_BLIND");
    let mut remedies: Vec<&String> = Vec::new();
    for remedy in report
        .alarms
        .iter()
        .flat_map(|Notice { remedies, .. }| remedies)
    {
        if !remedies.contains(&remedy) {
            remedies.push(remedy);
        }
    }
    remedies.into_iter().fold(error, CliError::hint)
}

impl From<NoReport> for CliError {
    fn from(error: NoReport) -> Self {
        match error {
            NoReport::Daemon(DaemonError::Locked { pid }) => {
                Self::from(DaemonError::Locked { pid })
                    .hint("probe while no daemon runs: swarm stop && swarm checks probe")
            }
            NoReport::Daemon(error) => error.into(),
            NoReport::NoChecks => Self::refused(error.to_string())
                .hint("name your checks: swarm config set qualityCommands '[\"make test\"]'"),
            NoReport::Busy => {
                Self::refused(error.to_string()).hint("let it finish first: swarm start")
            }
            NoReport::NotPrepared(_) | NoReport::Setup { .. } => {
                Self::refused(error.to_string()).hint("find out what is wrong: swarm doctor")
            }
            NoReport::Probe(ProbeError::Interrupted) => {
                Self::new(Kind::Interrupted, "interrupted; there is no report")
            }
            NoReport::Probe(ProbeError::Io(_)) => {
                Self::refused(format!("the checks could not be probed: {error}"))
            }
        }
    }
}

fn accept_blind(args: &AcceptBlind, context: &mut Context) -> Result<(), CliError> {
    let repo = context.repo()?;
    let known = load(&repo)?.config.quality_commands;
    if !known.contains(&args.command) {
        let message = format!(
            "`{}` is not one of your quality commands",
            safe(&args.command)
        );
        return Err(CliError::refused(message).hint("list them: swarm config get qualityCommands"));
    }
    let accepted = checks_probe::accept(&repo.paths(), &args.command, &args.why)?;
    if context.output.json {
        return context.output.document(&accepted);
    }
    context
        .output
        .note("accepted; no alarm about this command holds anything up any more");
    Ok(())
}
