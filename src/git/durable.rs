//! Objects that git wrote without syncing them, synced.
//!
//! Invariant: after [`Repo::make_durable`] every object that `new` needs and `known` does not have is on disk, with the
//! directories that name it, whoever wrote it (an agent's `git commit` syncs nothing). So an event may then speak of it.
//!
//! Rather than `core.fsync=all` on every command: one pass over the loose objects at the end syncs each file once and takes in what agents
//! wrote; it costs one `rev-list` and the disk's time. Threads let the file system join several syncs into one.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::error::{At, GitError};
use super::repo::Repo;

const THREADS: usize = 8;

impl Repo {
    /// Syncs the objects that `new` reaches and `known` does not. Where nothing is known, what the person has checked
    /// out counts as known: walking a whole history would take long.
    pub fn make_durable(&self, new: Oid, known: &[Oid]) -> Result<(), GitError> {
        let files = self.loose_objects(new, known)?;
        sync_all(&files)?;
        let directories: BTreeSet<PathBuf> = files
            .iter()
            .flat_map(|file| file.ancestors().skip(1).take(2))
            .map(Path::to_owned)
            .collect();
        sync_all(&directories.into_iter().collect::<Vec<_>>())
    }

    fn loose_objects(&self, new: Oid, known: &[Oid]) -> Result<Vec<PathBuf>, GitError> {
        let known = match known {
            [] => vec!["HEAD".to_owned()],
            known => known.iter().map(Oid::to_string).collect(),
        };
        let output = self
            .git()
            .args(["rev-list", "--objects", "--no-object-names"])
            .arg(new.to_string())
            .arg("--not")
            .args(known)
            .ok()?;
        let objects = self.common_dir().join("objects");
        let place = |id: &[u8]| {
            let id = String::from_utf8_lossy(id).into_owned();
            id.is_char_boundary(2)
                .then(|| objects.join(&id[..2]).join(&id[2..]))
        };
        let ids = output
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|id| id.len() > 2);
        // What is not there as a file lies in a pack, and git syncs packs by itself.
        Ok(ids.filter_map(place).filter(|file| file.exists()).collect())
    }
}

fn sync_all(files: &[PathBuf]) -> Result<(), GitError> {
    let share = files.len().div_ceil(THREADS).max(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = files
            .chunks(share)
            .map(|some| scope.spawn(|| some.iter().try_for_each(|file| sync(file))))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// Syncs a file or directory.
pub(crate) fn sync(path: &Path) -> Result<(), GitError> {
    match File::open(path) {
        Ok(file) => file.sync_all().at("sync", path),
        // A repack may have moved it into a pack, which git synced.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).at("open", path),
    }
}
