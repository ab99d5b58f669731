//! `swarm provenance`: what each iteration was given, what it did, and what came of it.
//!
//! `list` shows what the event log says of records, `show` one record, `verify` checks them,
//! `export` writes them; `page` has a record's lines for people. `replay` needs the daemon.
//! Invariant: all others read files, with and without a daemon. A record that differs from its
//! digest in the event log is shown by none of them.

mod export;
mod list;
mod page;
mod replay;
mod show;
mod verify;

use clap::{Args, Subcommand};

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::daemon::provenance::find;
use crate::daemon::provenance::log::{self, RecordLog};
use crate::daemon::provenance::verify::{Unserved, load};
use crate::daemon::{Paths, offline};
use crate::view::provenance::{Record, RecordView, schema};

/// What may be typed as a record.
const LIST: &str = "list them: swarm provenance list";

/// The commands about provenance records.
#[derive(Debug, Subcommand)]
pub enum Provenance {
    /// List the records, newest first.
    List(list::List),
    /// Show one record: prompt, model, tools, changed files, checks and cost.
    Show(show::Show),
    /// Check records against the event log, and their files against git.
    Verify(verify::Verify),
    /// Write records for other programs.
    Export(export::Export),
    /// Print the JSON Schema of a record.
    Schema(Schema),
    /// Repeat a recorded iteration and compare the result. This runs an agent once.
    Replay(replay::Replay),
}

/// `provenance schema`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm provenance schema > provenance-record.schema.json")]
pub struct Schema {}

/// Runs the command.
pub fn run(verb: &Provenance, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Provenance::List(args) => list::run(args, context),
        Provenance::Show(args) => show::run(args, context),
        Provenance::Verify(args) => verify::run(args, context),
        Provenance::Export(args) => export::run(args, context),
        Provenance::Schema(Schema {}) => context.output.raw(&format!("{:#}\n", schema())),
        Provenance::Replay(args) => replay::run(args, context),
    }
}

/// The records of a repository.
struct Records {
    paths: Paths,
    log: RecordLog,
}

impl Records {
    fn open(context: &Context) -> Result<Self, CliError> {
        let paths = context.repo()?.paths();
        let log = log::records(&paths, u64::MAX)?;
        Ok(Self { paths, log })
    }

    /// The record that is meant by a run, an idea or a commit.
    fn find(&self, text: &str) -> Result<&RecordView, CliError> {
        let landings = find::landings(&offline::read(&self.paths)?);
        let found = find::find(&self.paths, &self.log, &landings, text)?;
        found.ok_or_else(|| {
            CliError::refused(format!("no record belongs to `{}`", text.escape_debug()))
                .code("RECORD_UNKNOWN")
                .hint(LIST)
                .hint("an ID is a run (r0042), an idea (idea-003 or 3) or a commit")
        })
    }

    /// The content of an intact record.
    fn content(&self, line: &RecordView) -> Result<Vec<u8>, CliError> {
        load(&self.paths, &self.log, line).map_err(unserved)
    }
}

fn parse(line: &RecordView, content: &[u8]) -> Result<Record, CliError> {
    serde_json::from_slice(content).map_err(|error| {
        let message = format!(
            "this version cannot read the record of {}: {error}",
            line.run
        );
        CliError::refused(message).code("RECORD_UNREADABLE")
    })
}

fn unserved(error: Unserved) -> CliError {
    match error {
        Unserved::Daemon(error) => error.into(),
        Unserved::Record { .. } => {
            let code = error.code();
            CliError::refused(error.to_string())
                .code(code)
                .hint("check all of them: swarm provenance verify --all")
        }
    }
}
