//! The lock that shows whether a run has a live runner.
//!
//! It is a POSIX record lock on purpose. A forked child does not inherit it, the kernel releases it
//! when its process ends, and `F_GETLK` names the holder without taking the lock.
//!
//! Invariant: the holder opens the lock file only once, because closing any second descriptor would
//! release the lock.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// The lock; held as long as this value and its process live.
#[derive(Debug)]
pub(in crate::process) struct RunLock {
    _file: File,
}

/// Takes the lock; `None` if another process holds it.
pub(in crate::process) fn try_take(path: &Path) -> io::Result<Option<RunLock>> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    match fcntl(&file, FcntlArg::F_SETLK(&whole_file())) {
        Ok(_) => Ok(Some(RunLock { _file: file })),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Process id of the current holder, if any.
pub(in crate::process) fn holder(path: &Path) -> io::Result<Option<i32>> {
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
    // The constants are small C `int`s, but the fields are C `short`s.
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
    fn an_untaken_lock_has_no_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert_eq!(holder(&path).unwrap(), None);
        std::fs::write(&path, "").unwrap();
        assert_eq!(holder(&path).unwrap(), None);
        let _held = try_take(&path).unwrap().unwrap();
    }
}
