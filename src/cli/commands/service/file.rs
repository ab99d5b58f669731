//! The service file, and whether swarm wrote it.
//!
//! Invariant: our file's first line says who wrote it and has the digest of the rest, so that an
//! edited file is recognized.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::Format;
use crate::cli::error::CliError;
use crate::remove;

const WRITTEN: &str = "written by: swarm service install; sha256 ";

/// What is at the file's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// A file that swarm wrote, unchanged: its content.
    Same(String),
    /// A file that swarm wrote and somebody edited.
    Edited,
    /// A file that swarm did not write.
    Foreign,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removed {
    /// There was nothing.
    Nothing,
    /// The file.
    File,
}

/// The whole file: the first line with the digest, then the body.
pub(super) fn sealed(format: Format, body: &str) -> String {
    let digest = hex(body.as_bytes());
    let (before, after) = around(format);
    format!("{before}{WRITTEN}{digest}{after}\n{body}")
}

/// The digest of these bytes, in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn around(format: Format) -> (&'static str, &'static str) {
    match format {
        Format::Systemd => ("# ", ""),
        // The XML declaration must come first.
        Format::Launchd => (r#"<?xml version="1.0" encoding="UTF-8"?><!-- "#, " -->"),
    }
}

/// Inspects the file's place.
pub(super) fn inspect_file(format: Format, path: &Path) -> Result<Found, CliError> {
    let kind = match fs::symlink_metadata(path) {
        Ok(kind) => kind,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(failed("inspect", path, &error)),
    };
    if !kind.is_file() {
        return Ok(Found::Foreign);
    }
    let bytes = fs::read(path).map_err(|error| failed("read", path, &error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let Some((first, body)) = text.split_once('\n') else {
        return Ok(Found::Foreign);
    };
    if !first.starts_with(&format!("{}{WRITTEN}", around(format).0)) {
        return Ok(Found::Foreign);
    }
    if sealed(format, body) == text {
        return Ok(Found::Same(text));
    }
    Ok(Found::Edited)
}

/// Writes the whole file or nothing.
pub(super) fn write(path: &Path, content: &str) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))?;
    let written = || -> io::Result<()> {
        let mut new = tempfile::Builder::new()
            .prefix(".swarm-")
            .permissions(fs::Permissions::from_mode(0o644))
            .tempfile_in(folder)?;
        new.write_all(content.as_bytes())?;
        new.as_file().sync_all()?;
        new.persist(path)?;
        Ok(())
    };
    written().map_err(|error| failed("write", path, &error))
}

/// Removes the file, and systemd's link to it, which would otherwise dangle.
pub(super) fn remove(path: &Path) -> Result<Removed, CliError> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(Removed::File);
    };
    remove_in(folder, name).map_err(|error| failed("remove", path, &error))?;
    let wants = folder.join("default.target.wants");
    let link = wants.join(name);
    let is_ours = fs::read_link(&link).is_ok_and(|target| target == path);
    if is_ours {
        remove_in(&wants, name).map_err(|error| failed("remove", &link, &error))?;
    }
    Ok(Removed::File)
}

/// This folder may be a link, for example into a repository of dotfiles.
fn remove_in(folder: &Path, name: &OsStr) -> io::Result<()> {
    remove::file(&fs::canonicalize(folder)?.join(name))
}

fn failed(doing: &str, path: &Path, error: &io::Error) -> CliError {
    CliError::io(format!("{doing} {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_and_foreign_files_are_recognized() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.service");
        for format in [Format::Systemd, Format::Launchd] {
            let whole = sealed(format, "one\ntwo\n");
            write(&path, &whole).unwrap();
            assert_eq!(
                inspect_file(format, &path).unwrap(),
                Found::Same(whole.clone())
            );
            write(&path, &format!("{whole}three\n")).unwrap();
            assert_eq!(inspect_file(format, &path).unwrap(), Found::Edited);
            write(&path, "one\ntwo\n").unwrap();
            assert_eq!(inspect_file(format, &path).unwrap(), Found::Foreign);
            remove(&path).unwrap();
            assert_eq!(inspect_file(format, &path).unwrap(), Found::Nothing);
            std::os::unix::fs::symlink("/dev/null", &path).unwrap();
            assert_eq!(inspect_file(format, &path).unwrap(), Found::Foreign);
            remove(&path).unwrap();
        }
    }
}
