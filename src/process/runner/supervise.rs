//! Supervises a run from the start of its child to the end of its last descendant.
//!
//! Invariant: signals are blocked and read from one descriptor, so none is missed. The child's
//! group is signalled only while the child is not reaped, because its pid cannot be reused before.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use rustix::process::{WaitOptions, WaitStatus, wait};

use super::super::error::{Context as _, Result};
use super::super::stop::Stop;
use super::child::{self, Report, Spawned};
use super::output_limit::OutputLimit;
use crate::crash;
use crate::domain::time::Timestamp;
use crate::process::os::pidfd::poll_readable;
use crate::process::os::tree;
use crate::process::run_dir::RunDir;
use crate::process::run_dir::lease::Watch;
use crate::process::run_dir::record::{self, EndReason, Started};
use crate::process::run_dir::spec::RunSpec;

/// How long to wait for killed processes. Only those stuck in the kernel take longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Result of a run, for its record.
pub(super) struct Outcome {
    pub(super) reason: EndReason,
    pub(super) status: Option<WaitStatus>,
    pub(super) spawn_error: Option<String>,
    pub(super) started_at: Timestamp,
    /// Start by the monotonic clock, which stands still while the machine sleeps.
    pub(super) began: Instant,
    pub(super) left_behind: u64,
}

impl Outcome {
    fn without_child(reason: EndReason, spawn_error: Option<String>) -> Self {
        Self {
            reason,
            status: None,
            spawn_error,
            started_at: record::now(),
            began: Instant::now(),
            left_behind: 0,
        }
    }
}

/// Starts the child and supervises it to its end. `None` means another child has claimed the run,
/// so its runner writes the record.
pub(super) fn run(dir: &RunDir, signals: &SignalFd) -> Result<Option<Outcome>> {
    if let Some(reason) = stopped_before(dir) {
        return Ok(Some(Outcome::without_child(reason, None)));
    }
    let failed = |why: String| {
        Ok(Some(Outcome::without_child(
            EndReason::SpawnError,
            Some(why),
        )))
    };
    let spec = match dir.spec() {
        Ok(spec) => spec,
        Err(error) => return failed(error.to_string()),
    };
    let began = (record::now(), Instant::now());
    let spawned = match child::spawn(dir) {
        Ok(spawned) => spawned,
        Err(error) => return failed(format!("cannot start a process: {error}")),
    };
    crash::point("runner.spawned");
    let mut supervisor = Supervisor::new(dir, &spec, signals, spawned);
    supervisor.until_child_ended().on("supervise", dir.path())?;
    crash::point("runner.child-ended");
    let left_behind = supervisor.end_tree();
    supervisor.outcome(began, left_behind)
}

/// The reason to end at once, if somebody asked for a stop before this runner had the lock.
fn stopped_before(dir: &RunDir) -> Option<EndReason> {
    if dir.file(Stop::Now.marker()).exists() {
        Some(EndReason::Killed)
    } else if dir.file(Stop::Graceful.marker()).exists() {
        Some(EndReason::Stopped)
    } else {
        None
    }
}

struct Supervisor<'a> {
    dir: &'a RunDir,
    spec: &'a RunSpec,
    signals: &'a SignalFd,
    child: Spawned,
    status: Option<WaitStatus>,
    reason: Option<EndReason>,
    timeout_at: Option<Instant>,
    /// Bytes written so far, and when they last changed.
    written: (u64, Instant),
    kill_at: Option<Instant>,
    lease: Option<Watch>,
    output: Option<OutputLimit>,
}

impl<'a> Supervisor<'a> {
    fn new(dir: &'a RunDir, spec: &'a RunSpec, signals: &'a SignalFd, child: Spawned) -> Self {
        let watched = spec.max_output_bytes.is_some() || spec.idle_ms.is_some();
        Self {
            dir,
            spec,
            signals,
            child,
            status: None,
            reason: None,
            timeout_at: spec.timeout_ms.and_then(after),
            written: (0, Instant::now()),
            kill_at: None,
            lease: spec.lease.clone().map(Watch::new),
            output: watched.then(|| {
                let limit = spec.max_output_bytes.unwrap_or(u64::MAX);
                OutputLimit::new(limit, Instant::now())
            }),
        }
    }

    fn until_child_ended(&mut self) -> io::Result<()> {
        loop {
            self.reap()?;
            if self.status.is_some() {
                // A shutdown signals both the child and this runner, and the child may end first.
                return self.take_signals();
            }
            poll_readable(self.signals.as_fd(), self.time_to_next())?;
            self.take_signals()?;
            self.look_at_clock();
            self.look_at_output();
        }
    }

    fn take_signals(&mut self) -> io::Result<()> {
        while let Some(info) = self.signals.read_signal()? {
            match i32::try_from(info.ssi_signo).map(Signal::try_from) {
                Ok(Ok(Signal::SIGTERM)) if self.reason == Some(EndReason::Stopped) => {
                    self.end_now(EndReason::Killed);
                }
                Ok(Ok(Signal::SIGTERM)) => self.end(EndReason::Stopped),
                Ok(Ok(Signal::SIGUSR1)) => self.end_now(EndReason::Killed),
                _ => {}
            }
        }
        Ok(())
    }

    fn time_to_next(&self) -> Option<Duration> {
        let clock = match self.kill_at {
            Some(at) => Some(at),
            None => self.timeout_at,
        };
        let lease = self.lease.as_ref().filter(|_| self.reason.is_none());
        let output = self.output.as_ref().map(OutputLimit::next);
        let times = clock.into_iter().chain(lease.map(Watch::next));
        let next = times.chain(output).min();
        next.map(|at| at.saturating_duration_since(Instant::now()))
    }

    fn look_at_clock(&mut self) {
        let now = Instant::now();
        if self.kill_at.is_some_and(|at| now >= at) {
            self.end_now(EndReason::Killed);
        } else if self.reason.is_none() && self.timeout_at.is_some_and(|at| now >= at) {
            self.end(EndReason::TimedOut);
        } else if self.reason.is_none() && self.lease.as_mut().is_some_and(Watch::has_expired) {
            self.end(EndReason::LeaseExpired);
        }
    }

    /// Ends a run that writes too much, without a grace period in which it could continue to write.
    fn look_at_output(&mut self) {
        let size = |path| fs::metadata(path).map_or(0, |found| found.len());
        let Some(gauge) = &mut self.output else {
            return;
        };
        let now = Instant::now();
        let written = size(self.dir.stdout()) + size(self.dir.stderr());
        if written != self.written.0 {
            self.written = (written, now);
        }
        let silent = now.saturating_duration_since(self.written.1);
        let idle = self.spec.idle_ms.map(Duration::from_millis);
        if gauge.exceeds_limit(written, now) {
            self.end_now(EndReason::OutputLimit);
        } else if idle.is_some_and(|idle| silent >= idle) {
            self.end(EndReason::Idle);
        }
    }

    /// Sends SIGTERM to the group, and SIGCONT so that a stopped process can handle it. SIGKILL
    /// follows after the grace period.
    fn end(&mut self, reason: EndReason) {
        if self.reason.is_some() {
            return; // already ending
        }
        self.reason = Some(reason);
        self.kill_at = after(self.spec.grace_ms);
        self.signal_group(Signal::SIGTERM);
        self.signal_group(Signal::SIGCONT);
    }

    /// Kills the whole tree. The first reason stands, except that a request to end now overrides an
    /// earlier graceful stop.
    fn end_now(&mut self, reason: EndReason) {
        let asked = self.kill_at.is_none_or(|at| Instant::now() < at);
        match self.reason {
            None => self.reason = Some(reason),
            Some(EndReason::Stopped) if asked => self.reason = Some(reason),
            Some(_) => {}
        }
        self.kill_at = None;
        self.end_tree();
    }

    fn signal_group(&self, signal: Signal) {
        if self.status.is_none() {
            // Fails only if the group is gone; the next `reap` notices that.
            let _ = killpg(Pid::from_raw(self.child.pid), signal);
        }
    }

    /// Ends every descendant and returns how many survive. Detached ones are included, because this
    /// process is their sub-reaper.
    fn end_tree(&mut self) -> u64 {
        match self.try_end_tree() {
            Ok(left) => left,
            Err(error) => {
                eprintln!(
                    "cannot walk the process tree, so only the child's group is killed: \
                    {error}"
                );
                self.signal_group(Signal::SIGKILL);
                u64::from(self.reap().unwrap_or(true))
            }
        }
    }

    fn try_end_tree(&mut self) -> io::Result<u64> {
        let deadline = Instant::now() + PATIENCE;
        let own = i32::try_from(std::process::id()).map_err(io::Error::other)?;
        let below = || Ok(tree::descendants(&tree::all()?, &[own]));
        while self.reap()? {
            let family = tree::freeze(below)?;
            if !tree::kill_all(&family, deadline)? || Instant::now() >= deadline {
                self.reap()?;
                return Ok(below()?.len() as u64);
            }
        }
        Ok(0)
    }

    /// Reaps every child that has ended; returns whether any child is left.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(None) => return Ok(true),
                Ok(Some((pid, status))) if pid.as_raw_pid() == self.child.pid => {
                    self.status = Some(status);
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CHILD) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn outcome(
        &mut self,
        (started_at, began): (Timestamp, Instant),
        left_behind: u64,
    ) -> Result<Option<Outcome>> {
        let report = self.child.report();
        if matches!(report, Some(Report::AlreadyStarted)) {
            return Ok(None);
        }
        let claimed: Option<Started> = record::read(&self.dir.started())?;
        let spawn_error = match report {
            Some(Report::Failed(why)) => Some(why),
            // Writes no record. The next launch finds a run that never started or, if the claim
            // exists after all, a lost one.
            Some(Report::NotClaimed(why)) if self.reason.is_none() => {
                return Err(io::Error::other(why)).on("claim", &self.dir.started());
            }
            None if claimed.is_none() && self.reason.is_none() => {
                let killed = "the process was killed before it could claim its run";
                return Err(io::Error::other(killed)).on("claim", &self.dir.started());
            }
            _ => None,
        };
        let reason = match (&spawn_error, self.reason) {
            (Some(_), _) => EndReason::SpawnError,
            (None, Some(reason)) => reason,
            (None, None) => EndReason::Exited,
        };
        Ok(Some(Outcome {
            reason,
            status: self.status.filter(|_| reason != EndReason::SpawnError),
            spawn_error,
            started_at: claimed.map_or(started_at, |started| started.started_at),
            began,
            left_behind,
        }))
    }
}

/// The time `millis` from now; `None` if the clock cannot represent it.
fn after(millis: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(millis))
}
