//! Signals of the runner and of what it starts.
//!
//! Invariant: the program of a run starts with nothing blocked and nothing ignored, however the daemon was started (`nohup`, a script's
//! `&`, a service manager); the runner itself takes signals from one descriptor only.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use signal_hook::consts::{FORBIDDEN, SIGPIPE};

/// Blocks what the runner listens to. TERM and USR1 are requests, CHLD is news; HUP and INT are taken so that they do nothing.
pub(super) fn block() -> nix::Result<SignalFd> {
    let mut set = SigSet::empty();
    for signal in [
        Signal::SIGTERM,
        Signal::SIGUSR1,
        Signal::SIGCHLD,
        Signal::SIGHUP,
        Signal::SIGINT,
    ] {
        set.add(signal);
    }
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

/// In the child: lets through what the runner had blocked, requests that came in meanwhile included.
pub(super) fn unblock() -> nix::Result<()> {
    SigSet::empty().thread_set_mask()
}

/// In the runner: gives each ignored signal a handler that does nothing. Ignoring is inherited by a program that is executed, a
/// handler is not: it becomes the default. An ignored CHLD would moreover hide how children end.
pub(super) fn ignore_none() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let ignored = ignored(&status).ok_or(io::ErrorKind::InvalidData)?;
    for signal in 1..32 {
        // The standard library takes care of PIPE.
        let ours = signal != SIGPIPE && !FORBIDDEN.contains(&signal);
        if ours && ignored & (1 << (signal - 1)) != 0 {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
    }
    Ok(())
}

fn ignored(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}
