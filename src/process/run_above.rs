//! Finds the live runs that a process belongs to. Called by `api` and `cli` to find out who speaks.
//!
//! Invariant: a command line alone proves nothing. A process counts as a runner only if it holds
//! the lock of the run that its command line names. One that says it is a runner and cannot be
//! found to be one is an error, never a person: an agent may move its run's directory away.
//!
//! Needs `/proc`: on macOS, and for a process in a PID namespace of its own, it finds nothing.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::error::{Context as _, ProcessError, Result};
use super::os::ancestry;
use super::run_dir::{RunDir, lock};
use super::runner;

/// The live runs above a process, of any repository, nearest first.
///
/// They stay the same as long as the process and the runs live: an orphan goes to the nearest
/// runner above it.
///
/// # Errors
/// [`ProcessError::Gone`] if the process has ended; `/proc` or a lock cannot be read; a runner
/// above does not hold the lock of its run.
pub fn runs_above(pid: i32) -> Result<Vec<RunDir>> {
    let found = ancestry::above(pid, live_run).of("find the runs above", pid)?;
    found.ok_or(ProcessError::Gone(pid))
}

/// The nearest live run above a process whose directory lies in `runs_dir`.
///
/// # Errors
/// As [`runs_above`].
pub fn run_above(runs_dir: &Path, pid: i32) -> Result<Option<RunDir>> {
    let runs = runs_above(pid)?;
    Ok(runs.into_iter().find(|run| run.is_in(runs_dir)))
}

/// The run of which this process is the live runner.
fn live_run(pid: i32) -> io::Result<Option<RunDir>> {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else {
        // It ended, or belongs to another user.
        return Ok(None);
    };
    let mut words = line.split(|byte| *byte == 0).skip(1);
    if words.next() != Some(runner::PROGRAM.as_bytes()) {
        return Ok(None);
    }
    let path = Path::new(OsStr::from_bytes(words.next().unwrap_or_default()));
    let unproven = || {
        let path = path.display();
        io::Error::other(format!(
            "process {pid} does not hold the lock of its run `{path}`"
        ))
    };
    let dir = RunDir::open_path(path).map_err(|_| unproven())?;
    if lock::holder(&dir.lock())? != Some(pid) {
        return Err(unproven());
    }
    Ok(Some(dir))
}
