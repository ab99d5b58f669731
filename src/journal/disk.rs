//! The file operations that write the log and its snapshots, behind a trait so that tests can make
//! each of them fail. Called by the writing files of this room.
//!
//! Invariant: every change of a segment's bytes or name goes through here. Files are created 0600,
//! never through a symbolic link, and closed in child processes.

use std::fs::{File, OpenOptions};
use std::io;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use crate::remove;
use nix::fcntl::OFlag;

/// A disk that holds segments.
pub trait Storage: Send {
    /// Opens a file for reading and writing; creates it if it is not there.
    fn open(&mut self, path: &Path) -> io::Result<Box<dyn SegmentFile>>;
    /// Gives a file another name in the same directory, in one step.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name in the same directory.
    fn link(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a name; it is no error if there is none.
    fn remove(&mut self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&mut self, dir: &Path) -> io::Result<()>;
}

/// An open segment.
pub trait SegmentFile: Send {
    /// Writes at `offset` bytes from the beginning, perhaps not all; returns how many bytes.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Cuts the file to `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Makes the bytes durable (fdatasync).
    fn sync_data(&mut self) -> io::Result<()>;
    /// Makes the bytes and the length durable (fsync).
    fn sync_all(&mut self) -> io::Result<()>;
    /// Its length in bytes, or `None` when `path` does not name it any more.
    fn length(&self, path: &Path) -> io::Result<Option<u64>>;
}

/// The real disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Storage for Disk {
    fn open(&mut self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        let file = plain_file().write(true).create(true).open(path)?;
        Ok(Box::new(file))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        remove_if_there(path)
    }

    fn sync_dir(&mut self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }
}

impl SegmentFile for File {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn sync_all(&mut self) -> io::Result<()> {
        File::sync_all(self)
    }

    fn length(&self, path: &Path) -> io::Result<Option<u64>> {
        let meta = self.metadata()?;
        let named = match std::fs::symlink_metadata(path) {
            Ok(named) => named,
            Err(e) if matches!(e.kind(), NotFound | NotADirectory) => return Ok(None),
            Err(e) => return Err(e),
        };
        let same = (named.dev(), named.ino()) == (meta.dev(), meta.ino());
        Ok(same.then_some(meta.len()))
    }
}

/// Writes all of `bytes` at `offset`.
pub(super) fn write_all(file: &mut dyn SegmentFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match file.write_at(&bytes[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => done += written,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Whether the disk is full, rather than broken.
pub(super) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// Options for files of ours: readable, 0600 when created, not through a symbolic link.
pub(super) fn plain_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).mode(0o600);
    // Not blocking: a pipe in its place is an empty file, and not one that is waited for.
    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    options
}

/// Removes a file; it is no error if there is none.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    remove::file_if_there(path)
}

/// Makes the state directory, if it is not there, and makes it ours alone. A symbolic link is
/// refused.
pub(super) fn make_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(dir)?;
    let meta = std::fs::symlink_metadata(dir)?;
    if !meta.is_dir() {
        return Err(io::Error::other("it is a symbolic link"));
    }
    if meta.permissions().mode() & 0o777 != 0o700 {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}
