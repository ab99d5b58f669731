//! `swarm __child DIR RUNNER-PID`: sets itself up, claims the run, and executes the program.
//!
//! It is a separate program instead of code between `fork` and `exec`, so it needs no unsafe code
//! and every step can fail with a message.
//!
//! Invariants: it executes nothing unless it created `started.json`, and never outlives its runner.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use serde::{Deserialize, Serialize};

use super::super::stop;
use super::signals;
use crate::crash;
use crate::plain_file;
use crate::process::os::identity::{Identity, ProcStat};
use crate::process::run_dir::RunDir;
use crate::process::run_dir::record::{self, Started};
use crate::process::run_dir::spec::RunSpec;
use crate::remove;

/// First argument of this hidden program.
pub(super) const PROGRAM: &str = "__child";

/// Why the program was not executed. Sent to the runner over a pipe that closes on exec.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// Another child has claimed this run.
    AlreadyStarted,
    /// The claim could not be written. Nothing was executed, and the program is not to blame.
    NotClaimed(String),
    /// A step of the set-up, or the execution itself, failed.
    Failed(String),
}

/// A started child, on the runner's side.
pub(super) struct Spawned {
    /// Process id of the child, which leads its own process group. Valid until it is reaped.
    pub(super) pid: i32,
    reports: io::PipeReader,
}

impl Spawned {
    /// The child's report; `None` if it executed its program, or was killed before it could report.
    pub(super) fn report(&mut self) -> Option<Report> {
        // Non-blocking, because a process stuck in the kernel may still hold the other end.
        fcntl(&self.reports, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok()?;
        let mut text = Vec::new();
        let _ = self.reports.read_to_end(&mut text);
        serde_json::from_slice(&text).ok()
    }
}

/// Starts the hidden program from the runner. It gets no environment; its standard input is the
/// pipe for its report.
pub(super) fn spawn(dir: &RunDir) -> io::Result<Spawned> {
    let (reports, to_runner) = io::pipe()?;
    // The file of the running program, even if an update has replaced it on disk.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("swarm").arg(PROGRAM).arg(dir.path());
    command.arg(std::process::id().to_string());
    crash::pass_on(command.env_clear());
    let child = command.stdin(to_runner).process_group(0).spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    Ok(Spawned { pid, reports })
}

/// The hidden program. Returns only if the program was not executed.
pub(super) fn main(dir: &Path, runner: &str) -> ExitCode {
    // 127, as in shells. The report says why.
    let code = ExitCode::from(127);
    let Ok(to_runner) = io::stdin().as_fd().try_clone_to_owned() else {
        return code;
    };
    let Some(report) = start(dir, runner) else {
        return code;
    };
    let text = serde_json::to_vec(&report).unwrap_or_default();
    // A runner that is gone needs no report.
    let _ = File::from(to_runner).write_all(&text);
    code
}

fn start(path: &Path, runner: &str) -> Option<Report> {
    match claim_and_execute(path, runner) {
        Ok(report) => report,
        Err(error) => Some(Report::Failed(error)),
    }
}

fn claim_and_execute(path: &Path, runner: &str) -> Result<Option<Report>, String> {
    let runner: i32 = runner.parse().map_err(|_| "bad runner pid".to_owned())?;
    set_pdeathsig(Signal::SIGKILL).map_err(|error| format!("cannot set PDEATHSIG: {error}"))?;
    if getppid().as_raw() != runner {
        return Ok(None); // the runner died before PDEATHSIG was set
    }
    signals::unblock().map_err(|error| format!("cannot unblock signals: {error}"))?;
    let dir = RunDir::open_path(path).map_err(|error| error.to_string())?;
    let spec = dir.spec().map_err(|error| error.to_string())?;
    let mut command = command(&dir, &spec)?;
    crash::point("child.before-claim");
    match claim(&dir, runner) {
        Ok(true) => {}
        Ok(false) => return Ok(Some(Report::AlreadyStarted)),
        Err(error) => return Ok(Some(Report::NotClaimed(error.to_string()))),
    }
    crash::point("child.after-claim");
    // Not needed any more, and it may hold secrets. An error is ignored: the child must start, and
    // the folder is closed to others.
    let _ = remove::file(&dir.env());
    let error = command.exec();
    Err(
        match plain_file::script_fault(Path::new(&spec.program), &spec.program) {
            Some(fault) => format!("cannot run `{}`: {fault}", spec.program),
            None => format!("cannot run `{}`: {error}", spec.program),
        },
    )
}

/// Prepares the command. Everything that can fail happens here, before the claim.
fn command(dir: &RunDir, spec: &RunSpec) -> Result<Command, String> {
    let said = |what: String| move |error: io::Error| format!("cannot {what}: {error}");
    let env: BTreeMap<String, String> = record::read(&dir.env())
        .map_err(|error| error.to_string())?
        .ok_or("the file with the run's environment is missing")?;
    let stdin = spec
        .stdin
        .as_ref()
        .map_or_else(|| "/dev/null".into(), |name| dir.file(name));
    let input = File::open(&stdin).map_err(said(format!("open `{}`", stdin.display())))?;
    let append = |path: &Path| {
        let opened = OpenOptions::new().append(true).open(path);
        opened.map_err(said(format!("open `{}`", path.display())))
    };
    std::env::set_current_dir(&spec.cwd)
        .map_err(said(format!("enter `{}`", spec.cwd.display())))?;
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .env_clear()
        .envs(env)
        .envs(stop::variables(dir));
    command
        .stdin(input)
        .stdout(append(&dir.stdout())?)
        .stderr(append(&dir.stderr())?);
    Ok(command)
}

fn claim(dir: &RunDir, runner: i32) -> io::Result<bool> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let own = i32::try_from(std::process::id()).map_err(io::Error::other)?;
    let me = Identity::of(own)?.ok_or_else(gone)?;
    let runner = ProcStat::read(runner)?.ok_or_else(gone)?;
    let started = Started {
        runner_pid: runner.pid,
        runner_start_time: runner.start_time,
        pid: me.pid,
        start_time: me.start_time,
        boot_id: me.boot_id,
        started_at: record::now(),
    };
    record::claim(dir, &started)
}
