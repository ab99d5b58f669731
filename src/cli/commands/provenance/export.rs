//! `swarm provenance export`: records for other programs.
//!
//! Invariant: a file is written as a whole or not at all, and only with records that are intact.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Records, parse};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::daemon::provenance::verify::{Condition, Unserved, load};
use crate::view::provenance::RecordView;
use crate::view::provenance::aiwg::aiwg;

/// `provenance export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each record is one line of JSON. `--all` leaves out records that were never written or have been \
deleted because they are old.

Examples:
  $ swarm provenance export idea-003 > record.json
  $ swarm provenance export --all -o records.jsonl
  $ swarm provenance export r0042 --format aiwg")]
pub struct Export {
    /// The record: a run, an idea or a commit.
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub id: Option<String>,
    /// Write all records, oldest first.
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
    /// How records are written.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Json)]
    pub format: Format,
    /// Write to this file instead of the standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// As they are: see `provenance schema`.
    Json,
    /// In the names of the AIWG execution snapshot schema.
    Aiwg,
}

/// Writes them.
pub(super) fn run(args: &Export, context: &mut Context) -> Result<(), CliError> {
    let records = Records::open(context)?;
    let lines: Vec<&RecordView> = match &args.id {
        Some(id) => vec![records.find(id)?],
        None => records.log.lines.iter().collect(),
    };
    let Some(path) = &args.output else {
        let mut left_out = 0;
        for line in lines {
            match exported(args, &records, line)? {
                Some(text) => context.output.raw(&text)?,
                None => left_out += 1,
            }
        }
        tell(context, left_out);
        return Ok(());
    };
    let failed = |error: &std::io::Error| CliError::io(format!("write {}", path.display()), error);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
    let (mut written, mut left_out) = (0, 0);
    for line in lines {
        match exported(args, &records, line)? {
            Some(text) => {
                file.write_all(text.as_bytes())
                    .map_err(|error| failed(&error))?;
                written += 1;
            }
            None => left_out += 1,
        }
    }
    file.as_file().sync_all().map_err(|error| failed(&error))?;
    file.persist(path).map_err(|error| failed(&error.error))?;
    let records = if written == 1 { "record" } else { "records" };
    context
        .output
        .note(format!("{written} {records} written to {}", path.display()));
    tell(context, left_out);
    Ok(())
}

/// Says how many records were left out.
fn tell(context: &mut Context, left_out: u64) {
    if left_out > 0 {
        let message =
            format!("{left_out} left out: never written, or deleted because they are old");
        context.output.note(message);
    }
}

/// A record as one line; `None` if it need not be there.
fn exported(
    args: &Export,
    records: &Records,
    line: &RecordView,
) -> Result<Option<String>, CliError> {
    let content = match load(&records.paths, &records.log, line) {
        Ok(content) => content,
        Err(Unserved::Record { condition, .. }) if args.all && is_gone(condition) => {
            return Ok(None);
        }
        Err(error) => return Err(super::unserved(error)),
    };
    Ok(Some(match args.format {
        Format::Json => String::from_utf8_lossy(&content).into_owned(),
        Format::Aiwg => format!("{}\n", aiwg(&parse(line, &content)?)),
    }))
}

/// Whether a record that `--all` asks for may be missing.
const fn is_gone(condition: Condition) -> bool {
    match condition {
        Condition::NotRecorded | Condition::Expired => true,
        Condition::Intact | Condition::Missing | Condition::Damaged | Condition::TreeMissing => {
            false
        }
    }
}
