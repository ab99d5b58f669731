//! Deletes in two steps: renames to trash durably, then deletes the content. Called by `clean`.
//!
//! Invariant: under its own name a directory is complete or gone, even after a kill or power
//! failure.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::report::Failure;
use crate::crash;
use crate::remove;

/// Begins the names of trash.
pub(super) const PREFIX: &str = ".trash-";

/// Renamed directories and files, to be deleted.
#[derive(Default)]
pub(super) struct Trash {
    paths: Vec<PathBuf>,
}

impl Trash {
    /// Trash that an earlier clean left.
    pub(super) fn of(leftovers: Vec<PathBuf>) -> Self {
        Self { paths: leftovers }
    }

    /// Renames these entries of `folder` to trash, durably; returns those that failed.
    pub(super) fn take(&mut self, folder: &Path, names: &[String]) -> Vec<Failure> {
        if names.is_empty() {
            return Vec::new();
        }
        let mut failed = Vec::new();
        let before = self.paths.len();
        for name in names {
            let (from, to) = (folder.join(name), folder.join(format!("{PREFIX}{name}")));
            match fs::rename(&from, &to) {
                Ok(()) => self.paths.push(to),
                Err(error) => failed.push(Failure::of(&from, &error)),
            }
            crash::point("clean.renamed");
        }
        // Without the sync, a power failure could leave half a directory under its own name. So
        // nothing is deleted; the next clean continues.
        if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
            self.paths.truncate(before);
            failed.push(Failure::of(folder, &error));
        }
        failed
    }

    /// Deletes all of it; returns what failed.
    pub(super) fn empty(self) -> Vec<Failure> {
        let mut failed = Vec::new();
        for path in self.paths {
            if let Err(error) = remove::tree_if_there(&path) {
                failed.push(Failure::of(&path, &error));
            }
            crash::point("clean.deleted");
        }
        failed
    }
}

/// Sorted names in a folder that begin with `prefix`; empty if the folder does not exist.
pub(super) fn names_with(folder: &Path, prefix: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().into_string();
        names.extend(name.ok().filter(|name| name.starts_with(prefix)));
    }
    names.sort();
    Ok(names)
}

/// Bytes on disk, without following links. What vanishes meanwhile or cannot be read counts as 0.
pub(super) fn bytes(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return 0;
    };
    let own = meta.blocks().saturating_mul(512);
    if !meta.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    own + entries.map(|entry| bytes(&entry.path())).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("one")).unwrap();
        fs::write(folder.path().join("one/file"), vec![1; 10_000]).unwrap();
        fs::write(folder.path().join("two"), "x").unwrap();
        folder
    }

    #[test]
    fn entries_are_renamed_first_and_deleted_afterwards() {
        let folder = folder();
        let mut trash = Trash::default();
        let failed = trash.take(folder.path(), &["one".into(), "gone".into()]);
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].path.ends_with("/gone"), "{failed:?}");
        assert!(folder.path().join(".trash-one/file").exists());
        assert_eq!(trash.empty(), []);
        assert_eq!(names_with(folder.path(), "").unwrap(), ["two"]);
    }

    #[test]
    fn trash_of_a_killed_clean_is_deleted_by_the_next() {
        let folder = folder();
        Trash::default().take(folder.path(), &["one".into()]);
        let left = names_with(folder.path(), PREFIX).unwrap();
        let trash = Trash::of(left.iter().map(|name| folder.path().join(name)).collect());
        assert_eq!(trash.empty(), []);
        assert_eq!(names_with(folder.path(), PREFIX).unwrap(), [""; 0]);
    }

    #[test]
    fn a_link_is_deleted_but_not_its_target() {
        let folder = folder();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("one"), &link).unwrap();
        assert!(bytes(&link) < bytes(&folder.path().join("one")));
        let mut trash = Trash::default();
        assert_eq!(trash.take(folder.path(), &["link".into()]), []);
        assert_eq!(trash.empty(), []);
        assert!(folder.path().join("one/file").exists());
    }

    #[test]
    fn bytes_are_counted_on_disk() {
        let folder = folder();
        assert!(bytes(folder.path()) >= 10_000);
        assert_eq!(bytes(&folder.path().join("gone")), 0);
    }
}
