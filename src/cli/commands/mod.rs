//! One file for each verb: its arguments, whose doc comments are the help text, and what it does.
//!
//! Invariant: a command reads the state through [`Access`](super::access::Access), or needs the
//! daemon and says so; none of them touches a file of the state itself.

pub mod agent;
pub mod checkpoint;
pub mod clean;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod events;
pub mod hooks;
pub mod idea;
pub mod init;
pub mod memory;
pub mod merge;
pub mod pause;
pub mod replay;
pub mod report;
pub mod rollback;
pub mod service;
pub mod start;
pub mod status;
pub mod stop;
pub mod wait;

use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use super::access::{is_race, patiently};
use super::args::Verb;
use super::context::Context;
use super::error::CliError;
use super::host::{self, StartOptions};
use super::json;
use super::output::Output;
use super::remote::Daemon;
use super::repo::Repo;
use super::terminal;
use crate::daemon::{DaemonError, offline};
use crate::domain::command::Command;
use crate::domain::settings::Mode;

/// Does what was asked.
pub fn run(verb: Verb, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Verb::Init(args) => init::run(&args, context),
        Verb::Demo(args) => demo::run(&args, context),
        Verb::Start(args) => start::run(&args, context),
        Verb::Stop(args) => stop::run(&args, context),
        Verb::Status(args) => status::run(&args, context),
        Verb::Idea(verb) => idea::run(verb, context),
        Verb::Agent(verb) => agent::run(verb, context),
        Verb::Pause(args) => pause::pause(args, context),
        Verb::Resume(args) => pause::resume(&args, context),
        Verb::Merge(verb) => merge::run(&verb, context),
        Verb::Hooks(verb) => hooks::run(&verb, context),
        Verb::Memory(verb) => memory::run(&verb, context),
        Verb::Report(args) => report::run(&args, context),
        Verb::Events(args) => events::run(&args, context),
        Verb::Replay(args) => replay::run(&args, context),
        Verb::Wait(args) => wait::run(&args, context),
        Verb::Config(verb) => config::run(&verb, context),
        Verb::Doctor(args) => doctor::run(&args, context),
        Verb::Clean(args) => clean::run(&args, context),
        Verb::Checkpoint(verb) => checkpoint::run(&verb, context),
        Verb::Rollback(args) => rollback::run(&args, context),
        Verb::Service(verb) => service::run(&verb, context),
        Verb::Completions(args) => completions::run(&args, context),
    }
}

/// Has a daemon do what needs one, and waits for its end: the one that runs, or, where none does,
/// one that starts for this alone, in which no idea begins by itself.
fn on_the_daemon(context: &mut Context, command: &Command) -> Result<Value, CliError> {
    let repo = context.repo()?;
    patiently(|| match Daemon::connect(&repo)? {
        Some(daemon) => daemon.execute(command),
        None => on_a_daemon_of_its_own(&repo, command),
    })
}

fn on_a_daemon_of_its_own(repo: &Repo, command: &Command) -> Result<Value, CliError> {
    let paths = repo.paths();
    let before = offline::read(&paths)?;
    let (sender, answer) = mpsc::channel();
    let (command, there) = (command.clone(), repo.clone());
    host::run_daemon(StartOptions {
        repo: repo.clone(),
        mode: Some(Mode::SemiAuto),
        until_idle: false,
        on_open: Box::new(|_| {}),
        on_ready: Box::new(move |_, _| {
            // Who asked waits for the daemon's end first, and then for this.
            thread::spawn(move || drop(sender.send(ask_and_end(&there, &command))));
        }),
    })?;
    let gone = |_| {
        CliError::refused("the daemon that was started for this ended before it was done")
            .hint("the next start goes on with it: swarm start")
    };
    let answer = answer.recv().map_err(gone)?;
    // That nothing began by itself was for the while only; a daemon that runs by now has its own
    // mode.
    let mode = if before.settings.is_some() {
        before.mode()
    } else {
        let configured = offline::read(&paths)?.settings;
        configured.map_or_else(Mode::default, |settings| settings.mode)
    };
    match offline::execute(&paths, &Command::SetMode { mode }) {
        Ok(_) | Err(DaemonError::Locked { .. }) => answer,
        Err(error) => Err(error.into()),
    }
}

/// What runs under its runner goes on, as it did without a daemon.
fn ask_and_end(repo: &Repo, command: &Command) -> Result<Value, CliError> {
    let daemon = Daemon::connect(repo)?.ok_or_else(CliError::no_daemon)?;
    let answer = daemon.execute(command);
    let ended = daemon.execute(&Command::Shutdown { keep_agents: true });
    match (answer, ended) {
        // It was ending already: somebody pressed Ctrl+C.
        (Ok(_), Err(error)) if !is_race(&error) => Err(error),
        (answer, _) => answer,
    }
}

/// Writes a page.
fn write_page(output: &mut Output, page: &[String]) -> Result<(), CliError> {
    page.iter().try_for_each(|line| output.line(line))
}

/// Tells that a change is on disk: as JSON the answer, else a message.
fn confirm(context: &mut Context, answer: &serde_json::Value, words: &str) -> Result<(), CliError> {
    if context.output.json {
        return context.output.document(answer);
    }
    context.output.note(words);
    let note = json::text(answer, "note");
    if !note.is_empty() {
        context.output.note(note);
    }
    Ok(())
}

/// Asks for a yes. Without a terminal nobody can answer, so `--yes` must have been given.
fn agree(context: &mut Context, yes: bool, question: &str) -> Result<(), CliError> {
    if yes {
        return Ok(());
    }
    if !terminal::can_ask() {
        return Err(
            CliError::refused("this needs a yes, and there is no terminal to ask at")
                .hint("look at what was shown, then say yes beforehand: --yes"),
        );
    }
    context.output.flush()?;
    // The question is asked even with --quiet: it must be answered.
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| CliError::io("read the answer", &error))?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(CliError::refused("not done, for the answer was no"))
}
