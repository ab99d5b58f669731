//! The lock that allows one daemon a repository; every writer of the state takes it.
//!
//! Invariant: the kernel holds the lock on the open file `lock` and releases it when its holder
//! ends in any way. swarm never unlinks the file, and it lies where no tool of the work tree does,
//! or two holders could lock two files of one name. The pid in it is for messages only.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::disk::{make_private_dir, plain_file};

/// The lock file's name.
pub const LOCK_FILE: &str = "lock";

/// Exclusive use of the state directory until this is dropped.
#[derive(Debug)]
pub struct StateLock {
    file: File,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("another swarm {} is using this repository's state", holder(*pid))]
    Held {
        /// The holder; `None` if it has not written its pid yet.
        pid: Option<u32>,
    },
    /// The lock file cannot be used.
    #[error("cannot lock {}: {source}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl StateLock {
    /// Takes the lock in this folder, or fails at once with its holder. Creates the folder (0700)
    /// if it is missing.
    pub fn acquire(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join(LOCK_FILE);
        let failed = |source| LockError::Io {
            path: path.clone(),
            source,
        };
        make_private_dir(folder).map_err(failed)?;
        let open = plain_file().write(true).create(true).open(&path);
        let mut file = open.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held {
                    pid: read_pid(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        write_pid(&mut file, &std::process::id().to_string()).map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for StateLock {
    fn drop(&mut self) {
        // A stale pid would only confuse messages; nothing depends on it.
        let _ = write_pid(&mut self.file, "");
        // Closing is not enough: a child that is being spawned has a copy until it executes.
        let _ = self.file.unlock();
    }
}

fn write_pid(file: &mut File, pid: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(pid.as_bytes())
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "process".into(), |pid| format!("(pid {pid})"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use nix::fcntl::{FcntlArg, FdFlag, fcntl};

    use super::*;

    #[test]
    fn a_second_holder_is_refused_with_the_pid_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let lock = StateLock::acquire(&state).unwrap();
        let own = std::process::id();
        match StateLock::acquire(&state) {
            Err(LockError::Held { pid }) => assert_eq!(pid, Some(own)),
            other => panic!("{other:?}"),
        }
        drop(lock);
        StateLock::acquire(&state).unwrap();
    }

    #[test]
    fn the_lock_file_is_private_and_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let inode = || std::fs::metadata(state.join(LOCK_FILE)).unwrap().ino();
        drop(StateLock::acquire(&state).unwrap());
        let first = inode();
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&state), mode(&state.join(LOCK_FILE))), (0o700, 0o600));
        drop(StateLock::acquire(&state).unwrap());
        assert_eq!(inode(), first);
    }

    #[test]
    fn a_child_does_not_inherit_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let lock = StateLock::acquire(dir.path()).unwrap();
        let flags = fcntl(&lock.file, FcntlArg::F_GETFD).unwrap();
        assert!(FdFlag::from_bits_retain(flags).contains(FdFlag::FD_CLOEXEC));
    }

    #[test]
    fn a_symbolic_link_as_lock_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.path().join(LOCK_FILE)).unwrap();
        assert!(matches!(
            StateLock::acquire(dir.path()),
            Err(LockError::Io { .. })
        ));
    }
}
