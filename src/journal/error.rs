//! What can go wrong with the bytes on disk, in words a person can act on.
//!
//! Invariant: whenever a [`JournalError`] is returned from reading or opening, no file of the log
//! has been changed.

use std::io;
use std::path::{Path, PathBuf};

/// Why the log cannot be read or opened.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The operating system refused.
    #[error("could not {doing} {}: {source}. Mend that, then start again", path.display())]
    Io {
        /// What was tried, as a verb phrase.
        doing: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// Acknowledged records are damaged or missing. Nothing was changed.
    #[error(
        "the event log is damaged: {} at byte {offset}, where record {seq} should be: {why}. \
         Nothing was changed; `swarm doctor` shows the ways out",
        file.display()
    )]
    Damaged {
        /// The segment.
        file: PathBuf,
        /// Bytes from its beginning to the first line that is wrong.
        offset: u64,
        /// The seq that the line there should have.
        seq: u64,
        /// What is wrong with it, and what proves that it was acknowledged.
        why: String,
    },
    /// A snapshot was taken of records that the log no longer has.
    #[error(
        "the event log ends at record {log_end}, but {} was taken at record {snapshot}: records \
        are missing. Nothing was changed; `swarm doctor` shows the ways out",
        file.display()
    )]
    BehindSnapshot {
        /// The snapshot.
        file: PathBuf,
        /// Its seq.
        snapshot: u64,
        /// The last seq in the log.
        log_end: u64,
    },
    /// The log was written by a newer version.
    #[error(
        "{} has format {found} at byte {offset}, and this version knows formats up to {known}. \
         Nothing was changed; use the newer swarm that wrote it",
        file.display()
    )]
    Newer {
        /// The segment.
        file: PathBuf,
        /// Where the first newer line begins.
        offset: u64,
        /// Its format.
        found: u64,
        /// The newest format this version reads.
        known: u64,
    },
    /// The bytes of a record are intact, but they are no event that this version knows.
    #[error(
        "record {seq} in {} is intact but not understood: {why}. \
         Nothing was changed; use the version of swarm that wrote it, or see `swarm doctor`",
        file.display()
    )]
    Event {
        /// The segment.
        file: PathBuf,
        /// The record.
        seq: u64,
        /// What the parser missed.
        why: String,
    },
    /// A repair was begun and not finished: the files do not fit together yet.
    #[error(
        "a repair was interrupted: {} says that files are being replaced. Finish it: swarm doctor \
        --fix",
        file.display()
    )]
    RepairInterrupted {
        /// What says so.
        file: PathBuf,
    },
    /// What an interrupted repair was about to do cannot be read.
    #[error(
        "{} says how to finish a repair, and cannot be used: {why}. Nothing was changed; the files \
        as they were are in the newest folder `doctor-*` beside it: put them back from its `old` \
        and remove repair.json",
        file.display()
    )]
    RepairUnreadable {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The state directory is not a plain directory of ours.
    #[error("{} {why}. Put a plain directory there and start again", path.display())]
    UnsafePath {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl JournalError {
    /// Whether the state itself is at fault (exit 75), rather than the system underneath it.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::UnsafePath { .. })
    }

    /// For `map_err`: wraps what the system said about `doing` something to `path`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}

/// Why a batch was not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The batch was decided on another state than the log's. Nothing was written; decide again.
    #[error(
        "the batch follows record {expected}, but the log ends at {found}: decide again on the \
        current state"
    )]
    Conflict {
        /// The last seq that the batch was decided on.
        expected: u64,
        /// The last seq of the log.
        found: u64,
    },
    /// Something else changed the live segment: this writer has lost the log. Nothing was written.
    #[error(
        "another writer has the event log: {why}. Stop this daemon; `swarm status` shows which one \
        runs"
    )]
    Fenced {
        /// How that was seen.
        why: String,
    },
    /// The live segment's name is gone, or is another file's. Nothing was written; what was is lost
    /// with the file.
    #[error(
        "the event log {} was removed or replaced while this daemon wrote it, as `git clean -fdx` \
        does: nothing more is acknowledged. Put `.swarm/state/` back from where it went or from a \
        backup; without one, see what is left: swarm doctor",
        path.display()
    )]
    Removed {
        /// Where it was.
        path: PathBuf,
    },
    /// The disk is full. The log is as before the batch, and a later append works when there is
    /// room.
    #[error("the disk is full: {why}. Free some space; the log itself is intact")]
    Full {
        /// What the system answered.
        why: String,
    },
    /// A single event is larger than a line may be. Nothing was written.
    #[error(
        "the event `{kind}` takes {bytes} bytes, and a line has at most {limit}: put the large \
        part into a file and its SHA-256 into the event"
    )]
    TooLarge {
        /// Its kind.
        kind: String,
        /// Bytes of its line.
        bytes: usize,
        /// Bytes a line may have.
        limit: usize,
    },
    /// The event does not serialise to `{"kind":...,"data":...}` on one line. Nothing was written.
    #[error("the event `{kind}` cannot be written as a line: {why}")]
    Unencodable {
        /// Its kind.
        kind: String,
        /// What is wrong with it.
        why: String,
    },
    /// The batch may or may not be on disk. Open the log again to find out; look it up by its
    /// operation id.
    #[error("it is not known whether the batch is on disk: {why}. Start again to find out")]
    Unknown {
        /// What failed.
        why: String,
    },
    /// The disk failed and the log takes nothing more until it is opened again. Of the batch in
    /// whose append the failure fell, records may still turn up then.
    #[error("the disk failed: {why}. Mend it and start again")]
    Unavailable {
        /// What failed.
        why: String,
    },
}

impl AppendError {
    /// Whether the log refuses everything from now on, until it is opened again.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Fenced { .. }
                | Self::Removed { .. }
                | Self::Unknown { .. }
                | Self::Unavailable { .. }
        )
    }
}
