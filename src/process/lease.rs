//! The lease of a run: how long it may go on with no daemon alive.
//!
//! Invariant: a daemon lives exactly as long as it holds the lock on the lease file, and looking takes nothing, so that runners never stand
//! in the way of a daemon that starts. Time is the machine's own, awake: neither a set clock nor a closed lid ends an agent.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::lock::{self, RunLock};

/// The longest time between two looks.
const LOOK: Duration = Duration::from_secs(5);

/// The shortest.
const SOON: Duration = Duration::from_millis(10);

/// What a run's specification says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The file that the daemon holds, absolute.
    pub file: PathBuf,
    /// How long the run may go on while nobody holds it, in milliseconds.
    pub ms: u64,
}

/// That a daemon lives, for as long as this value does.
#[derive(Debug)]
pub struct Alive {
    _lock: RunLock,
}

/// Says to every runner that a daemon lives. The caller is the only daemon of the repository.
///
/// # Errors
/// The file cannot be made, or another process holds it.
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

/// A runner's watch over its lease.
pub(super) struct Watch {
    lease: Lease,
    seen: Instant,
    next: Instant,
}

impl Watch {
    /// The daemon that started this run lives now.
    pub(super) fn new(lease: Lease) -> Self {
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

    /// When to look again.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Looks, if it is time to. True when no daemon has lived for longer than the lease.
    pub(super) fn has_expired(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        self.next = now + self.period();
        // What cannot be told does not end an agent.
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
    fn a_lease_is_held_again_after_its_holder_has_gone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lease");
        drop(hold(&file).unwrap());
        hold(&file).unwrap();
    }
}
