//! Opens regular files in directories that others can write to.
//!
//! Invariant: never follows a link as the last component, never blocks on a pipe, and returns only
//! regular files.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::libc;

/// Opens a regular file for reading.
///
/// # Errors
/// [`InvalidData`](io::ErrorKind::InvalidData) for anything else at `path` (a link, a pipe, a
/// directory, a socket, a device), and [`NotFound`](io::ErrorKind::NotFound) for nothing.
pub fn open_plain_file(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        // A link, or a socket or device without a server.
        Some(libc::ELOOP | libc::ENXIO | libc::ENODEV) => odd(path),
        _ => error,
    })?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(odd(path))
    }
}

/// Whether [`open_plain_file`] refused something other than a regular file.
pub(super) fn is_odd(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

fn odd(path: &Path) -> io::Error {
    let message = format!("`{}` is not a regular file", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
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
        assert!(open_plain_file(&at("file")).is_ok());
        for odd in ["link", "zero", "loop", "pipe", "folder", "socket"] {
            let error = open_plain_file(&at(odd)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{odd}: {error}");
        }
        let missing = open_plain_file(&at("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
