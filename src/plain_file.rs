//! Opens regular files, and makes folders, in directories that others can write to. Every room that
//! reads a file an agent or a person may have replaced opens it here.
//!
//! Invariant: never blocks on a pipe, and goes through no link unless asked to.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::libc;

/// Opens a regular file for reading. A link as the last component is refused.
///
/// # Errors
/// [`InvalidData`](io::ErrorKind::InvalidData) for anything else at `path`, see [`other_kind`], and
/// [`NotFound`](io::ErrorKind::NotFound) for nothing.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, libc::O_NOFOLLOW)
}

/// Opens a regular file, or what a link there leads to, for reading.
///
/// # Errors
/// As [`open`].
pub fn open_through_links(path: &Path) -> io::Result<File> {
    open_with(path, 0)
}

/// What was there instead of a regular file ("a symbolic link"), when that is why it was refused.
pub fn other_kind(error: &io::Error) -> Option<&'static str> {
    let inner = error.get_ref()?.downcast_ref::<NotRegular>()?;
    Some(inner.0)
}

/// Makes a private folder if it is missing; returns whether it was.
///
/// # Errors
/// [`NotADirectory`](io::ErrorKind::NotADirectory) for anything else at `path`, such as a link.
pub fn make_folder(path: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if fs::symlink_metadata(path)?.is_dir() {
                return Ok(false);
            }
            let words = format!("{} is not a folder", path.display());
            Err(io::Error::new(io::ErrorKind::NotADirectory, words))
        }
        made => made.map(|()| true),
    }
}

fn open_with(path: &Path, flags: libc::c_int) -> io::Result<File> {
    let flags = flags | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => not_regular("a symbolic link"),
        Some(libc::ENXIO | libc::ENODEV) => not_regular(SPECIAL),
        _ => error,
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(file)
    } else if kind.is_dir() {
        Err(not_regular("a directory"))
    } else {
        Err(not_regular(SPECIAL))
    }
}

const SPECIAL: &str = "a pipe, a socket or a device";

/// What is there instead of a regular file.
#[derive(Debug)]
struct NotRegular(&'static str);

impl fmt::Display for NotRegular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is {}, not a regular file", self.0)
    }
}

impl std::error::Error for NotRegular {}

fn not_regular(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, NotRegular(what))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_opening_never_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "x").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        assert!(open(&at("file")).is_ok());
        for odd in ["link", "zero", "loop", "pipe", "folder", "socket"] {
            let error = open(&at(odd)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{odd}: {error}");
            assert!(other_kind(&error).is_some(), "{odd}: {error}");
        }
        assert!(open_through_links(&at("link")).is_ok());
        for odd in ["zero", "loop", "pipe", "folder", "socket"] {
            let error = open_through_links(&at(odd)).unwrap_err();
            assert!(other_kind(&error).is_some(), "{odd}: {error}");
        }
        for odd in ["link", "loop", "pipe", "file", "socket"] {
            let error = make_folder(&at(odd)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotADirectory, "{odd}");
        }
        assert!(make_folder(&at("new")).unwrap());
        assert!(!make_folder(&at("new")).unwrap());
        let missing = open(&at("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
