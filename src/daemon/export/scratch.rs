//! The folder for files that have to be made before they are packed.
//!
//! Invariant: one export at a time has it; what a killed export left is removed by the next one.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::libc;

use crate::archive::ArchiveError;
use crate::daemon::error::DaemonError;
use crate::daemon::files::paths::Paths;
use crate::remove;

/// The folder, while an export has it.
#[derive(Debug)]
pub(in crate::daemon) struct Scratch {
    dir: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Takes the folder, and empties it.
    pub(in crate::daemon) fn create(paths: &Paths) -> Result<Self, DaemonError> {
        let dir = paths.export_scratch();
        let lock = dir.with_extension("lock");
        let failed = || DaemonError::io("make .swarm/state/export");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let options = options.custom_flags(libc::O_NOFOLLOW);
        let file = options.open(&lock).map_err(failed())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ArchiveError::Busy { path: dir }.into()),
            Err(TryLockError::Error(error)) => return Err(failed()(error)),
        }
        remove::tree_if_there(&dir).map_err(failed())?;
        let made = DirBuilder::new().mode(0o700).create(&dir);
        made.map_err(failed())?;
        Ok(Self { dir, _lock: file })
    }

    /// A path in it.
    pub(in crate::daemon) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The folder.
    pub(in crate::daemon) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whatever stays is removed by the next export.
        let _ = remove::tree_if_there(&self.dir);
    }
}
