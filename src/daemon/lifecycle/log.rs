//! The daemon's own log, for those who look for the cause of something: `.swarm/logs/daemon.jsonl`,
//! one JSON object a line.
//!
//! Invariant: it is no ledger. Nothing reads it back, and a line that cannot be written is lost
//! without consequence. `SWARM_LOG` says how much is written (`debug`, `swarm::git=trace`, ...;
//! `info` without it).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use crate::daemon::error::DaemonError;
use crate::daemon::files::paths::Paths;

/// The variable that says how much is written.
const VARIABLE: &str = "SWARM_LOG";
/// A log larger than this, in bytes, is put aside at the next start; one such is kept.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Opens the log and has everything that this process traces written there. The first call counts.
///
/// # Errors
/// The log cannot be opened.
pub fn begin(paths: &Paths) -> Result<(), DaemonError> {
    let file = open(paths).map_err(DaemonError::io("open .swarm/logs/daemon.jsonl"))?;
    let filter = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new("info"));
    let begun = tracing_subscriber::fmt()
        .json()
        .with_env_filter(filter)
        // On a full disk each line would be a message on the terminal.
        .log_internal_errors(false)
        .with_writer(Mutex::new(file))
        .try_init();
    if begun.is_err() {
        tracing::debug!("this process has a log already");
    }
    Ok(())
}

fn open(paths: &Paths) -> io::Result<File> {
    fs::create_dir_all(&paths.logs)?;
    let path = paths.logs.join("daemon.jsonl");
    if fs::metadata(&path).is_ok_and(|file| file.len() > MAX_BYTES) {
        fs::rename(&path, paths.logs.join("daemon.1.jsonl"))?;
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_grew_large_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path());
        open(&paths).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(open(&paths).unwrap().metadata().unwrap().len(), 0);
        assert!(paths.logs.join("daemon.1.jsonl").exists());
    }
}
