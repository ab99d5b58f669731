//! The lease of a run: how long it may continue while no daemon is alive.
//!
//! Invariant: a daemon holds the lock on the lease file exactly as long as it lives. Runners only
//! query the lock, so they never block a daemon that starts. Time is monotonic and excludes
//! suspend: neither a clock change nor a closed lid ends an agent.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::lock::{self, RunLock};

/// Longest time between two checks.
const LOOK: Duration = Duration::from_secs(5);

/// Shortest time between two checks.
const SOON: Duration = Duration::from_millis(10);

/// The lease in a run's specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// Absolute path of the file that the daemon locks.
    pub file: PathBuf,
    /// How long the run may continue while nobody holds the lock, in milliseconds.
    pub ms: u64,
}

/// Proof for runners that a daemon lives, as long as this value lives.
#[derive(Debug)]
pub struct Alive {
    _lock: RunLock,
}

/// Tells every runner that a daemon lives. The caller must be the repository's only daemon.
///
/// # Errors
/// The file cannot be created, or another process holds it.
pub fn hold(file: &Path) -> io::Result<Alive> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(file)?;
    match lock::try_take(file)? {
        Some(lock) => Ok(Alive { _lock: lock }),
        None => Err(io::Error::other("another daemon holds the lease")),
    }
}

/// A runner's view of its lease.
pub(in crate::process) struct Watch {
    lease: Lease,
    seen: Instant,
    next: Instant,
}

impl Watch {
    /// Starts with the assumption that the daemon which launched this run is alive.
    pub(in crate::process) fn new(lease: Lease) -> Self {
        let now = Instant::now();
        let mut watch = Self {
            lease,
            seen: now,
            next: now,
        };
        watch.next = now + watch.period();
        watch
    }

    fn period(&self) -> Duration {
        Duration::from_millis(self.lease.ms / 4).clamp(SOON, LOOK)
    }

    /// Time of the next check.
    pub(in crate::process) fn next(&self) -> Instant {
        self.next
    }

    /// Checks the lock if it is time. Returns `true` if no daemon has lived for the lease's
    /// duration.
    pub(in crate::process) fn has_expired(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        self.next = now + self.period();
        // An unknown state must not end an agent.
        if !matches!(lock::holder(&self.lease.file), Ok(None)) {
            self.seen = now;
        }
        now.saturating_duration_since(self.seen) >= Duration::from_millis(self.lease.ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_without_a_holder_expires() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lease");
        let mut watch = Watch::new(Lease { file, ms: 0 });
        watch.next = watch.seen;
        assert!(watch.has_expired());
    }

    #[test]
    fn a_new_daemon_can_hold_the_lease_after_the_old_one_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lease");
        drop(hold(&file).unwrap());
        hold(&file).unwrap();
    }
}
