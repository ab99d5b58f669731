//! The event log on disk, without the meaning of its events. Called by `daemon`.
//!
//! `record` and `reader` handle lines; `segments` the files; `tail_scan` tells a torn tail from
//! damage. `open`, `append` and `writer` write; `copy` copies a log, or a part of it;
//! `load` and `snapshot` read a state; `lock` admits one daemon, `ballast` reserves disk space,
//! `disk` and `error` serve the others, and `repair` repairs damage. See [`StateLock::acquire`],
//! [`Journal::open`] and [`load()`].
//! Invariant: acknowledged events survive any crash; damage is refused, never guessed over; only
//! the holder of the [`StateLock`] writes.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod append;
mod ballast;
mod copy;
mod disk;
mod error;
mod load;
mod lock;
mod open;
mod reader;
mod record;
pub mod repair;
mod segments;
mod snapshot;
mod tail_scan;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod writer;

pub use append::Journal;
pub use ballast::{BALLAST_BYTES, BALLAST_FILE, Ballast};
pub use copy::{Part, copy_changed, copy_joined, cut_at, first_line};
pub use disk::{Disk, SegmentFile, Storage};
pub use error::{AppendError, JournalError};
pub use load::{Loaded, StartFrom, Survey, load, verify};
pub use lock::{LOCK_FILE, LockError, StateLock};
pub use open::{KeptAside, Opened, SEGMENT_BYTES};
pub use reader::{position_of, replay, select};
pub use record::{Envelope, FORMAT, JournalEvent, MAX_LINE, Record};
pub use segments::second_names::SecondNames;
pub use segments::{LIVE_FILE, Position, Segment, Segments, Torn};
pub use snapshot::{
    PREVIOUS_FILE, SNAPSHOT_FILE, SNAPSHOT_VERSION, Snapshot, SnapshotFault, parse_snapshot,
    read_snapshot, snapshot_bytes, write_snapshot, write_snapshot_with,
};
pub use tail_scan::{ChainStart, Scan, Tail, scan};
pub use writer::{Appended, Batch, Writer, WriterDied, spawn_writer};
