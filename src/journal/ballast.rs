//! Reserves one MiB of disk space, which is freed when the disk is full so that a last event fits.
//! Called by `open` and `append`.
//!
//! Invariant: its content means nothing; the log never depends on it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::{plain_file, remove_if_there};

/// The name of the file in the state directory.
pub const BALLAST_FILE: &str = "ballast";

/// Bytes that it keeps.
pub const BALLAST_BYTES: u64 = 1024 * 1024;

/// The reserved file. Independent of the journal, so that it can be freed while the writer thread
/// has the journal.
#[derive(Debug, Clone)]
pub struct Ballast {
    path: PathBuf,
}

impl Ballast {
    /// The ballast of a state directory, there or not.
    pub fn of(state_dir: &Path) -> Self {
        Self {
            path: state_dir.join(BALLAST_FILE),
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file exists with its full size.
    pub fn is_there(&self) -> bool {
        std::fs::symlink_metadata(&self.path).is_ok_and(|meta| meta.len() == BALLAST_BYTES)
    }

    /// Allocates the file if it is missing or incomplete. A failure leaves no file.
    pub fn make(&self) -> io::Result<()> {
        if self.is_there() {
            return Ok(());
        }
        let made = self.allocate();
        if made.is_err() {
            remove_if_there(&self.path)?;
        }
        made
    }

    /// Removes the file; returns whether it existed.
    pub fn free(&self) -> io::Result<bool> {
        let there = std::fs::symlink_metadata(&self.path).is_ok();
        remove_if_there(&self.path)?;
        Ok(there)
    }

    fn allocate(&self) -> io::Result<()> {
        let mut options = plain_file();
        options.write(true).create(true).truncate(true);
        let file = options.open(&self.path)?;
        reserve(&file)?;
        file.sync_all()
    }
}

/// Asks for the room itself: written zeros may be compressed away.
#[cfg(target_os = "linux")]
fn reserve(file: &File) -> io::Result<()> {
    let bytes = i64::try_from(BALLAST_BYTES).map_err(io::Error::other)?;
    Ok(nix::fcntl::posix_fallocate(file, 0, bytes)?)
}

/// Where there is no such call, written bytes are the room.
#[cfg(not(target_os = "linux"))]
fn reserve(mut file: &File) -> io::Result<()> {
    let zeros = [0; 64 * 1024];
    (0..BALLAST_BYTES / zeros.len() as u64)
        .try_for_each(|_| io::Write::write_all(&mut file, &zeros))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn it_is_made_whole_freed_and_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let ballast = Ballast::of(dir.path());
        assert!(!ballast.free().unwrap());
        std::fs::write(dir.path().join(BALLAST_FILE), "half").unwrap();
        assert!(!ballast.is_there());
        ballast.make().unwrap();
        assert!(ballast.is_there());
        let allocated = std::fs::metadata(ballast.path()).unwrap().blocks() * 512;
        assert!(allocated >= BALLAST_BYTES, "{allocated}");
        ballast.make().unwrap();
        assert!(ballast.free().unwrap());
        assert!(!ballast.is_there());
    }
}
