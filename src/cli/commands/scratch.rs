//! `swarm scratch`: notes that all agents share.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::idea::text_or_stdin;
use super::memory::author;
use crate::cli::args::at::At;
use crate::cli::clock;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{number, text, time};
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::{Tone, safe, safe_block};
use crate::cli::output::{Output, write_page};
use crate::cli::render::when;
use crate::domain::memory::{MemoryCommand, NoteKey, PutNote};
use crate::domain::operation::Command;
use crate::domain::time::Timestamp;

/// The commands about the scratchpad.
#[derive(Debug, Subcommand)]
pub enum Scratch {
    /// Print a note.
    Get(Get),
    /// Write a note, whatever it says now.
    Put(Put),
    /// Write a note if it is still at the version that you saw.
    Cas(Cas),
    /// List the notes.
    List(List),
    /// Drop a note.
    Drop(Drop),
}

/// `scratch get`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm scratch get tasks/auth.md")]
pub struct Get {
    /// The note.
    #[arg(value_name = "KEY")]
    pub key: NoteKey,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `scratch put`.
#[derive(Debug, Args)]
#[command(after_help = "\
A note expires 24 hours after its last write, unless it is written with `--keep`.

Examples:
  $ swarm scratch put tasks/auth.md \"1. tokens  2. sessions\" --title \"Auth plan\"
  $ swarm scratch put tasks/auth.md - --keep")]
pub struct Put {
    /// The note: lower-case letters, digits, `-`, `_` and `.`, in parts joined by `/`.
    #[arg(value_name = "KEY")]
    pub key: NoteKey,
    /// The text; `-` reads it from standard input.
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub text: String,
    /// How it is written.
    #[command(flatten)]
    pub options: Writing,
}

/// `scratch cas`.
#[derive(Debug, Args)]
#[command(after_help = "\
If the note has another version, nothing is written, the exit code is 1, and the error carries the \
present version: `--json` has it as `current`.

Examples:
  $ swarm scratch cas tasks/auth.md 0 \"1. tokens\"
  $ swarm scratch cas tasks/auth.md 120 -")]
pub struct Cas {
    /// The note.
    #[arg(value_name = "KEY")]
    pub key: NoteKey,
    /// The version that you saw; 0: there is no such note.
    #[arg(value_name = "VERSION")]
    pub version: u64,
    /// The text; `-` reads it from standard input.
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub text: String,
    /// How it is written.
    #[command(flatten)]
    pub options: Writing,
}

/// How a note is written.
#[derive(Debug, Args)]
pub struct Writing {
    /// What it is about, one line; default: the old title, or the key.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Keep it until it is dropped.
    #[arg(long)]
    pub keep: bool,
}

/// `scratch list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm scratch list
  $ swarm scratch list tasks/")]
pub struct List {
    /// List only notes whose key begins with this.
    #[arg(value_name = "PREFIX", default_value = "")]
    pub prefix: String,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `scratch drop`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm scratch drop tasks/auth.md")]
pub struct Drop {
    /// The note.
    #[arg(value_name = "KEY")]
    pub key: NoteKey,
}

/// Runs the command.
pub fn run(verb: Scratch, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Scratch::Get(args) => get(&args, context),
        Scratch::Put(Put { key, text, options }) => write(&key, text, None, options, context),
        Scratch::Cas(args) => {
            let Cas { key, text, .. } = args;
            write(&key, text, Some(args.version), args.options, context)
        }
        Scratch::List(args) => list(&args, context),
        Scratch::Drop(Drop { key }) => drop_note(key, context),
    }
}

fn get(args: &Get, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let note = context.with_access(|access| access.note(&args.key))?;
    if context.output.json {
        return context.output.document(&note);
    }
    for line in safe_block(text(&note, "content")).lines() {
        context.output.line(line)?;
    }
    let now = context.now();
    let written = when(&note, "updatedAt", now);
    let (version, by) = (number(&note, "version"), author(&note));
    let expiry = expiry(&note, now);
    let words = format!("version {version}, written {written} by {by}, {expiry}");
    context.output.note(words);
    Ok(())
}

/// `expires in 23 h 5 min`, or `kept`.
fn expiry(note: &Value, now: Timestamp) -> String {
    let at = time(note, "expiresAt");
    at.map_or_else(
        || "kept".to_owned(),
        |at| format!("expires {}", clock::until(at, now)),
    )
}

fn write(
    key: &NoteKey,
    text: String,
    expected: Option<u64>,
    options: Writing,
    context: &mut Context,
) -> Result<(), CliError> {
    let put = PutNote {
        key: key.clone(),
        title: options.title,
        content: Some(text_or_stdin(text)?),
        expected,
        keep: options.keep,
    };
    let command = Command::Memory(MemoryCommand::PutNote(put));
    let answer = context.with_access(|access| access.execute(&command))?;
    let expiry = expiry(&answer, clock::now());
    let version = number(&answer, "version");
    let words = format!("{key} is at version {version} now, {expiry}");
    confirm(context, &answer, &words)
}

fn list(args: &List, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let all = context.with_access(|access| access.notes(&args.prefix))?;
    if context.output.json {
        return context.output.document(&all);
    }
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        context.output.note("there are no notes");
        let next = "write one: swarm scratch put KEY \"TEXT\"";
        context.output.next_step(next);
        return Ok(());
    }
    let page = table(&context.output, all, context.now());
    write_page(&mut context.output, &page)
}

fn table(output: &Output, all: &[Value], now: Timestamp) -> Vec<String> {
    let headings = ["KEY", "TITLE", "VERSION", "BYTES", "WRITTEN", "EXPIRES"];
    let mut rows = Rows::new(output, &headings, &[1]).leave_out(&[3, 4, 2, 5]);
    for note in all {
        let expires = time(note, "expiresAt");
        let expires = expires.map_or_else(|| "kept".to_owned(), |at| clock::until(at, now));
        rows.row(&[
            (Tone::Plain, text(note, "key")),
            (Tone::Plain, text(note, "title")),
            (Tone::Plain, &number(note, "version").to_string()),
            (Tone::Dim, &number(note, "bytes").to_string()),
            (Tone::Dim, &when(note, "updatedAt", now)),
            (Tone::Dim, &safe(&expires)),
        ]);
    }
    rows.lines()
}

fn drop_note(key: NoteKey, context: &mut Context) -> Result<(), CliError> {
    let words = format!("{key} is dropped");
    let put = PutNote {
        key,
        title: None,
        content: None,
        expected: None,
        keep: false,
    };
    let command = Command::Memory(MemoryCommand::PutNote(put));
    let answer = context.with_access(|access| access.execute(&command))?;
    confirm(context, &answer, &words)
}
