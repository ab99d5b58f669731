//! The files of provenance records, `.swarm/provenance/snapshots/<run>.json`.
//!
//! Invariant: a file is whole or missing, and on disk before its digest is in the log. A killed
//! write is done again under the same names. What lies in the way, such as a link, is never written
//! through, and only content with the digest of the log is shown.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::crash;
use crate::daemon::Paths;
use crate::daemon::files::hash::sha256;
use crate::domain::ids::RunId;
use crate::plain_file;
use crate::remove;
use crate::view::provenance::Record;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What became of a record's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has the digest of the log.
    Intact,
    /// It is gone.
    Missing,
    /// It has another content.
    Damaged,
    /// Something else lies there, such as a link.
    NotAFile(&'static str),
}

/// The bytes of a record's file: the fields in the order of the schema, without spaces.
///
/// # Errors
/// A number in it is not finite.
pub fn bytes(record: &Record) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(record)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Writes a record durably and returns its SHA-256 in hex. To write it again is no error.
///
/// # Errors
/// The disk fails or is full, or something else lies in the place of a folder.
pub fn write(paths: &Paths, record: &Record) -> io::Result<String> {
    let run: RunId = record.run.parse().map_err(io::Error::other)?;
    let content = bytes(record)?;
    let path = paths.record(&run);
    write_file(paths, &path, &content, || {
        crash::point("record.before-rename");
    })?;
    crash::point("record.written");
    Ok(sha256(&content))
}

/// Replaces a file in a folder of `.swarm/provenance/` durably; `before_rename` is called when its
/// content is on disk under another name.
pub(super) fn write_file(
    paths: &Paths,
    path: &Path,
    content: &[u8],
    before_rename: impl FnOnce(),
) -> io::Result<()> {
    let root = paths.provenance();
    let folder = path.parent().unwrap_or(&root);
    for folder in [root.as_path(), folder] {
        if plain_file::make_folder(folder)? {
            sync_folder(folder.parent().unwrap_or(&paths.swarm))?;
        }
    }
    let unfinished = path.with_extension("json.tmp");
    remove::file_if_there(&unfinished)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    before_rename();
    fs::rename(&unfinished, path)?;
    sync_folder(folder)
}

/// The content of a record's file, whatever it is.
///
/// # Errors
/// It is missing, no regular file, or cannot be read.
pub fn read(paths: &Paths, run: &RunId) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = plain_file::open(&paths.record(run))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    Ok(content)
}

/// The content of a record's file if it has this digest, else what is wrong with it. A file that a
/// formatter changed in layout only is read as it was written.
///
/// # Errors
/// It cannot be read now.
pub fn read_intact(
    paths: &Paths,
    run: &RunId,
    expected: &str,
) -> io::Result<Result<Vec<u8>, Verdict>> {
    match read(paths, run) {
        Ok(content) if sha256(&content) == expected => Ok(Ok(content)),
        Ok(content) => {
            let written = serde_json::from_slice(&content).and_then(|record| bytes(&record));
            let written = written.ok().filter(|it| sha256(it) == expected);
            Ok(written.ok_or(Verdict::Damaged))
        }
        Err(error) => match (plain_file::other_kind(&error), error.kind()) {
            (Some(kind), _) => Ok(Err(Verdict::NotAFile(kind))),
            (None, io::ErrorKind::NotFound) => Ok(Err(Verdict::Missing)),
            (None, _) => Err(error),
        },
    }
}

/// What became of a record's file.
///
/// # Errors
/// It cannot be read now.
pub fn check(paths: &Paths, run: &RunId, expected: &str) -> io::Result<Verdict> {
    let read = read_intact(paths, run, expected)?;
    Ok(read.err().unwrap_or(Verdict::Intact))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::daemon::provenance::build;
    use crate::daemon::provenance::testkit::{Site, owed};

    #[test]
    fn a_record_is_written_once_and_checked_by_its_digest() {
        let site = Site::new();
        let record = build(&site.paths, &site.repo, &site.run, &owed(&site)).unwrap();
        let digest = write(&site.paths, &record).unwrap();
        // A killed write leaves such a file.
        let unfinished = site.paths.records().join(format!("{}.json.tmp", site.run));
        fs::write(&unfinished, "{").unwrap();
        assert_eq!(write(&site.paths, &record).unwrap(), digest);
        assert!(!unfinished.exists());
        let verdict = || check(&site.paths, &site.run, &digest).unwrap();
        assert_eq!(verdict(), Verdict::Intact);
        let path = site.paths.record(&site.run);
        let content = fs::read(&path).unwrap();
        let read: Record = serde_json::from_slice(&content).unwrap();
        assert_eq!(bytes(&read).unwrap(), content);
        let value: serde_json::Value = serde_json::from_slice(&content).unwrap();
        fs::write(&path, format!("{value:#}\n")).unwrap();
        let formatted = read_intact(&site.paths, &site.run, &digest).unwrap();
        assert_eq!(formatted.unwrap(), content);
        let mut flipped = content.clone();
        flipped[40] ^= 1;
        fs::write(&path, flipped).unwrap();
        assert_eq!(verdict(), Verdict::Damaged);
        fs::rename(&path, site.paths.swarm.join("elsewhere")).unwrap();
        assert_eq!(verdict(), Verdict::Missing);
        symlink(site.paths.swarm.join("elsewhere"), &path).unwrap();
        assert_eq!(verdict(), Verdict::NotAFile("a symbolic link"));
        assert_eq!(write(&site.paths, &record).unwrap(), digest);
        assert_eq!(verdict(), Verdict::Intact);
    }

    #[test]
    fn nothing_is_written_through_a_link_in_the_place_of_a_folder() {
        let site = Site::new();
        let record = build(&site.paths, &site.repo, &site.run, &owed(&site)).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), site.paths.swarm.join("provenance")).unwrap();
        let refused = write(&site.paths, &record).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotADirectory);
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
