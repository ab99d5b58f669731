//! The status of a run: inspected at once, awaited, or found by the next daemon.
//!
//! Invariant: the answer is correct whatever the runner does meanwhile. The runner writes
//! `exit.json` before it releases the lock, and its child writes `started.json` after the lock is
//! taken. So read the claim, then the lock, then the record, and trust "not locked" only for a
//! claim read before the lock.

use std::io;

use super::RunDir;
use super::lock;
use super::record::{self, ExitRecord, Started};
use crate::plain_file;
use crate::process::error::{Context as _, ProcessError, Result};
use crate::process::launch::Launched;
use crate::process::os::pidfd::ProcessHandle;

/// Status of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    /// Nothing was ever executed; the run may be launched.
    Prepared,
    /// The runner is alive.
    Running {
        /// Process id of the runner, from the lock.
        runner_pid: i32,
        /// The claim of the child; `None` in the first milliseconds.
        started: Option<Started>,
    },
    /// The run is over.
    Exited(ExitRecord),
    /// The child claimed the run, but the runner is gone without a record: it was killed, or the
    /// machine went down. See [`end_survivors`](crate::process::end_survivors).
    #[allow(missing_docs)]
    Lost { started: Started },
}

/// Result of [`wait`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// The run ended and left its record.
    Exited(ExitRecord),
    /// The runner is gone and left no record. [`inspect`] returns [`RunStatus::Prepared`] if
    /// nothing was executed (a new launch is safe), and [`RunStatus::Lost`] otherwise.
    Lost,
}

/// Determines the status of a run without disturbing it.
pub fn inspect(dir: &RunDir) -> Result<RunStatus> {
    loop {
        let claimed: Option<Started> = record::read(&dir.started())?;
        let holder = lock::holder(&dir.lock()).on("inspect", &dir.lock())?;
        if let Some(record) = record::read(&dir.exit())? {
            return Ok(RunStatus::Exited(record));
        }
        if let Some(runner_pid) = holder {
            let started = match claimed {
                Some(started) => Some(started),
                None => record::read(&dir.started())?,
            };
            return Ok(RunStatus::Running {
                runner_pid,
                started,
            });
        }
        match claimed {
            Some(started) => return Ok(RunStatus::Lost { started }),
            None => match plain_file::open(&dir.started()) {
                Ok(_) => {} // claimed in between: inspect again
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(RunStatus::Prepared);
                }
                // Not a regular file, so nobody can tell whether the child was executed.
                Err(error) => return Err(error).on("read", &dir.started()),
            },
        }
    }
}

/// Waits until the run is over, without polling. Works for runners of this process (`launched`) and
/// of earlier daemons.
///
/// The future may be dropped, and the wait repeated. A run that was never launched counts as
/// [`RunEnd::Lost`] at once.
pub async fn wait(dir: &RunDir, launched: Option<Launched>) -> Result<RunEnd> {
    if let Some(launched) = launched {
        launched.ended().await?;
    }
    loop {
        match read_status(dir).await? {
            Look::Over(end) => return Ok(end),
            Look::Held(None) => {}
            Look::Held(Some(runner)) => {
                let pid = runner.pid();
                runner.ended().await.of("wait for", pid)?;
            }
        }
    }
}

/// One inspection by [`wait`].
enum Look {
    Over(RunEnd),
    /// Not over, with the runner that holds it. `None` means the runner has just gone, so inspect
    /// again.
    Held(Option<ProcessHandle>),
}

/// Runs on a blocking thread: on a busy disk even a small file takes time, and other runs are
/// awaited concurrently.
async fn read_status(dir: &RunDir) -> Result<Look> {
    let here = dir.clone();
    let looked = tokio::task::spawn_blocking(move || match inspect(&here)? {
        RunStatus::Exited(record) => Ok(Look::Over(RunEnd::Exited(record))),
        RunStatus::Prepared | RunStatus::Lost { .. } => Ok(Look::Over(RunEnd::Lost)),
        RunStatus::Running { .. } => runner(&here).map(Look::Held),
    });
    looked.await.on("inspect", dir.path())?
}

/// The process that holds the run's lock, if any. Compares the holder again after it opened the
/// pidfd, so the pidfd cannot belong to a process that reused the pid.
pub(in crate::process) fn runner(dir: &RunDir) -> Result<Option<ProcessHandle>> {
    let path = dir.lock();
    let mut holder = lock::holder(&path).on("inspect", &path)?;
    while let Some(pid) = holder {
        let handle = ProcessHandle::open(pid).of("open", pid)?;
        holder = lock::holder(&path).on("inspect", &path)?;
        if holder == Some(pid) {
            let id = dir.id().to_owned();
            let invisible = ProcessError::HolderInvisible { id, pid };
            return handle.ok_or(invisible).map(Some);
        }
    }
    Ok(None)
}
