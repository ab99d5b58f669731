//! The daemon's diagnostic log, `.swarm/logs/daemon.jsonl`: one JSON object a line. Opened at a
//! start.
//!
//! Invariant: nothing reads it back, and losing a line has no consequence. `SWARM_LOG` sets the
//! level (`debug`, `swarm::git=trace`, ...); the default is `info`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use crate::daemon::error::DaemonError;
use crate::daemon::files::paths::Paths;

/// The variable that sets the level.
const VARIABLE: &str = "SWARM_LOG";
/// A larger log, in bytes, is renamed at the next start; one old log is kept.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Opens the log and writes all traces of this process there. Only the first call has an effect.
///
/// # Errors
/// The log cannot be opened.
pub fn begin(paths: &Paths) -> Result<(), DaemonError> {
    let file = open(paths).map_err(DaemonError::io("open .swarm/logs/daemon.jsonl"))?;
    let filter = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new("info"));
    // The client of the webhook would write its address, which may be secret.
    let silent = "ureq=off".parse().expect("a well-formed directive");
    let filter = filter.add_directive(silent);
    let begun = tracing_subscriber::fmt()
        .json()
        .with_env_filter(filter)
        // On a full disk, each line would print an error on the terminal.
        .log_internal_errors(false)
        .with_writer(Mutex::new(file))
        .try_init();
    if begun.is_err() {
        tracing::debug!("this process already has a log");
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
    fn a_large_log_is_renamed_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path());
        open(&paths).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(open(&paths).unwrap().metadata().unwrap().len(), 0);
        assert!(paths.logs.join("daemon.1.jsonl").exists());
    }
}
