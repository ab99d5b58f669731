//! Ending a run from outside: through its runner, or, when that was killed, without it.
//!
//! Invariant: the request is on disk (`stop`, `stop-now`) before anyone is signalled. A runner that is just starting looks for it
//! after taking the lock, so a request is never lost between launch and lock, at most repeated.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::error::{Context as _, ProcessError, Result};
use super::identity::{ProcStat, is_stopped};
use super::record::{self, Started};
use super::run_status::runner;
use super::rundir::RunDir;
use super::{lock, tree};

/// How to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// TERM to the child's group, and after `graceMs` KILL to the whole tree.
    Graceful,
    /// KILL to the whole tree.
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

/// What a stop request met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    /// The runner has it; [`wait`](super::wait) tells the end.
    Requested,
    /// No runner lives. A runner that is launched later ends the run without starting its child.
    NotRunning,
}

/// Asks the run to end, and returns at once. A second [`Stop::Graceful`] ends the grace of the first: the tree is killed.
pub fn stop(dir: &RunDir, how: Stop) -> Result<StopOutcome> {
    let marker = dir.file(how.marker());
    let mut options = OpenOptions::new();
    let made = options.write(true).create(true).truncate(false).mode(0o600);
    made.open(&marker).on("write", &marker)?;
    let Some(runner) = runner(dir)? else {
        return Ok(StopOutcome::NotRunning);
    };
    // The lock named this process; where there is a claim, its identity must agree.
    let claimed: Option<Started> = record::read(&dir.started())?;
    if let Some(started) = claimed.filter(|started| started.runner_pid == runner.pid())
        && !started.runner().exists().of("look at", runner.pid())?
    {
        return Ok(StopOutcome::NotRunning);
    }
    let signal = match how {
        Stop::Graceful => Signal::TERM,
        Stop::Now => Signal::USR1,
    };
    let sent = runner.signal(signal).of("signal", runner.pid())?;
    // One that was stopped would not hear it.
    runner.signal(Signal::CONT).of("wake", runner.pid())?;
    Ok(if sent {
        StopOutcome::Requested
    } else {
        StopOutcome::NotRunning
    })
}

/// Lets a runner go on that a signal has stopped: else nobody would see to its run's limits, and the run would last for ever.
pub fn wake(dir: &RunDir) -> Result<()> {
    if let Some(runner) = runner(dir)?
        && u32::try_from(runner.pid()).is_ok_and(is_stopped)
    {
        runner.signal(Signal::CONT).of("wake", runner.pid())?;
    }
    Ok(())
}

/// Ends what a killed runner left behind: each process that has the run's `SWARM_RUN_ID` and `SWARM_RUN_DIR` in its environment,
/// and all its descendants, verified gone. Gives their number. Blocks for at most about `within`.
///
/// Cannot see a process that changed its environment *and* lost every ancestor that had not.
pub fn end_survivors(dir: &RunDir, within: Duration) -> Result<usize> {
    if let Some(pid) = lock::holder(&dir.lock()).on("look at", &dir.lock())? {
        let id = dir.id().to_owned();
        return Err(ProcessError::RunnerAlive { id, pid });
    }
    let marks = marks(dir);
    end_all(dir.id(), within, |environ| carries(environ, &marks))
}

/// Ends the children of runs whose directory below `runs_dir` was taken away, and their descendants: nobody can follow them any more. Their
/// runners end with them. Gives the number. Blocks for at most about `within`.
pub fn end_vanished(runs_dir: &Path, within: Duration) -> Result<usize> {
    let begin = [
        b"SWARM_RUN_DIR=",
        runs_dir.as_os_str().as_encoded_bytes(),
        b"/",
    ]
    .concat();
    end_all("whose directory is gone", within, |environ| {
        let mut entries = environ.split(|byte| *byte == 0);
        let id = entries.find_map(|entry| entry.strip_prefix(&begin[..]));
        id.is_some_and(|id| !runs_dir.join(OsStr::from_bytes(id)).exists())
    })
}

pub(super) fn end_all(
    what: &str,
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
            let id = what.to_owned();
            let count = family.len();
            return Err(ProcessError::SurvivorsLeft { id, count });
        }
        ended += family.len();
    }
}

/// Those whose environment says so. Unreadable (another user's, or gone) counts as empty; a zombie's is.
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

/// The two variables that every child of this run starts with. The directory tells apart the runs of several repositories.
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
