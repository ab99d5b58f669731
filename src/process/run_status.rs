//! What became of a run: asked at once, waited for, or found by the next daemon.
//!
//! Invariant: the answer is right whatever the runner does meanwhile. `exit.json` is written before the lock goes and
//! `started.json` after it is taken, so: read the claim, then the lock, then the record, and believe "not locked" only of a claim
//! that was seen before the lock was looked at.

use std::io;

use super::error::{Context as _, ProcessError, Result};
use super::handle::ProcessHandle;
use super::launch::Launched;
use super::lock;
use super::plain_file::open_regular;
use super::record::{self, ExitRecord, Started};
use super::rundir::RunDir;

/// Where a run is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    /// Nothing was ever executed; it may be launched.
    Prepared,
    /// Its runner lives.
    Running {
        /// The runner's process number, from the lock.
        runner_pid: i32,
        /// The child; none in the first milliseconds, before it is claimed.
        started: Option<Started>,
    },
    /// Over.
    Exited(ExitRecord),
    /// The child was claimed and the runner is gone without a record: killed, or the machine went down.
    /// See [`end_survivors`](super::end_survivors).
    Lost {
        /// The claim.
        started: Started,
    },
}

/// How a run that was waited for ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// With its record.
    Exited(ExitRecord),
    /// The runner is gone and left no record. [`inspect`] then says [`RunStatus::Prepared`] when nothing was executed (a new
    /// launch is safe), [`RunStatus::Lost`] when something was.
    Lost,
}

/// Looks at a run without disturbing it.
pub fn inspect(dir: &RunDir) -> Result<RunStatus> {
    loop {
        let claimed: Option<Started> = record::read(&dir.started())?;
        let holder = lock::holder(&dir.lock()).on("look at", &dir.lock())?;
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
            None => match open_regular(&dir.started()) {
                Ok(_) => {} // claimed in between: look again
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(RunStatus::Prepared);
                }
                // Something else in the claim's place: it may have been executed.
                Err(error) => return Err(error).on("read", &dir.started()),
            },
        }
    }
}

/// Waits until the run is over: without polling, for runners of this process (`launched`) and of earlier ones alike.
///
/// Dropping the future is safe; waiting again is too. A run that nobody has launched counts as [`RunEnd::Lost`] at once.
pub async fn wait(dir: &RunDir, launched: Option<Launched>) -> Result<RunEnd> {
    if let Some(launched) = launched {
        launched.ended().await?;
    }
    loop {
        match look(dir).await? {
            Look::Over(end) => return Ok(end),
            Look::Held(None) => {}
            Look::Held(Some(runner)) => {
                let pid = runner.pid();
                runner.ended().await.of("wait for", pid)?;
            }
        }
    }
}

/// What [`wait`] sees.
enum Look {
    Over(RunEnd),
    /// It is not over, and who holds it; nobody any more: it is to be looked at again.
    Held(Option<ProcessHandle>),
}

/// On a thread that may block: while a disk is busy even a small file takes its time, and others are waited for at the same time.
async fn look(dir: &RunDir) -> Result<Look> {
    let here = dir.clone();
    let looked = tokio::task::spawn_blocking(move || match inspect(&here)? {
        RunStatus::Exited(record) => Ok(Look::Over(RunEnd::Exited(record))),
        RunStatus::Prepared | RunStatus::Lost { .. } => Ok(Look::Over(RunEnd::Lost)),
        RunStatus::Running { .. } => runner(&here).map(Look::Held),
    });
    looked.await.on("look at", dir.path())?
}

/// The process that holds the run's lock; `None` when none does. The pidfd is opened before the lock is compared.
pub(super) fn runner(dir: &RunDir) -> Result<Option<ProcessHandle>> {
    let path = dir.lock();
    let mut holder = lock::holder(&path).on("look at", &path)?;
    while let Some(pid) = holder {
        let handle = ProcessHandle::open(pid).of("open", pid)?;
        holder = lock::holder(&path).on("look at", &path)?;
        if holder == Some(pid) {
            let id = dir.id().to_owned();
            let invisible = ProcessError::HolderInvisible { id, pid };
            return handle.ok_or(invisible).map(Some);
        }
    }
    Ok(None)
}
