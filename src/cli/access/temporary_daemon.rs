//! Executes a command that needs a daemon, starting a temporary one if none is running.
//!
//! Invariant: a temporary daemon starts no ideas, and ends with the command.

use std::process::{self, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use super::remote::Daemon;
use super::{PAUSE, is_race, patiently};
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::host::{self, PageChoice, StartOptions};
use crate::cli::repo::Repo;
use crate::daemon::{DaemonError, Handle, offline};
use crate::domain::effect::Effect;
use crate::domain::operation::Command;
use crate::domain::settings::Mode;
use crate::domain::state::State;

/// Has the daemon execute a command and waits until it is done. Without a daemon, one is started
/// just for this; it starts no ideas.
pub fn on_the_daemon(context: &mut Context, command: &Command) -> Result<Value, CliError> {
    let repo = context.repo()?;
    patiently(|| match Daemon::connect(&repo)? {
        Some(daemon) => daemon.execute(command),
        None => on_a_daemon_of_its_own(&repo, command),
    })
}

/// Has a child of this program execute a command, and returns what its `--json` prints. A daemon
/// handles the signals of its process, which a program that goes on afterwards must not lose.
pub fn in_its_own_process(repo: &Repo, args: &[&str]) -> Result<Value, CliError> {
    let program = host::own_program()?;
    let done = process::Command::new(&program)
        .arg("--json")
        .arg("-C")
        .arg(repo.root())
        .args(args)
        .current_dir(repo.root())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| CliError::io(format!("start {}", program.display()), &error))?;
    let unreadable = || {
        CliError::refused(format!(
            "`swarm {}` ended with {}",
            args.join(" "),
            done.status
        ))
        .hint("see what is wrong: swarm doctor")
    };
    if done.status.success() {
        return serde_json::from_slice(&done.stdout).map_err(|_| unreadable());
    }
    let code = done.status.code().and_then(|code| u8::try_from(code).ok());
    let text = String::from_utf8_lossy(&done.stderr);
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    // A program that was killed says nothing, or half of it.
    let error = serde_json::from_str(last).ok();
    let error = error.and_then(|last| CliError::from_json(Kind::from_exit_code(code?), &last));
    Err(error.unwrap_or_else(unreadable))
}

fn on_a_daemon_of_its_own(repo: &Repo, command: &Command) -> Result<Value, CliError> {
    let paths = repo.paths();
    let before = offline::read(&paths)?;
    let (sender, answer) = mpsc::channel();
    let (command, there) = (command.clone(), repo.clone());
    host::run_daemon(StartOptions {
        page: PageChoice::Without,
        repo: repo.clone(),
        mode: Some(Mode::SemiAuto),
        until_idle: false,
        on_open: Box::new(|_| {}),
        on_page: None,
        on_ready: Box::new(move |handle, _| {
            // The caller waits for the daemon to end, and then for this answer.
            thread::spawn(move || drop(sender.send(ask_and_end(&there, &command, &handle))));
        }),
    })?;
    let gone = |_| {
        CliError::refused("the daemon started for this command ended before it was done")
            .hint("the next start continues it: swarm start")
    };
    let answer = answer.recv().map_err(gone)?;
    // Semi-auto mode was only for this command. A daemon that runs by now has its own mode.
    let mode = if before.settings.is_some() {
        before.mode()
    } else {
        let configured = offline::read(&paths)?.settings;
        configured.map_or_else(Mode::default, |settings| settings.mode)
    };
    match offline::execute(&paths, &Command::SetMode { mode }.into()) {
        Ok(_) | Err(DaemonError::Locked { .. }) => answer,
        Err(error) => Err(error.into()),
    }
}

/// Whether something is under way that a command waits for.
fn is_asked(state: &State) -> bool {
    let asked = |effect: &Effect| {
        matches!(
            effect,
            Effect::MakeCheckpoint(_) | Effect::DeleteCheckpoint(_)
        )
    };
    state.rollback.is_some() || state.outbox.values().any(asked)
}

/// Executes the command and stops the daemon. Agents keep running, as they did without it.
fn ask_and_end(repo: &Repo, command: &Command, handle: &Handle) -> Result<Value, CliError> {
    let daemon = Daemon::connect(repo)?.ok_or_else(CliError::no_daemon)?;
    let answer = daemon.execute(command);
    // Other commands may have found this daemon and wait for it.
    while handle.read(is_asked) {
        thread::sleep(PAUSE);
    }
    let ended = daemon.execute(&Command::Shutdown { keep_agents: true });
    match (answer, ended) {
        // Somebody pressed Ctrl+C, and it is stopping already.
        (Ok(_), Err(error)) if !is_race(&error) => Err(error),
        (answer, _) => answer,
    }
}
