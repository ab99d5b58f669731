//! Ends a run from outside: through its runner, or without it if the runner was killed.
//!
//! Invariant: the request is on disk (`stop`, `stop-now`) before any signal is sent. A starting
//! runner checks for it after it takes the lock, so a request is never lost, at most repeated.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::error::{Context as _, ProcessError, Result};
use super::os::identity::{ProcStat, is_stopped};
use super::os::tree;
use super::run_dir::RunDir;
use super::run_dir::lock;
use super::run_dir::record::{self, Started};
use super::run_dir::status::runner;

/// How to stop a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// SIGTERM to the child's group, then after `graceMs` SIGKILL to the whole process tree.
    Graceful,
    /// SIGKILL to the whole process tree.
    Now,
}

impl Stop {
    pub(super) fn marker(self) -> &'static str {
        match self {
            Self::Graceful => "stop",
            Self::Now => "stop-now",
        }
    }
}

/// Result of a stop request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    /// The runner got the request; [`wait`](super::wait) reports the end.
    Requested,
    /// No runner is alive. A runner launched later ends the run without starting its child.
    NotRunning,
}

/// Asks the run to end, and returns at once. A second [`Stop::Graceful`] cuts the grace period of
/// the first: the tree is killed.
pub fn stop(dir: &RunDir, how: Stop) -> Result<StopOutcome> {
    let marker = dir.file(how.marker());
    let mut options = OpenOptions::new();
    let made = options.write(true).create(true).truncate(false).mode(0o600);
    made.open(&marker).on("write", &marker)?;
    let Some(runner) = runner(dir)? else {
        return Ok(StopOutcome::NotRunning);
    };
    // The lock named this process; if there is a claim, it must name the same one.
    let claimed: Option<Started> = record::read(&dir.started())?;
    if let Some(started) = claimed.filter(|started| started.runner_pid == runner.pid())
        && !started.runner().exists().of("inspect", runner.pid())?
    {
        return Ok(StopOutcome::NotRunning);
    }
    let signal = match how {
        Stop::Graceful => Signal::TERM,
        Stop::Now => Signal::USR1,
    };
    let sent = runner.signal(signal).of("signal", runner.pid())?;
    // A stopped process does not handle signals.
    runner.signal(Signal::CONT).of("wake", runner.pid())?;
    Ok(if sent {
        StopOutcome::Requested
    } else {
        StopOutcome::NotRunning
    })
}

/// Continues a runner that a signal has stopped. Otherwise nothing would enforce the run's limits,
/// and the run could last forever.
pub fn wake(dir: &RunDir) -> Result<()> {
    if let Some(runner) = runner(dir)?
        && u32::try_from(runner.pid()).is_ok_and(is_stopped)
    {
        runner.signal(Signal::CONT).of("wake", runner.pid())?;
    }
    Ok(())
}

/// Ends what a killed runner left behind: every process with the run's `SWARM_RUN_ID` and
/// `SWARM_RUN_DIR` in its environment, and all its descendants. Verifies that they are gone and
/// returns their number. Blocks for about `within` at most.
///
/// Misses a process that changed its environment *and* lost every ancestor that had not.
pub fn end_survivors(dir: &RunDir, within: Duration) -> Result<usize> {
    if let Some(pid) = lock::holder(&dir.lock()).on("inspect", &dir.lock())? {
        let id = dir.id().to_owned();
        return Err(ProcessError::RunnerAlive { id, pid });
    }
    let marks = marks(dir);
    let owner = format!("run `{}`", dir.id());
    end_all(&owner, within, |environ| carries(environ, &marks))
}

/// Ends the children, and their descendants, of runs whose directory in `runs_dir` was removed:
/// nobody can follow them any more. Their runners end with them. Returns the number of processes
/// ended. Blocks for about `within` at most.
pub fn end_vanished(runs_dir: &Path, within: Duration) -> Result<usize> {
    let begin = [
        b"SWARM_RUN_DIR=",
        runs_dir.as_os_str().as_encoded_bytes(),
        b"/",
    ]
    .concat();
    end_all("runs without a directory", within, |environ| {
        let mut entries = environ.split(|byte| *byte == 0);
        let id = entries.find_map(|entry| entry.strip_prefix(&begin[..]));
        id.is_some_and(|id| !runs_dir.join(OsStr::from_bytes(id)).exists())
    })
}

pub(super) fn end_all(
    owner: &str,
    within: Duration,
    is_one: impl Fn(&[u8]) -> bool,
) -> Result<usize> {
    let deadline = Instant::now() + within;
    let mut ended = 0;
    loop {
        let family = tree::freeze(|| family(&is_one)).on("search", "/proc".as_ref())?;
        if family.is_empty() {
            return Ok(ended);
        }
        if !tree::kill_all(&family, deadline).on("search", "/proc".as_ref())? {
            let owner = owner.to_owned();
            let count = family.len();
            return Err(ProcessError::SurvivorsLeft { owner, count });
        }
        ended += family.len();
    }
}

/// The processes whose environment matches, and their descendants. An environment that cannot be
/// read (another user's process, or one that is gone) counts as empty.
fn family(is_one: impl Fn(&[u8]) -> bool) -> io::Result<Vec<ProcStat>> {
    let own = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
    let environ = |pid: i32| fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let processes = tree::all()?;
    let mut family: Vec<ProcStat> = processes
        .values()
        .filter(|stat| stat.pid != own && is_one(&environ(stat.pid)))
        .copied()
        .collect();
    let roots: Vec<i32> = family.iter().map(|stat| stat.pid).collect();
    family.extend(tree::descendants(&processes, &roots));
    family.retain(|stat| stat.pid != own);
    Ok(family)
}

/// The two variables that mark every child of this run. The directory distinguishes the runs of
/// different repositories.
pub(super) fn variables(dir: &RunDir) -> [(&'static str, std::ffi::OsString); 2] {
    [
        ("SWARM_RUN_ID", dir.id().into()),
        ("SWARM_RUN_DIR", dir.path().into()),
    ]
}

fn marks(dir: &RunDir) -> Vec<Vec<u8>> {
    let mark = |(name, value): &(&str, std::ffi::OsString)| {
        [name.as_bytes(), b"=", value.as_encoded_bytes()].concat()
    };
    variables(dir).iter().map(mark).collect()
}

fn carries(environ: &[u8], marks: &[Vec<u8>]) -> bool {
    let has = |mark: &Vec<u8>| environ.split(|byte| *byte == 0).any(|entry| entry == mark);
    marks.iter().all(has)
}
