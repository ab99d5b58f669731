//! The lock that tells whether a run has a living runner.
//!
//! A POSIX record lock, on purpose: a forked child does not inherit it (it cannot leak), the kernel drops it with the process
//! that took it, and `F_GETLK` names the holder without taking anything, so that looking never disturbs a runner that starts.
//!
//! Invariant: the process that holds it opens the lock file once; closing any second descriptor of it would drop the lock.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// Held as long as this value and its process live.
#[derive(Debug)]
pub(super) struct RunLock {
    _file: File,
}

/// Takes the lock; `None` when another process has it.
pub(super) fn try_take(path: &Path) -> io::Result<Option<RunLock>> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    match fcntl(&file, FcntlArg::F_SETLK(&whole_file())) {
        Ok(_) => Ok(Some(RunLock { _file: file })),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The process that holds the lock now, if one does.
pub(super) fn holder(path: &Path) -> io::Result<Option<i32>> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut asked = whole_file();
    fcntl(&file, FcntlArg::F_GETLK(&mut asked))?;
    Ok((i32::from(asked.l_type) != libc::F_UNLCK).then_some(asked.l_pid))
}

fn whole_file() -> libc::flock {
    // The constants are small numbers of C's `int`; the fields are C's `short`.
    #[allow(clippy::cast_possible_truncation)]
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_holds_a_lock_that_nobody_took() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert_eq!(holder(&path).unwrap(), None);
        std::fs::write(&path, "").unwrap();
        assert_eq!(holder(&path).unwrap(), None);
        let _held = try_take(&path).unwrap().unwrap();
    }
}
