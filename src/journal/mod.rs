//! The event log: bytes on disk, and nothing about what they mean.
//!
//! Invariant: what [`Journal::append`] or the [`Writer`] acknowledged is read again after any
//! crash; what is damaged is refused, never guessed over; and only one process writes, the holder
//! of the [`StateLock`].
//!
//! A start is [`StateLock::acquire`], [`Journal::open`] (puts the log in order), [`load()`]
//! (snapshot and the events after it). Readers need neither lock nor journal: [`replay`],
//! [`load()`], [`verify`].
//!
//! | file | does |
//! | --- | --- |
//! | `record`, `reader` | one line for one event; many as a stream |
//! | `upcast` | lines of older formats |
//! | `segments` | the files of the log and how they join |
//! | `segments/candidates` | the same files before that is known |
//! | `tail_scan` | tells a torn tail from damage |
//! | `open`, `append` | puts the log in order; one write and one sync |
//! | `writer` | the thread that groups batches |
//! | `load`, `snapshot` | the state: a snapshot and the events after it; the state as one file |
//! | `lock`, `ballast` | one daemon; room for a last event |
//! | `disk` | file operations that tests make fail |
//! | `repair` | damage: what is wrong, and the ways out |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod append;
mod ballast;
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
mod upcast;
mod writer;

pub use append::Journal;
pub use ballast::{BALLAST_BYTES, BALLAST_FILE, Ballast};
pub use disk::{Disk, SegmentFile, Storage};
pub use error::{AppendError, JournalError};
pub use load::{Loaded, StartFrom, Survey, load, verify};
pub use lock::{LOCK_FILE, LockError, StateLock};
pub use open::{KeptAside, Opened, SEGMENT_BYTES};
pub use reader::{position_of, replay};
pub use record::{FORMAT, JournalEvent, MAX_LINE, Record};
pub use segments::{LIVE_FILE, Position, Segment, Segments, Torn};
pub use snapshot::{
    PREVIOUS_FILE, SNAPSHOT_FILE, SNAPSHOT_VERSION, Snapshot, SnapshotFault, read_snapshot,
    write_snapshot, write_snapshot_with,
};
pub use tail_scan::{ChainStart, Scan, Tail, scan};
pub use upcast::{OLDEST, OldEvent, Step, upcast};
pub use writer::{Appended, Batch, Writer, WriterDied, spawn_writer};
