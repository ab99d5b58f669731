//! Two operations on descriptors that no safe interface offers; the only unsafe code of this room.
//!
//! Invariant: descriptors are borrowed, never closed, and stay open while borrowed.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Marks every descriptor except the standard three to close on exec. What the daemon inherited (a
/// shell's redirections, a build tool's pipes, somebody's lock) must not live on in a child.
pub(in crate::process) fn close_on_exec() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let number: Option<i32> = name.to_str().and_then(|name| name.parse().ok());
        if let Some(number) = number.filter(|number| *number > 2) {
            mark(number)?;
        }
    }
    Ok(())
}

#[allow(unsafe_code)]
fn mark(number: i32) -> io::Result<()> {
    // SAFETY: the number was just listed as open. This process has one thread and closes nothing
    // meanwhile, so the descriptor stays open for the borrow. Only its close-on-exec flag changes.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(())
}

/// Completes when `fd` is readable.
pub(in crate::process) async fn readable(fd: BorrowedFd<'_>) -> io::Result<()> {
    register(fd)?.readable().await.map(drop)
}

#[allow(unsafe_code)]
fn register(fd: BorrowedFd<'_>) -> io::Result<AsyncFd<BorrowedFd<'_>>> {
    // SAFETY: a `BorrowedFd` stays open and unchanged for its lifetime, and the `AsyncFd` made from
    // it cannot outlive that.
    let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    Ok(registered?)
}
