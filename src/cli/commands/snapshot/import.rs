//! `swarm snapshot import`: continues a swarm from an archive. Needs a stopped daemon, and a clone
//! in which no swarm is.
//!
//! Invariant: what an import leaves behind is shown before anything changes, and needs consent.

use std::fs::File;
use std::io::{self, Read};

use clap::Args;

use crate::cli::confirm::says_yes;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::to_value;
use crate::cli::output::terminal::{self, Tone, safe};
use crate::cli::output::{Output, write_page};
use crate::daemon::transfer::{self, Import as Found, ImportOptions, PreparedImport};
use crate::domain::request::Author;
use crate::view::restore::{Restore, RestoreResult};

/// Both would work, and both would cost.
const COPY: &str = "this archive is a copy: if the other swarm goes on, both spend money";

/// `snapshot import`.
#[derive(Debug, Args)]
#[command(after_help = "\
The configuration, the prompts and the rules of this clone count. Approvals of hooks, accepted git \
settings and waits for accounts do not come along. The target branch never moves: if it lacks what \
had landed, the result names the command to type.

Examples:
  $ swarm snapshot import night.swarm.tar.zst --dry-run
  $ swarm snapshot import night.swarm.tar.zst
  $ swarm snapshot import night.swarm.tar.zst --accept-partial --yes
  $ age --decrypt night.age | swarm snapshot import - --yes")]
#[allow(clippy::struct_excessive_bools)] // flags of the command line
pub struct Import {
    /// The archive; `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Show what would be restored and left behind, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Import even if something must be left behind.
    #[arg(long)]
    pub accept_partial: bool,
    /// Let each restored agent start with its recorded prompt instead of a new one.
    #[arg(long)]
    pub preserve_prompts: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,
}

/// Runs the command.
pub(super) fn run(args: &Import, context: &mut Context) -> Result<(), CliError> {
    let paths = context.repo()?.paths();
    let options = ImportOptions {
        preserve_prompts: args.preserve_prompts,
    };
    let prepared = match transfer::prepare(&paths, open(&args.file)?, &options)? {
        Found::Done(result) => return show(context, &result),
        Found::Ready(prepared) => prepared,
    };
    if args.dry_run {
        let result = prepared.result();
        let is_copy = prepared.is_copy();
        prepared.abandon()?;
        show(context, &result)?;
        if is_copy {
            context.output.note(COPY);
        }
        return Ok(());
    }
    match consent(args, context, &prepared) {
        Ok(()) => {}
        Err(refused) => {
            prepared.abandon()?;
            return Err(refused);
        }
    }
    let is_copy = prepared.is_copy();
    let result = prepared.carry_out(&Author::Person)?;
    show(context, &result)?;
    if is_copy {
        context.output.note(COPY);
    }
    context.output.next_step("go on here: swarm start");
    Ok(())
}

fn open(file: &str) -> Result<Box<dyn Read>, CliError> {
    if file == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = File::open(file);
    let opened = opened.map_err(|error| CliError::io(format!("open {}", safe(file)), &error))?;
    Ok(Box::new(opened))
}

/// Asks on a terminal. Elsewhere, what is left behind needs `--accept-partial`.
fn consent(
    args: &Import,
    context: &mut Context,
    prepared: &PreparedImport,
) -> Result<(), CliError> {
    let result = prepared.result();
    let partial = result.result == RestoreResult::Partial;
    if !partial || args.accept_partial {
        if args.yes || !terminal::can_ask() || context.output.json {
            return Ok(());
        }
        notes(context, &result, prepared.is_copy());
        return ask(context, "Import it here?");
    }
    if terminal::can_ask() && !args.yes && !context.output.json {
        notes(context, &result, prepared.is_copy());
        return ask(context, "Import it without these?");
    }
    show(context, &result)?;
    Err(
        CliError::refused("something of this archive would be left behind")
            .details("nothing was changed")
            .hint("to import the rest, run the command again with --accept-partial")
            .code("IMPORT_PARTIAL"),
    )
}

fn ask(context: &mut Context, question: &str) -> Result<(), CliError> {
    if says_yes(context, question)? {
        return Ok(());
    }
    Err(CliError::new(Kind::Refused, "cancelled: the answer was no"))
}

fn notes(context: &mut Context, result: &Restore, is_copy: bool) {
    for line in page(&context.output, result) {
        context.output.note(line);
    }
    if is_copy {
        context.output.note(COPY);
    }
}

fn show(context: &mut Context, result: &Restore) -> Result<(), CliError> {
    if context.output.json {
        return context.output.document(&to_value(result)?);
    }
    let page = page(&context.output, result);
    write_page(&mut context.output, &page)
}

fn page(output: &Output, result: &Restore) -> Vec<String> {
    let source = &result.source;
    let mut lines = vec![
        safe(&result.summary),
        format!(
            "archive       {:.12}, event {}, swarm {}",
            source.manifest_sha256,
            source.seq,
            safe(&source.swarm_version)
        ),
    ];
    for warning in &result.warnings {
        let tone = if warning.issue.is_partial() {
            Tone::Warn
        } else {
            Tone::Dim
        };
        let name = output.paint(tone, warning.issue.as_str());
        lines.push(format!("{name}: {}", safe(&warning.message)));
        lines.push(format!("  instead: {}", safe(&warning.instead)));
        for command in &warning.commands {
            lines.push(format!("  {}", safe(command)));
        }
    }
    lines
}
