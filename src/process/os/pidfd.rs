//! A pidfd: a handle on one process that stays correct when the pid is reused.
//!
//! Invariant: this room signals processes in no other way, except that the runner signals the group
//! of its own unreaped child.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use rustix::process::{pidfd_open, pidfd_send_signal, waitid};

use super::descriptors;
use super::identity::ProcStat;

/// An open pidfd.
#[derive(Debug)]
pub(in crate::process) struct ProcessHandle {
    pid: i32,
    fd: OwnedFd,
}

impl ProcessHandle {
    /// Opens the process that has this pid now, if any. Compare its identity *after* this call.
    pub(in crate::process) fn open(pid: i32) -> io::Result<Option<Self>> {
        let Some(number) = Pid::from_raw(pid) else {
            return Ok(None);
        };
        match pidfd_open(number, PidfdFlags::empty()) {
            Ok(fd) => Ok(Some(Self { pid, fd })),
            Err(rustix::io::Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the process that `stat` describes; `None` if it is gone, even if its pid was reused.
    pub(in crate::process) fn open_same(stat: &ProcStat) -> io::Result<Option<Self>> {
        let Some(handle) = Self::open(stat.pid)? else {
            return Ok(None);
        };
        let now = ProcStat::read(stat.pid)?;
        Ok(now
            .is_some_and(|now| now.start_time == stat.start_time)
            .then_some(handle))
    }

    /// Process id, for messages.
    pub(in crate::process) fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends a signal; returns `false` if the process has ended.
    pub(in crate::process) fn signal(&self, signal: Signal) -> io::Result<bool> {
        match pidfd_send_signal(&self.fd, signal) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Blocks until the process ends or `deadline` passes; returns whether it has ended.
    pub(in crate::process) fn wait_until(&self, deadline: Instant) -> io::Result<bool> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let ready = poll_readable(self.fd.as_fd(), Some(left))?;
            if ready || left.is_zero() {
                return Ok(ready);
            }
        }
    }

    /// Completes when the process has ended, and reaps it if it is a child of this process.
    pub(in crate::process) async fn ended(&self) -> io::Result<()> {
        descriptors::readable(self.fd.as_fd()).await?;
        self.reap().map(|_| ())
    }

    /// Reaps the process if it is a child of this process that has ended. Returns `false` only if
    /// it is a child that still runs.
    pub(in crate::process) fn reap(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        match waitid(WaitId::PidFd(self.fd.as_fd()), options) {
            Ok(None) => Ok(false),
            Ok(Some(_)) | Err(rustix::io::Errno::CHILD) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// Waits until `fd` is readable, at most `within` (`None` means forever). A signal may end the wait
/// early with `false`.
pub(in crate::process) fn poll_readable(
    fd: BorrowedFd<'_>,
    within: Option<Duration>,
) -> io::Result<bool> {
    let timeout = within.map_or(PollTimeout::NONE, round_up);
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    match poll(&mut fds, timeout) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Rounds up to a millisecond, so that a wait of 0.4 ms does not become a busy loop. Capped at an
/// hour; callers wait again.
fn round_up(within: Duration) -> PollTimeout {
    let millis = within.as_nanos().div_ceil(1_000_000).min(3_600_000);
    i32::try_from(millis)
        .ok()
        .and_then(|millis| PollTimeout::try_from(millis).ok())
        .unwrap_or(PollTimeout::ZERO)
}
