//! Starts a runner, on the daemon's side.
//!
//! Invariant: a launch may be repeated at any time. Only the first runner of an unclaimed run
//! starts a child.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::error::{Context as _, ProcessError, Result};
use super::os::pidfd::ProcessHandle;
use super::run_dir::RunDir;
use super::runner;
use crate::crash;

/// A runner that this process started. Pass it to [`wait`](super::wait). If it is dropped, the
/// runner continues and leaves no zombie.
#[derive(Debug)]
pub struct Launched {
    handle: Option<ProcessHandle>,
    pid: i32,
}

impl Launched {
    /// Process id of the runner.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Completes when this runner has ended.
    pub(super) async fn ended(&self) -> Result<()> {
        match &self.handle {
            Some(handle) => handle.ended().await.of("wait for", self.pid),
            None => Ok(()),
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && !handle.reap().unwrap_or(true)
        {
            unreaped().push(handle);
        }
    }
}

/// Runners that nobody waits for. The first launch after such a runner ends reaps it.
static UNREAPED: Mutex<Vec<ProcessHandle>> = Mutex::new(Vec::new());

fn unreaped() -> std::sync::MutexGuard<'static, Vec<ProcessHandle>> {
    UNREAPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the runner of a prepared run: `exe __runner DIR`, detached, without descriptors or
/// variables of this process.
///
/// # Errors
/// `exe` cannot be started. Failures inside the runner appear in [`wait`](super::wait) and
/// `runner.log`.
pub fn launch(dir: &RunDir, exe: &Path) -> Result<Launched> {
    unreaped().retain(|handle| !handle.reap().unwrap_or(true));
    let log_path = dir.file("runner.log");
    let mut options = OpenOptions::new();
    let log = options
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&log_path);
    let log = log.on("open", &log_path)?;
    let mut command = Command::new(exe);
    command
        .arg(runner::PROGRAM)
        .arg(dir.path())
        .current_dir("/");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    crash::pass_on(command.env_clear());
    let child = command.spawn().map_err(|source| ProcessError::Io {
        action: "start the runner",
        path: exe.to_owned(),
        source,
    })?;
    // Dropping `child` does not reap it, so its pid cannot be reused yet.
    let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
    let handle = ProcessHandle::open(pid).of("open", pid)?;
    Ok(Launched { handle, pid })
}
