//! `state/daemon.json`: where the running daemon can be reached.
//!
//! Invariant: it is replaced as a whole, so a reader sees an old one or a new one. It is a hint: what a daemon that was killed left behind
//! names a socket that nobody listens on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;

const NAME: &str = "daemon.json";
const NEW: &str = "daemon.json.new";

/// Where the running daemon can be reached. Fields that a newer version adds are ignored.
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
    /// The address of its page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_url: Option<String>,
}

impl DaemonFile {
    /// Writes it into the state directory, mode 0600. The caller holds the state lock.
    pub fn write(&self, state_dir: &Path) -> io::Result<()> {
        let json = serde_json::to_vec(self)?;
        // Always the same name: whoever holds the state lock is alone, and what a kill leaves is written over.
        let new = state_dir.join(NEW);
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&json)?;
        file.sync_all()?;
        fs::rename(&new, state_dir.join(NAME))?;
        sync_dir(state_dir)
    }

    /// Reads it; none: no daemon has left one.
    pub fn read(state_dir: &Path) -> io::Result<Option<Self>> {
        match fs::read(state_dir.join(NAME)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes it; that it is not there is fine.
    pub fn remove(state_dir: &Path) -> io::Result<()> {
        match fs::remove_file(state_dir.join(NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => sync_dir(state_dir),
        }
    }
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
            socket: "/tmp/s".into(),
            started_at: Timestamp::from_millis(1),
            version: "0.1.0".into(),
            web_url: None,
        }
    }

    #[test]
    fn it_is_written_read_replaced_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(DaemonFile::read(dir.path()).unwrap(), None);
        // As a kill in the middle of writing leaves it.
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
    fn what_a_newer_version_adds_is_ignored() {
        let json = r#"{"pid":1,"socket":"/s","startedAt":"2026-01-01T00:00:00.000Z","version":"9","new":[]}"#;
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(NAME), json).unwrap();
        assert_eq!(DaemonFile::read(dir.path()).unwrap().unwrap().pid, 1);
    }
}
