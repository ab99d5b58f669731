//! Takes snapshots: after 1,000 events (in a burst, every two seconds), after 30 seconds of
//! activity, and at the end. Called by the actor.
//!
//! Invariant: a snapshot is taken of the published state, so of durable events only. A large one is
//! taken only after enough events (see [`BYTES_PER_EVENT`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::clock;
use super::handle::Handle;
use crate::daemon::files::paths::Paths;
use crate::daemon::lifecycle::heap;
use crate::domain::state::State;
use crate::journal::{Position, Snapshot, write_snapshot};

/// A snapshot is due after this many events.
const EVENTS: u64 = 1_000;
/// The least time between two snapshots.
const PAUSE: Duration = Duration::from_secs(2);
/// A snapshot is due after this long if there were events.
const ACTIVITY: Duration = Duration::from_secs(30);
/// Bytes of snapshot that may be written for each event, on average.
const BYTES_PER_EVENT: u64 = 2_048;

/// Takes snapshots.
pub(crate) struct Snapshots {
    paths: Paths,
    last_seq: u64,
    last_at: Instant,
    writing: Arc<AtomicBool>,
    size: Arc<AtomicU64>,
}

impl Snapshots {
    /// For this repository, whose log ends at `seq` without new events yet.
    pub(crate) fn new(paths: &Paths, seq: u64) -> Self {
        Self {
            paths: paths.clone(),
            last_seq: seq,
            last_at: Instant::now(),
            writing: Arc::default(),
            size: Arc::new(AtomicU64::new(size_on_disk(paths))),
        }
    }

    /// Takes a snapshot if one is due. `position` is that of the last durable event.
    pub(crate) fn consider(&mut self, handle: &Handle, position: Position) {
        let events = position.seq.saturating_sub(self.last_seq);
        let worth_it = events * BYTES_PER_EVENT >= self.size.load(Ordering::Relaxed);
        let since = self.last_at.elapsed();
        let due = (events >= EVENTS && since >= PAUSE) || since >= ACTIVITY;
        if events == 0 || !due || !worth_it || self.writing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.last_seq = position.seq;
        self.last_at = Instant::now();
        let state = handle.read(State::clone);
        let (paths, size) = (self.paths.clone(), Arc::clone(&self.size));
        let writing = Arc::clone(&self.writing);
        spawn_blocking(move || {
            write(&paths, &state, position);
            drop(state);
            heap::purge();
            size.store(size_on_disk(&paths), Ordering::Relaxed);
            writing.store(false, Ordering::Release);
        });
    }

    /// Takes the last snapshot, with everything in it.
    pub(crate) async fn last(&self, handle: &Handle, position: Position) {
        let (paths, state) = (self.paths.clone(), handle.read(State::clone));
        let writing = Arc::clone(&self.writing);
        let wrote = spawn_blocking(move || {
            // A snapshot that is being written is finished in a moment; two at once would
            // overwrite each other.
            while writing.swap(true, Ordering::AcqRel) {
                std::thread::yield_now();
            }
            write(&paths, &state, position);
        });
        if let Err(error) = wrote.await {
            tracing::warn!(%error, "the last snapshot was not taken; the next start replays \
                more events");
        }
    }
}

/// A failed snapshot only makes the next start slower.
fn write(paths: &Paths, state: &State, position: Position) {
    debug_assert_eq!(state.seq, position.seq);
    let snapshot = Snapshot {
        snapshot_at: clock::wall(),
        swarm_version: env!("CARGO_PKG_VERSION").to_owned(),
        position,
        config_hash: state.config_hash.clone(),
        state,
    };
    if let Err(error) = write_snapshot(&paths.state, &snapshot) {
        tracing::warn!(%error, "a snapshot could not be written; the next start replays more \
            events");
    }
}

fn size_on_disk(paths: &Paths) -> u64 {
    let file = paths.state.join(crate::journal::SNAPSHOT_FILE);
    std::fs::metadata(file).map_or(0, |file| file.len())
}
