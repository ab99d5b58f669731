//! The folder for the files of an agent that are being checked: `.swarm/import-agent-<pid>/`.
//!
//! Invariant: nobody else uses it, and it goes when the import ends. What a killed import left is
//! removed by the next one.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process;

use crate::daemon::files::paths::Paths;
use crate::remove;

/// Begins the names of such folders.
const PREFIX: &str = "import-agent-";

/// The folder, while an import has it.
#[derive(Debug)]
pub(super) struct Staging {
    dir: PathBuf,
    // Whose lock is free is left over.
    _lock: File,
}

impl Staging {
    pub(super) fn create(paths: &Paths) -> io::Result<Self> {
        remove_leftovers(paths)?;
        let dir = paths.swarm.join(format!("{PREFIX}{}", process::id()));
        DirBuilder::new().mode(0o700).create(&dir)?;
        let lock = File::open(&dir)?;
        lock.lock()?;
        Ok(Self { dir, _lock: lock })
    }

    /// A path in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Err(error) = remove::tree_if_there(&self.dir) {
            let dir = self.dir.display();
            tracing::warn!(%error, %dir, "a folder stays behind; the next import removes it");
        }
    }
}

fn remove_leftovers(paths: &Paths) -> io::Result<()> {
    for entry in fs::read_dir(&paths.swarm)? {
        let entry = entry?;
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours && entry.file_type()?.is_dir() && is_left_over(&entry.path())? {
            remove::tree_if_there(&entry.path())?;
        }
    }
    Ok(())
}

fn is_left_over(dir: &Path) -> io::Result<bool> {
    match File::open(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        opened => Ok(opened?.try_lock().is_ok()),
    }
}
