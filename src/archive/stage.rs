//! Unpacks an archive that is not trusted into a new folder.
//!
//! Invariant: the folder is made by [`stage`] itself, and nobody else may enter it. Every file in
//! it is plain, 0600 and create-only. An archive that is refused leaves no folder. Nothing is
//! synced: who moves staged files into their places does that.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufWriter, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::error::ArchiveError;
use super::manifest::Manifest;
use super::read::{Reader, hex};
use super::{Limits, names};
use crate::remove;

/// An archive, unpacked and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// The folder: `manifest.json` and the files that it lists, under their names.
    pub dir: PathBuf,
    /// What is inside.
    pub manifest: Manifest,
    /// SHA-256 of the bytes of `manifest.json`, in hex: the identity of the archive.
    pub sha256: String,
}

/// Unpacks an archive into the folder `into`, which must not be there yet.
///
/// # Errors
/// See [`ArchiveError`]. Then the folder is gone, unless it was there before.
pub fn stage(input: impl Read, into: &Path, limits: Limits) -> Result<Staged, ArchiveError> {
    let reader = Reader::open(input, limits)?;
    new_folder(into).map_err(ArchiveError::io("make the folder", into))?;
    match unpack(reader, into) {
        Ok(staged) => Ok(staged),
        Err(refused) => {
            remove::tree_if_there(into).map_err(ArchiveError::io("remove", into))?;
            Err(refused)
        }
    }
}

fn unpack<R: Read>(mut reader: Reader<R>, into: &Path) -> Result<Staged, ArchiveError> {
    let bytes = reader.manifest_bytes();
    let sha256 = hex(&Sha256::digest(bytes));
    let path = into.join(names::MANIFEST);
    let written = new_file(&path).and_then(|mut file| file.write_all(bytes));
    written.map_err(ArchiveError::io("write", &path))?;
    while let Some(entry) = reader.upcoming() {
        let path = into.join(&entry.path);
        if let Some(folder) = path.parent() {
            let mut builder = DirBuilder::new();
            let made = builder.recursive(true).mode(0o700).create(folder);
            made.map_err(ArchiveError::io("make the folder", folder))?;
        }
        let file = new_file(&path).map_err(ArchiveError::io("make", &path))?;
        let mut file = BufWriter::new(file);
        reader.read_next(&mut file)?;
        file.flush().map_err(ArchiveError::io("write", &path))?;
    }
    Ok(Staged {
        dir: into.to_owned(),
        manifest: reader.finish()?,
        sha256,
    })
}

fn new_folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn new_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}
