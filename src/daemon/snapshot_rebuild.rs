//! Writes the snapshot anew from a full replay. Called by the command line, while no daemon runs.
//!
//! Invariant: the log is the truth and is only read. A snapshot that differs from it is copied
//! before it is replaced, since it shows a fault of the program. Killed at any instant, the same
//! command finishes: a snapshot is replaced as a whole.

use std::fs;
use std::path::{Path, PathBuf};

use super::actor::clock::Clock;
use super::error::DaemonError;
use super::files::paths::Paths;
use super::files::store::Store;
use super::offline::{self, Upto};
use crate::domain::state::State;
use crate::journal::{
    PREVIOUS_FILE, SNAPSHOT_FILE, Snapshot, SnapshotFault, read_snapshot, write_snapshot,
};

/// What a rebuild found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// The event after which the snapshot is now.
    pub seq: u64,
    /// What the old snapshot was.
    pub old: OldSnapshot,
    /// Copies of the snapshots that differed from the log.
    pub differed: Vec<PathBuf>,
}

/// What the newest snapshot was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldSnapshot {
    /// It said the same as the log.
    Same,
    /// It said something else.
    Differed,
    /// It could not be read.
    Damaged,
    /// There was none.
    Missing,
}

/// Writes the snapshot anew.
///
/// # Errors
/// [`DaemonError::Locked`]; a damaged log; a file that cannot be written.
pub fn rebuild(paths: &Paths) -> Result<Rebuilt, DaemonError> {
    let store = Store::open(paths)?;
    let state = offline::state_at(paths, Upto::End)?;
    let files = [SNAPSHOT_FILE, PREVIOUS_FILE].map(|name| paths.state.join(name));
    let mut found = Vec::new();
    let mut differed = Vec::new();
    for file in &files {
        let (old, seq) = inspect(paths, file)?;
        if old == OldSnapshot::Differed {
            let copy = paths.state.join(format!("snapshot.differs-{seq}.json"));
            fs::copy(file, &copy).map_err(DaemonError::io("copy the old snapshot"))?;
            differed.push(copy);
        }
        found.push(old);
    }
    let (now, _) = Clock::after(state.swarm.last_event_at).now();
    let snapshot = Snapshot {
        snapshot_at: now,
        swarm_version: env!("CARGO_PKG_VERSION").to_owned(),
        position: store.journal.position(),
        config_hash: state.config_hash.clone(),
        state: &state,
    };
    // The first one keeps what was there as the previous snapshot; that may be the wrong one.
    for _ in 0..=usize::from(!differed.is_empty()) {
        write_snapshot(&paths.state, &snapshot).map_err(DaemonError::io("write the snapshot"))?;
    }
    Ok(Rebuilt {
        seq: state.seq,
        old: found[0],
        differed,
    })
}

/// Compares a snapshot with the log; returns its seq too. One that cannot be read is replaced
/// without a copy: nothing would ever use it.
fn inspect(paths: &Paths, file: &Path) -> Result<(OldSnapshot, u64), DaemonError> {
    let snapshot = match read_snapshot::<State>(file) {
        Ok(snapshot) => snapshot,
        Err(SnapshotFault::Missing) => return Ok((OldSnapshot::Missing, 0)),
        Err(_) => return Ok((OldSnapshot::Damaged, 0)),
    };
    let seq = snapshot.position.seq;
    let is_same = offline::state_at(paths, Upto::Seq(seq))? == snapshot.state;
    let old = if is_same {
        OldSnapshot::Same
    } else {
        OldSnapshot::Differed
    };
    Ok((old, seq))
}
