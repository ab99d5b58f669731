//! `<git common directory>/swarm/daemon.json`: how to reach the running daemon.
//!
//! Invariant: it is replaced as a whole, so a reader sees the old or the new one. It is only a
//! hint: the file of a killed daemon names a socket that nobody listens on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::socket;
use crate::domain::time::Timestamp;
use crate::plain_file;
use crate::remove;

const NAME: &str = "daemon.json";
const NEW: &str = "daemon.json.new";

/// How to reach the running daemon. Fields that a newer version adds are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonFile {
    /// Its process id.
    pub pid: u32,
    /// Its socket.
    pub socket: PathBuf,
    /// When it started.
    pub started_at: Timestamp,
    /// Its version.
    pub version: String,
    /// The address of its web page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_url: Option<String>,
    /// The device and inode of its private directory, so that a copied file is not taken for a
    /// daemon of the copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<(u64, u64)>,
}

impl DaemonFile {
    /// Writes it into the private directory, mode 0600. The caller holds the state lock.
    pub fn write(&self, private: &Path) -> io::Result<()> {
        let json = serde_json::to_vec(self)?;
        // A fixed name is safe under the state lock, and overwrites what a kill left.
        let new = private.join(NEW);
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&json)?;
        file.sync_all()?;
        fs::rename(&new, private.join(NAME))?;
        sync_dir(private)
    }

    /// Reads it; `None` if no daemon of this directory has left one. Anything but a regular file is
    /// an error, and is not waited for.
    pub fn read(private: &Path) -> io::Result<Option<Self>> {
        match plain_file::open(&private.join(NAME)) {
            Ok(file) => {
                let file: Self = serde_json::from_reader(BufReader::new(file))?;
                Ok(file.is_of(private)?.then_some(file))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a daemon of this directory wrote it and could answer at its socket. The repository
    /// may have been copied, or renamed and replaced.
    fn is_of(&self, private: &Path) -> io::Result<bool> {
        let here = place(private)?;
        if self.state.is_some_and(|state| state != here) {
            return Ok(false);
        }
        match self.socket.parent() {
            Some(dir) if !socket::is_elsewhere(dir) => Ok(place(dir).is_ok_and(|dir| dir == here)),
            _ => Ok(true),
        }
    }

    /// Removes it, if it exists.
    pub fn remove(private: &Path) -> io::Result<()> {
        remove::file_if_there(&private.join(NAME))?;
        sync_dir(private)
    }
}

/// A directory's device and inode, which do not change with its name.
pub fn place(dir: &Path) -> io::Result<(u64, u64)> {
    let dir = fs::metadata(dir)?;
    Ok((dir.dev(), dir.ino()))
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn sample() -> DaemonFile {
        DaemonFile {
            pid: 42,
            socket: "/tmp/swarm-1/s".into(),
            started_at: Timestamp::from_millis(1),
            version: "0.1.0".into(),
            web_url: None,
            state: None,
        }
    }

    #[test]
    fn a_copied_or_replaced_directory_has_no_daemon() {
        let dirs = tempfile::tempdir().unwrap();
        let at = |name: &str| dirs.path().join(name);
        fs::create_dir(at("one")).unwrap();
        fs::create_dir(at("copy")).unwrap();
        let one = DaemonFile {
            socket: at("one").join("swarm.sock"),
            state: Some(place(&at("one")).unwrap()),
            ..sample()
        };
        let elsewhere = DaemonFile {
            socket: "/tmp/swarm-1/swarm.sock".into(),
            ..one.clone()
        };
        for file in [&one, &elsewhere] {
            file.write(&at("one")).unwrap();
            assert_eq!(DaemonFile::read(&at("one")).unwrap().as_ref(), Some(file));
            fs::copy(at("one/daemon.json"), at("copy/daemon.json")).unwrap();
            assert_eq!(DaemonFile::read(&at("copy")).unwrap(), None);
        }
        one.write(&at("one")).unwrap();
        fs::rename(at("one"), at("renamed")).unwrap();
        assert_eq!(DaemonFile::read(&at("renamed")).unwrap(), None);
        fs::create_dir(at("one")).unwrap();
        assert_eq!(DaemonFile::read(&at("renamed")).unwrap(), None);
    }

    #[test]
    fn it_is_written_read_replaced_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(DaemonFile::read(dir.path()).unwrap(), None);
        // What a kill during a write leaves.
        fs::write(dir.path().join(NEW), "{\"pid\":").unwrap();
        assert_eq!(DaemonFile::read(dir.path()).unwrap(), None);
        sample().write(dir.path()).unwrap();
        let newer = DaemonFile {
            pid: 43,
            ..sample()
        };
        newer.write(dir.path()).unwrap();
        assert_eq!(DaemonFile::read(dir.path()).unwrap(), Some(newer));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let mode = fs::metadata(dir.path().join(NAME)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        DaemonFile::remove(dir.path()).unwrap();
        DaemonFile::remove(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn fields_of_a_newer_version_are_ignored() {
        let json = r#"{"pid":1,"socket":"/tmp/swarm-1/s","version":"9","new":[],
            "startedAt":"2026-01-01T00:00:00.000Z"}"#;
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(NAME), json).unwrap();
        assert_eq!(DaemonFile::read(dir.path()).unwrap().unwrap().pid, 1);
    }
}
