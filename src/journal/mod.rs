//! The event log: bytes on disk, and nothing about what they mean.
//!
//! Invariant: what [`Journal::append`] or the [`Writer`] acknowledged is read again after any crash; what is damaged is
//! refused, never guessed over; and only one process writes, the holder of the [`StateLock`].
//!
//! A start is [`StateLock::acquire`], [`Journal::open`] (puts the log in order), [`load()`] (snapshot and the events after
//! it). Readers need neither lock nor journal: [`replay`], [`load()`], [`verify`].
//!
//! ```text
//! record   one line <-> one event            scan      torn tail or damage? (pure)
//! segments the files, and how they join      found     the files before that is known
//! reader   records as a stream, verified
//! load     snapshot + tail, or everything    recover   opening for writing
//! append   one write, one fdatasync          writer    the thread that groups batches
//! snapshot the state as one file             upcast    reading older formats
//! repair   damage: what is wrong, and ways out
//! lock · ballast · storage (file operations that tests make fail) · error
//! ```

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
mod segment_candidates;
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
