//! Commands that only a daemon can carry out, where none may be running.
//!
//! Invariant: a daemon that starts for one command begins no idea by itself and ends with it.

use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use super::remote::Daemon;
use super::{is_race, patiently};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::host::{self, StartOptions};
use crate::cli::repo::Repo;
use crate::daemon::{DaemonError, offline};
use crate::domain::command::Command;
use crate::domain::settings::Mode;

/// Has a daemon do what needs one, and waits for its end: the one that runs, or, where none does,
/// one that starts for this alone, in which no idea begins by itself.
pub fn on_the_daemon(context: &mut Context, command: &Command) -> Result<Value, CliError> {
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
