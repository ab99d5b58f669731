//! The two things about descriptors that no safe interface offers; the only unsafe code of this room.
//!
//! Invariant: a descriptor is only ever borrowed here, never closed, and stays open for the borrow.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Marks every descriptor but the standard three to be closed when a program is executed: what came in from whoever started the
/// daemon (a shell's redirections, a build tool's pipes, somebody's lock) must not live on in a child.
pub(super) fn close_on_exec() -> io::Result<()> {
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
    // SAFETY: the number was just listed as open, this process has one thread and closes nothing while it lists, so the
    // descriptor stays open for this borrow; only its close-on-exec flag changes.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(())
}

/// Completes when `fd` can be read.
pub(super) async fn readable(fd: BorrowedFd<'_>) -> io::Result<()> {
    register(fd)?.readable().await.map(drop)
}

#[allow(unsafe_code)]
fn register(fd: BorrowedFd<'_>) -> io::Result<AsyncFd<BorrowedFd<'_>>> {
    // SAFETY: a `BorrowedFd` stays open and the same for its lifetime, which the `AsyncFd` made of it cannot outlive.
    let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    Ok(registered?)
}
