//! The command line: parses arguments, prints text or JSON, and returns one exit code.
//!
//! | place | does |
//! | --- | --- |
//! | [`args`] | the command line as types; the options that every command accepts |
//! | [`commands`] | one file for each command: its arguments, help text and work |
//! | [`access`] | the state: through the daemon if one is running, otherwise through the files |
//! | [`event_json`] | events as JSON |
//! | [`event_log`] | which events a command shows, and as what |
//! | [`render`], [`live`], `summary` | pages, live progress, the summary of a run |
//! | [`screen`] | the full-screen view |
//! | [`output`], `confirm` | streams, tables and colours; questions before a change |
//! | [`error`] | errors and exit codes |
//! | `new_ideas` | new ideas from files and from the person's editor |
//! | `mcp` | the memory and the swarm as tools, for an agent's program |
//! | `complete` | answers a shell that completes a command line |
//! | `host` | runs a daemon in this process |
//!
//! Invariant: data goes to standard output, messages to standard error, and every failure says what
//! happened, why, and what to do next.

pub mod access;
pub mod args;
pub mod clock;
pub mod commands;
mod complete;
mod confirm;
pub mod context;
pub mod error;
pub mod event_json;
pub mod event_log;
mod host;
mod json;
pub mod live;
mod mcp;
mod new_ideas;
pub mod output;
pub mod render;
pub mod repo;
pub mod screen;
mod slips;
mod summary;
#[cfg(test)]
pub(crate) mod testkit;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use jiff::tz::TimeZone;

use args::global::Global;
use args::{Cli, Verb};
use context::Context;
pub use error::{CliError, Kind};
use output::Output;
use output::terminal::{ColorChoice, safe};
pub use repo::Repo;

/// Runs the command line `args`; the first word is the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if complete::answer(&args) {
        return ExitCode::SUCCESS;
    }
    match Cli::try_parse_from(&args) {
        Ok(cli) => {
            let output = Output::standard(&cli.global);
            ExitCode::from(execute(cli.verb, cli.global, output))
        }
        Err(error) => not_understood(&error, &args),
    }
}

fn execute(verb: Verb, global: Global, output: Output) -> u8 {
    let mut context = Context {
        global,
        output,
        zone: TimeZone::system(),
        last_words: None,
        past: None,
    };
    finish(verb, &mut context)
}

/// Runs the command, reports a failure, and returns the exit code.
fn finish(verb: Verb, context: &mut Context) -> u8 {
    // Whoever sets a repository up says whether the log that was there goes on.
    let brought_back = if matches!(verb, Verb::Init(_)) {
        Ok(())
    } else {
        bring_back_log(context)
    };
    name_checkout(&verb, context);
    let done = brought_back
        .and_then(|()| commands::run(verb, context))
        .and_then(|()| context.output.flush());
    let Err(error) = done else {
        return 0;
    };
    if error.kind != Kind::BrokenPipe {
        // Show the data written so far before the error; the error matters more than a failed
        // flush.
        drop(context.output.flush());
        context.output.error(&error);
    }
    error.kind.exit_code()
}

/// Brings an event log back that somebody removed from `.swarm/state`, before anything reads it.
fn bring_back_log(context: &mut Context) -> Result<(), CliError> {
    // The command itself says why there is no repository.
    let names = context
        .repo()
        .ok()
        .and_then(|repo| repo.paths().second_names());
    let restored = names.map_or(Ok(false), |names| names.restore());
    if restored? {
        context.output.note(
            "the event log in .swarm/state was gone or an older copy, as after `git clean -fdx` or \
            a restored backup; swarm put it back",
        );
    }
    Ok(())
}

/// Tells a person in a linked worktree which checkout has the swarm.
fn name_checkout(verb: &Verb, context: &mut Context) {
    if !context.output.can_draw || matches!(verb, Verb::Init(_)) {
        return;
    }
    if let Ok(repo) = context.repo()
        && repo.is_shared()
    {
        let root = safe(&repo.root().to_string_lossy());
        context
            .output
            .note(format!("this worktree shares the swarm of {root}"));
    }
}

/// Help and version were asked for; everything else is a usage error.
fn not_understood(error: &clap::Error, args: &[OsString]) -> ExitCode {
    let wants_json = args.iter().any(|arg| arg == "--json");
    let slip = slips::correct(error, args);
    if slip.is_none() && (!error.use_stderr() || !wants_json) {
        // Closing the pipe is the reader's choice.
        drop(error.print());
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    }
    let told = slip.unwrap_or_else(|| as_usage_error(error));
    let global = Global {
        no_pager: false,
        repo: None,
        json: wants_json,
        color: ColorChoice::default(),
        verbose: 0,
        quiet: false,
    };
    Output::standard(&global).error(&told);
    ExitCode::from(Kind::Usage.exit_code())
}

fn as_usage_error(error: &clap::Error) -> CliError {
    let text = error.to_string();
    let message = text.lines().next().unwrap_or_default();
    let rest = text.lines().skip(1).collect::<Vec<_>>().join("\n");
    CliError::new(Kind::Usage, message.trim_start_matches("error: "))
        .details(rest.trim())
        .hint("see what is allowed: swarm --help")
}
