//! Signal handling of the runner and its child.
//!
//! Invariant: the program of a run starts with no signal blocked or ignored, however the daemon was
//! started (`nohup`, a script's `&`, a service manager). The runner reads signals from one
//! descriptor.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use signal_hook::consts::{FORBIDDEN, SIGPIPE};

/// Blocks the signals that the runner reads. SIGTERM and SIGUSR1 are requests, and SIGCHLD reports
/// a child. SIGHUP and SIGINT are read only to have no effect.
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

/// In the child: unblocks what the runner blocked. Pending signals are delivered.
pub(super) fn unblock() -> nix::Result<()> {
    SigSet::empty().thread_set_mask()
}

/// In the runner: gives each ignored signal a handler that does nothing. An executed program
/// inherits ignored signals, while a handler becomes the default. An ignored SIGCHLD would also
/// hide how children end.
pub(super) fn ignore_none() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let ignored = ignored(&status).ok_or(io::ErrorKind::InvalidData)?;
    for signal in 1..32 {
        // The standard library handles SIGPIPE.
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
