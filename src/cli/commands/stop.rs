//! `swarm stop`: stops the daemon and waits until it is gone.
//!
//! Invariant: it succeeds only when the process has ended and its state lock is free.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::json;

use crate::cli::access::remote::hidden;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::list;
use crate::cli::repo::Repo;
use crate::daemon::offline;
use crate::domain::operation::Command;

/// How long stopping may take: the grace for iterations, ending each process tree, the last
/// snapshot.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long another process may hold the lock after that.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How long it waits between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// `stop`. Needs the daemon.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm stop
  $ swarm stop --keep-agents
  $ swarm stop --now")]
pub struct Stop {
    /// Stop only the daemon. Its agents keep running, and the next start adopts them.
    #[arg(long, conflicts_with = "now")]
    pub keep_agents: bool,
    /// Stop running iterations at once instead of letting them finish. Worktrees are kept.
    #[arg(long)]
    pub now: bool,
}

/// Stops the daemon.
pub fn run(args: &Stop, context: &mut Context) -> Result<(), CliError> {
    let repo = context.repo()?;
    let daemon = context
        .daemon()
        .map_err(|error| unless_hidden(error, &repo))?;
    let pid = daemon.pid();
    let status = daemon.get("status");
    let busy = status.is_ok_and(|status| !list(&status, "agents").is_empty());
    if busy && !args.now && !args.keep_agents {
        context
            .output
            .note("waiting for running iterations to finish ...");
    }
    let keep_agents = args.keep_agents;
    let shutdown = if args.now && !keep_agents {
        Command::ShutdownNow
    } else {
        Command::Shutdown { keep_agents }
    };
    match daemon.execute(&shutdown) {
        // It is stopping already; only wait.
        Err(error)
            if ["ENDING", "UNKNOWN"].contains(&error.stable_code())
                || error.kind == Kind::NoDaemon => {}
        answer => drop(answer?),
    }
    // Close our connection: the daemon waits for its clients.
    drop(daemon);
    wait_until_gone(pid, &repo)?;
    if context.output.json {
        return context
            .output
            .document(&json!({ "pid": pid, "stopped": true }));
    }
    context
        .output
        .note(format!("the daemon (pid {pid}) has stopped"));
    Ok(())
}

/// If no daemon can be found but the lock stays held longer than a command holds it, there is a
/// daemon.
fn unless_hidden(error: CliError, repo: &Repo) -> CliError {
    if error.kind != Kind::NoDaemon {
        return error;
    }
    let comes_free = wait_while(LOCK_PATIENCE, || is_locked(repo));
    if comes_free.unwrap_or(true) {
        return CliError::nothing_to_stop();
    }
    hidden(
        repo,
        &"it holds the lock of .git/swarm, but daemon.json there is missing (deleted, or the \
            daemon is just starting or stopping)",
    )
}

fn wait_until_gone(pid: u32, repo: &Repo) -> Result<(), CliError> {
    if !wait_while(PATIENCE, || Ok(is_alive(pid)))? {
        let seconds = PATIENCE.as_secs();
        return Err(CliError::refused(format!(
            "the daemon (pid {pid}) has not stopped within {seconds} s"
        ))
        .hint("see what it waits for: swarm status")
        .hint("stop running iterations at once: swarm stop --now"));
    }
    // The lock was released with the process. If it stays held, a new daemon has it; do not wait
    // for that one.
    wait_while(LOCK_PATIENCE, || is_locked(repo))?;
    Ok(())
}

fn is_locked(repo: &Repo) -> Result<bool, CliError> {
    Ok(offline::is_locked(&repo.paths())?)
}

/// Waits until the condition is false; returns false if it still held after `patience`.
fn wait_while(
    patience: Duration,
    mut is_so: impl FnMut() -> Result<bool, CliError>,
) -> Result<bool, CliError> {
    let start = Instant::now();
    while is_so()? {
        if start.elapsed() > patience {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
    Ok(true)
}

/// Whether the process exists and has not ended. It is never signalled.
fn is_alive(pid: u32) -> bool {
    let Ok(number) = i32::try_from(pid) else {
        return false;
    };
    kill(Pid::from_raw(number), None) != Err(Errno::ESRCH) && !is_zombie(pid)
}

/// Whether the process has ended but its parent has not reaped it; that may take forever.
fn is_zombie(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The name is in parentheses and may contain any character; the state follows the last one.
    let state = stat.rsplit(')').next().unwrap_or_default();
    matches!(state.trim_start().chars().next(), Some('Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_ended_process_is_not_alive_before_its_parent_reaps_it() {
        assert!(is_alive(std::process::id()));
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        let deadline = Instant::now() + Duration::from_secs(20);
        while is_alive(pid) && Instant::now() < deadline {
            thread::yield_now();
        }
        assert!(!is_alive(pid));
        child.wait().unwrap();
        assert!(!is_alive(pid));
        assert!(!is_alive(u32::MAX));
    }
}
