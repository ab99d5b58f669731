//! The only place that removes files and directories; `tests/house.rs` enforces this.
//!
//! Invariant: every removal names an entry of an open directory, and that directory was not opened
//! through a symbolic link. A link itself is removed, never its target, at any depth. So a link
//! that somebody places among swarm's files cannot make swarm remove anything elsewhere.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// Flags that open a directory, but not through a link.
const DIRECTORY: OFlag = OFlag::O_DIRECTORY
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC)
    .union(OFlag::O_RDONLY);

/// Removes a file, a link, a socket or a pipe.
///
/// # Errors
/// Those of `unlinkat`. [`NotADirectory`](io::ErrorKind::NotADirectory) if the parent directory is
/// a symbolic link.
pub fn file(path: &Path) -> io::Result<()> {
    let (folder, name) = open_folder(path)?;
    Ok(unlinkat(
        &folder,
        name.as_os_str(),
        UnlinkatFlags::NoRemoveDir,
    )?)
}

/// Like [`file()`], but a missing name is no error.
///
/// # Errors
/// As [`file()`].
pub fn file_if_there(path: &Path) -> io::Result<()> {
    accept_missing(file(path))
}

/// Removes an empty directory.
///
/// # Errors
/// As [`file()`], and if the directory is not empty.
pub fn empty_dir(path: &Path) -> io::Result<()> {
    let (folder, name) = open_folder(path)?;
    Ok(unlinkat(
        &folder,
        name.as_os_str(),
        UnlinkatFlags::RemoveDir,
    )?)
}

/// Removes a file or a directory with everything in it.
///
/// # Errors
/// The first failure. What came before it is gone; the rest stays.
pub fn tree(path: &Path) -> io::Result<()> {
    let (folder, name) = open_folder(path)?;
    remove_entry(&folder, &name)
}

/// Like [`tree`], but a missing name is no error.
///
/// # Errors
/// As [`tree`].
pub fn tree_if_there(path: &Path) -> io::Result<()> {
    accept_missing(tree(path))
}

fn accept_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Opens the parent directory of `path`; returns it with the file name.
fn open_folder(path: &Path) -> io::Result<(impl AsFd, OsString)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = path.parent().unwrap_or(Path::new(""));
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    match open(parent, DIRECTORY, Mode::empty()) {
        Ok(folder) => Ok((folder, name.to_owned())),
        Err(Errno::ENOTDIR | Errno::ELOOP) => Err(not_a_directory(parent)),
        Err(errno) => Err(errno.into()),
    }
}

fn not_a_directory(path: &Path) -> io::Error {
    let message = format!(
        "{} is a symbolic link or not a directory; nothing in it was removed",
        path.display()
    );
    io::Error::new(io::ErrorKind::NotADirectory, message)
}

/// A directory on the way down, with the names in it that are still to be removed.
struct Level {
    dir: Dir,
    name: OsString,
    left: Vec<OsString>,
}

impl Level {
    fn open(folder: impl AsFd, name: &OsStr) -> nix::Result<Self> {
        let mut dir = Dir::openat(folder, name, DIRECTORY, Mode::empty())?;
        let mut left = Vec::new();
        for entry in dir.iter() {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                left.push(name);
            }
        }
        Ok(Self {
            dir,
            name: name.to_owned(),
            left,
        })
    }
}

/// Removes one name. Uses a list instead of recursion, because agents can nest directories deeply.
fn remove_entry(folder: &impl AsFd, name: &OsStr) -> io::Result<()> {
    if !is_dir(folder, name)? {
        return Ok(unlinkat(folder, name, UnlinkatFlags::NoRemoveDir)?);
    }
    let mut levels = vec![Level::open(folder, name)?];
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.left.pop() else {
            let done = levels.pop().map(|level| level.name).unwrap_or_default();
            match levels.last() {
                Some(above) => unlinkat(&above.dir, done.as_os_str(), UnlinkatFlags::RemoveDir)?,
                None => unlinkat(folder, done.as_os_str(), UnlinkatFlags::RemoveDir)?,
            }
            continue;
        };
        if is_dir(&level.dir, &name)? {
            let below = Level::open(&level.dir, &name)?;
            levels.push(below);
        } else {
            unlinkat(&level.dir, name.as_os_str(), UnlinkatFlags::NoRemoveDir)?;
        }
    }
    Ok(())
}

fn is_dir(folder: &impl AsFd, name: &OsStr) -> io::Result<bool> {
    let stat = fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    Ok(SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Directories `mine` and `other`, and a link `mine/link` to `other`, whose file must survive.
    fn folders() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("mine/deep/deeper")).unwrap();
        fs::create_dir(dir.path().join("other")).unwrap();
        fs::write(dir.path().join("other/precious"), "x").unwrap();
        fs::write(dir.path().join("mine/deep/deeper/file"), "x").unwrap();
        symlink(dir.path().join("other"), dir.path().join("mine/link")).unwrap();
        symlink("..", dir.path().join("mine/deep/up")).unwrap();
        dir
    }

    #[test]
    fn removing_a_tree_removes_its_links_but_not_their_targets() {
        let dir = folders();
        tree(&dir.path().join("mine")).unwrap();
        assert!(!dir.path().join("mine").exists());
        assert!(dir.path().join("other/precious").exists());
        tree_if_there(&dir.path().join("mine")).unwrap();
        assert!(tree(&dir.path().join("mine")).is_err());
    }

    #[test]
    fn nothing_is_removed_through_a_link() {
        let dir = folders();
        let through = dir.path().join("mine/link");
        for removed in [
            file(&through.join("precious")),
            file_if_there(&through.join("precious")),
            tree(&through.join("precious")),
            empty_dir(&through.join("precious")),
        ] {
            let error = removed.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotADirectory, "{error}");
        }
        assert!(dir.path().join("other/precious").exists());
        tree(&through).unwrap();
        assert!(
            fs::symlink_metadata(&through).is_err(),
            "the link itself goes"
        );
        assert!(dir.path().join("other/precious").exists());
    }

    #[test]
    fn each_call_removes_only_its_kind_of_entry() {
        let dir = folders();
        let at = |name: &str| dir.path().join(name);
        assert!(file(&at("other")).is_err());
        assert!(empty_dir(&at("other")).is_err(), "it is not empty");
        file(&at("other/precious")).unwrap();
        empty_dir(&at("other")).unwrap();
        file_if_there(&at("other/precious")).unwrap();
    }
}
