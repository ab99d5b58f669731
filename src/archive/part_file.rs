//! The file that an archive is written to: `FILE.part`, which becomes `FILE` when it is whole.
//!
//! Invariant: `FILE` is never replaced and never half written. A `.part` that a killed export left
//! is written anew; one that another process is writing is refused. Killed before the rename, only
//! the `.part` is there; killed after it, the archive is whole.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::libc;

use super::error::ArchiveError;
use crate::{crash, remove};

/// An archive on its way.
#[derive(Debug)]
pub struct PartFile {
    path: PathBuf,
    part: PathBuf,
    file: File,
}

impl PartFile {
    /// Begins with the archive at `path`, mode 0600.
    ///
    /// # Errors
    /// [`ArchiveError::Exists`] and [`ArchiveError::Busy`]; a folder that cannot be written.
    pub fn create(path: &Path) -> Result<Self, ArchiveError> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(ArchiveError::Exists {
                path: path.to_owned(),
            });
        }
        let part = part_of(path);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = file.open(&part).map_err(ArchiveError::io("make", &part))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ArchiveError::Busy { path: part }),
            Err(TryLockError::Error(error)) => {
                return Err(ArchiveError::io("lock", &part)(error));
            }
        }
        take(&file, &part).map_err(ArchiveError::io("make", &part))?;
        Ok(Self {
            path: path.to_owned(),
            part,
            file,
        })
    }

    /// Makes what was written durable.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn sync(&self) -> Result<(), ArchiveError> {
        let synced = self.file.sync_all();
        synced.map_err(ArchiveError::io("write", &self.part))
    }

    /// Gives the archive its name, durably. [`PartFile::sync`] comes first.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn publish(self) -> Result<(), ArchiveError> {
        crash::point("export.before-rename");
        publish(&self.path)
    }

    /// Removes what was written.
    pub fn discard(self) {
        // Whatever stays is written anew by the next export.
        let _ = remove::file_if_there(&self.part);
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        crash::point("export.part");
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The name of an archive while it is written.
pub fn part_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(".part");
    PathBuf::from(name)
}

/// Renames the whole `.part` of the archive at `path`, durably.
///
/// # Errors
/// Those of the file system.
pub fn publish(path: &Path) -> Result<(), ArchiveError> {
    fs::rename(part_of(path), path).map_err(ArchiveError::io("make", path))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(ArchiveError::io("write", folder))
}

/// Empties the file, which must be ours alone and still have its name.
fn take(file: &File, part: &Path) -> io::Result<()> {
    let (opened, named) = (file.metadata()?, fs::symlink_metadata(part)?);
    let same = (opened.dev(), opened.ino()) == (named.dev(), named.ino());
    if !opened.is_file() || opened.nlink() != 1 || !same {
        let message = "something else is there: move it away";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.set_len(0)
}
