//! Errors of reading, opening and appending to the event log.
//!
//! Invariant: a [`JournalError`] from reading or opening means that no file of the log was changed.
//! [`JournalError::suggestions`] gives the next commands.

use std::io;
use std::path::{Path, PathBuf};

/// Why the log cannot be read or opened.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A system call failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What failed, as a verb phrase.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Acknowledged records are damaged or missing. Nothing was changed.
    #[error(
        "the event log is damaged: {} at byte {offset}, where event {seq} should be: {why}. \
         Nothing was changed",
        file.display()
    )]
    Damaged {
        /// The segment.
        file: PathBuf,
        /// Where the first bad line begins, in bytes.
        offset: u64,
        /// The seq expected there.
        seq: u64,
        /// What is wrong, and what proves that the event was acknowledged.
        why: String,
    },
    /// A snapshot has events that are missing in the log.
    #[error(
        "{}, but {} was taken at event {snapshot}. The later events are missing. Nothing was \
        changed",
        log_ends(*log_end),
        file.display()
    )]
    BehindSnapshot {
        /// The snapshot.
        file: PathBuf,
        /// The snapshot's seq.
        snapshot: u64,
        /// The last seq in the log.
        log_end: u64,
    },
    /// A newer version wrote the log.
    #[error(
        "{} has format {found} at byte {offset}, but this swarm reads formats up to {known}. \
         Nothing was changed",
        file.display()
    )]
    Newer {
        /// The segment.
        file: PathBuf,
        /// Where the first newer line begins.
        offset: u64,
        /// The format found.
        found: u64,
        /// The newest format this version reads.
        known: u64,
    },
    /// Another development version wrote the log: its events have other forms.
    #[error(
        "{} was made by another development version of swarm, whose events have other forms. \
         Nothing was changed",
        file.display()
    )]
    OtherSchema {
        /// The first segment.
        file: PathBuf,
    },
    /// A line is intact, but this version does not know its event.
    #[error(
        "event {seq} in {} is intact, but this swarm does not understand it: {why}. \
         Nothing was changed",
        file.display()
    )]
    Event {
        /// The segment.
        file: PathBuf,
        /// The event.
        seq: u64,
        /// The parser's error.
        why: String,
    },
    /// A repair was started but not finished; the files do not match yet.
    #[error(
        "a repair was interrupted: {} says that files are still being replaced",
        file.display()
    )]
    RepairInterrupted {
        /// The repair's intention.
        file: PathBuf,
    },
    /// The intention of an interrupted repair cannot be read.
    #[error(
        "a repair was interrupted, and {}, which says how to finish it, cannot be used: {why}. \
        Nothing was changed",
        file.display()
    )]
    RepairUnreadable {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The state directory is a link or not a directory.
    #[error("{} {why}", path.display())]
    UnsafePath {
        /// The path.
        path: PathBuf,
        /// What is wrong with it, as a predicate.
        why: &'static str,
    },
}

impl JournalError {
    /// Whether the state itself is at fault (exit 75), rather than the system underneath it.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::UnsafePath { .. })
    }

    /// What to do next: each a sentence, or `purpose: command`.
    pub fn suggestions(&self) -> Vec<String> {
        let suggestions: &[&str] = match self {
            Self::Io { .. } => &["fix the cause, then try again"],
            Self::Damaged { .. } | Self::BehindSnapshot { .. } => {
                &["see your options: swarm doctor"]
            }
            Self::Newer { .. } => &["use the newer swarm that wrote it"],
            Self::Event { .. } => {
                &["use the swarm that wrote it, or see your options: swarm doctor"]
            }
            Self::OtherSchema { .. } => &[
                "use the swarm that made it",
                "start over without its ideas: mv .swarm .swarm-before && swarm init --new",
            ],
            Self::RepairInterrupted { .. } => &["finish the repair: swarm doctor --fix"],
            Self::RepairUnreadable { .. } => &[
                "copy the files in .swarm/state/doctor-TIME/old/ (the newest such folder) back to \
                .swarm/state/, then remove repair.json",
            ],
            Self::UnsafePath { .. } => &["put a plain directory there, then try again"],
        };
        suggestions.iter().map(ToString::to_string).collect()
    }

    /// Wraps the system's error of `doing` something to `path`, for `map_err`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}

/// Why a batch was not appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The batch was decided on an outdated state. Nothing was written; decide again.
    #[error("the batch was decided after event {expected}, but the log ends at event {found}")]
    Conflict {
        /// The seq after which the batch was decided.
        expected: u64,
        /// The last seq of the log.
        found: u64,
    },
    /// Another process changed the live segment. Nothing was written.
    #[error(
        "another process is writing to the event log: {why}. Run `swarm status` to see which \
        daemon is running"
    )]
    Fenced {
        /// What shows it.
        why: String,
    },
    /// The live segment was removed or replaced. Nothing was written; earlier events are kept only
    /// under the second name of the file.
    #[error(
        "the event log {} was removed or replaced while the daemon was running (`git clean -fdx` \
        does that). The next `swarm` command puts back what was removed. If something else stands \
        there now, restore .swarm/state/ from a backup, or run `swarm doctor` to see your options",
        path.display()
    )]
    Removed {
        /// The segment's path.
        path: PathBuf,
    },
    /// The disk is full. The log is as it was before the batch; an append works again once there is
    /// space.
    #[error("the disk is full: {why}. The event log is intact; free some space")]
    Full {
        /// The system's error.
        why: String,
    },
    /// An event exceeds the length limit of a line. Nothing was written.
    #[error(
        "the event `{kind}` takes {bytes} bytes; a line of the event log holds at most \
        {limit} bytes"
    )]
    TooLarge {
        /// The event's kind.
        kind: String,
        /// Bytes of the event's line.
        bytes: usize,
        /// Most bytes of a line.
        limit: usize,
    },
    /// The event does not serialise to `{"kind":...,"data":...}` on one line. Nothing was written.
    #[error("the event `{kind}` cannot be written as one line: {why}")]
    Unencodable {
        /// The event's kind.
        kind: String,
        /// What is wrong with it.
        why: String,
    },
    /// The batch may or may not be on disk. Opening the log again tells.
    #[error("it is unknown whether the last events are on disk: {why}. The next start finds out")]
    Unknown {
        /// What failed.
        why: String,
    },
    /// The disk failed; the log accepts nothing until it is opened again. Records of the failed
    /// batch may turn up then.
    #[error("the disk failed: {why}")]
    Unavailable {
        /// What failed.
        why: String,
    },
}

impl AppendError {
    /// Whether the log refuses every append until it is opened again.
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

fn log_ends(log_end: u64) -> String {
    match log_end {
        0 => "the event log is empty or missing".to_owned(),
        _ => format!("the event log ends at event {log_end}"),
    }
}
