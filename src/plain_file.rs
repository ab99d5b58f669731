//! Opens regular files, and makes folders, in directories that others can write to. Every room that
//! reads a file an agent or a person may have replaced opens it here. Also says why the system
//! cannot execute a script that is there.
//!
//! Invariant: never blocks on a pipe, and goes through no link unless asked to.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
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

/// Most bytes of a first line that the kernel reads.
const FIRST_LINE: u64 = 256;

/// Why the system cannot execute a script although its file is there and executable. The system
/// itself reports only "No such file or directory".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFault {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
}

impl fmt::Display for ScriptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.way_out)
    }
}

/// The fault of the script at `path`, which messages call `name`; `None` if it has none, or cannot
/// be read.
pub fn script_fault(path: &Path, name: &str) -> Option<ScriptFault> {
    let mut begin = Vec::new();
    let file = open_through_links(path).ok()?;
    file.take(FIRST_LINE).read_to_end(&mut begin).ok()?;
    fault_of_script(&begin, name)
}

/// [`script_fault`] of a content, or of its beginning.
pub fn fault_of_script(content: &[u8], name: &str) -> Option<ScriptFault> {
    let line = content.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line.strip_prefix(b"#!")?);
    let words = line.trim_matches([' ', '\t', '\r']);
    let interpreter = words.split([' ', '\t']).next().unwrap_or_default();
    // `env -S` takes a carriage return for a space.
    if line.ends_with('\r') && !words.contains(" -S") {
        return Some(ScriptFault {
            what: format!(
                "{name} has CRLF line ends, so the system takes a carriage return for a part of \
                its interpreter `{words}`"
            ),
            way_out: format!("convert them: sed -i 's/\\r$//' {}", quoted(name)),
        });
    }
    let path = Path::new(interpreter);
    let gone = fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    (path.is_absolute() && gone).then(|| ScriptFault {
        what: format!(
            "the first line of {name} names the interpreter {interpreter}, which does \
            not exist"
        ),
        way_out: format!("install {interpreter}, or correct that line"),
    })
}

fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
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
    fn a_script_that_the_system_cannot_execute_is_named_with_the_way_out() {
        let fault = |content: &str| fault_of_script(content.as_bytes(), "a b.sh");
        let crlf = fault("#!/bin/sh -e\r\nexit\r\n").unwrap();
        assert!(crlf.what.contains("CRLF") && crlf.what.contains("`/bin/sh -e`"));
        assert_eq!(crlf.way_out, r"convert them: sed -i 's/\r$//' 'a b.sh'");
        let env = fault("#!/usr/bin/env bash\r\n").unwrap();
        assert!(env.what.contains("CRLF"), "{env}");
        let gone = fault("#! /nowhere/python3 -u\n").unwrap();
        assert!(gone.what.contains("/nowhere/python3,"), "{gone}");
        for fine in [
            "#!/bin/sh\nexit\r\n",
            "#!/usr/bin/env -S sh\r\n",
            "\x7fELF",
            "",
            "#!x\n",
        ] {
            assert_eq!(fault(fine), None, "{fine:?}");
        }
    }

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
