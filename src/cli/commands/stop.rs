//! `swarm stop`: ends the daemon and waits until it has gone.
//!
//! Invariant: it returns with success only when the lock is free and the process is no more.

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

/// How long the end may take. What has a time of its own within it: the grace for boundaries, the
/// end of each process tree, the last snapshot.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the lock may be held by somebody else after that.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How long between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// `stop`. Needs the daemon.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm stop
  $ swarm stop --keep-agents
  $ swarm stop --now")]
pub struct Stop {
    /// Only the daemon goes: its agents run on, and the next start adopts them.
    #[arg(long, conflicts_with = "now")]
    pub keep_agents: bool,
    /// Do not wait for safe boundaries: end running iterations at once; their worktrees are kept.
    #[arg(long)]
    pub now: bool,
}

/// Ends it.
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
            .note("waiting for running iterations to reach a safe boundary ...");
    }
    let body = json!({ "keepAgents": args.keep_agents, "now": args.now });
    match daemon.post("shutdown", &body) {
        // It is ending already; all that is left is to wait.
        Err(error)
            if ["ENDING", "UNKNOWN"].contains(&error.stable_code())
                || error.kind == Kind::NoDaemon => {}
        answer => drop(answer?),
    }
    // Our connection must not be one that it waits for.
    drop(daemon);
    wait_until_gone(pid, &repo)?;
    if context.output.json {
        return context
            .output
            .document(&json!({ "pid": pid, "stopped": true }));
    }
    context
        .output
        .note(format!("the daemon (pid {pid}) has ended"));
    Ok(())
}

/// Nobody can be found, and somebody holds the lock for longer than a command does: then that is
/// not "no daemon".
fn unless_hidden(error: CliError, repo: &Repo) -> CliError {
    let is_held = || wait_while(LOCK_PATIENCE, || is_locked(repo));
    if error.kind != Kind::NoDaemon || is_held().unwrap_or(true) {
        return error;
    }
    hidden(
        repo,
        &"it holds the lock of .swarm/state, and state/daemon.json is not there: it was deleted, \
            or the daemon only starts or ends",
    )
}

fn wait_until_gone(pid: u32, repo: &Repo) -> Result<(), CliError> {
    if !wait_while(PATIENCE, || Ok(is_alive(pid)))? {
        let seconds = PATIENCE.as_secs();
        return Err(CliError::refused(format!(
            "the daemon (pid {pid}) has not ended within {seconds} s"
        ))
        .hint("see what it waits for: swarm status")
        .hint("end running iterations at once: swarm stop --now"));
    }
    // The lock went with the process. If it is held a while longer, then by a new daemon, which is
    // not the one to wait for.
    wait_while(LOCK_PATIENCE, || is_locked(repo))?;
    Ok(())
}

fn is_locked(repo: &Repo) -> Result<bool, CliError> {
    Ok(offline::is_locked(&repo.paths())?)
}

/// Looks until it is not so any more; false: it still was when the time was over.
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

/// Whether there is such a process that has not ended. It is only looked at, never signalled.
fn is_alive(pid: u32) -> bool {
    let Ok(number) = i32::try_from(pid) else {
        return false;
    };
    kill(Pid::from_raw(number), None) != Err(Errno::ESRCH) && !is_zombie(pid)
}

/// Ended, and its parent has not looked yet: that may take for ever and is not our concern.
fn is_zombie(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The name stands in parentheses and may hold any character; the state follows the last one.
    let state = stat.rsplit(')').next().unwrap_or_default();
    matches!(state.trim_start().chars().next(), Some('Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_has_ended_is_not_alive_even_before_its_parent_looks() {
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
