//! Loads a state from disk: a snapshot and the events after it, or all events. Called by
//! `daemon::files::store`, `offline` and `repair`.
//!
//! Invariant: both ways give the same state, and the result says which way was taken and why not a
//! shorter one. Changes nothing.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::JournalError;
use super::reader::{parse, read_exactly};
use super::record::{JournalEvent, MAX_LINE, Record};
use super::segments::{Cursor, Position, Segments, Torn, ending_line};
use super::snapshot::{self, PREVIOUS_FILE, SNAPSHOT_FILE, Snapshot, SnapshotFault, read_snapshot};
use super::tail_scan::{ChainStart, Progress};

/// A log that was found to be whole, but for a torn tail.
#[derive(Debug)]
pub struct Survey {
    state_dir: PathBuf,
    pub(super) segments: Segments,
    pub(super) end: Progress,
    /// What comes after the last good record and was never acknowledged.
    pub torn: Option<Torn>,
}

/// Where the state comes from.
#[derive(Debug)]
pub enum StartFrom {
    /// `snapshot.json`, and the events after it.
    Snapshot {
        /// The record it was taken after.
        seq: u64,
    },
    /// `snapshot.prev.json`, and the events after it.
    PreviousSnapshot {
        /// The record it was taken after.
        seq: u64,
        /// Why not the newer one.
        why: SnapshotFault,
    },
    /// All events.
    FullReplay {
        /// Why not the newest snapshot.
        why: SnapshotFault,
        /// Why not the one before it.
        why_not_previous: SnapshotFault,
    },
}

/// A state on its way: what the snapshot has, and the events after it still on disk.
#[derive(Debug)]
pub struct Loaded<S, E> {
    /// The snapshot; `None` for a full replay.
    pub snapshot: Option<Snapshot<S>>,
    /// Which way it is.
    pub start: StartFrom,
    /// The seq of the last record of the log.
    pub last_seq: u64,
    segments: Segments,
    cursor: Cursor,
    events: PhantomData<fn() -> E>,
}

/// Surveys the log of a state directory and chooses where to start from. Read-only; needs no lock.
pub fn load<S: DeserializeOwned, E: JournalEvent>(
    state_dir: &Path,
) -> Result<Loaded<S, E>, JournalError> {
    Survey::of(state_dir)?.load()
}

/// Verifies every record of every segment and returns the seq of the last; for `doctor`.
pub fn verify(state_dir: &Path) -> Result<u64, JournalError> {
    Survey::of(state_dir)?.verify()
}

impl Survey {
    /// Verifies the live segment, and that the older ones join it. Damage, a newer format and a
    /// snapshot of records that are missing are errors.
    pub fn of(state_dir: &Path) -> Result<Self, JournalError> {
        Self::of_segments(state_dir, Segments::open)
    }

    /// The same, for who finishes a repair.
    pub fn in_repair(state_dir: &Path) -> Result<Self, JournalError> {
        Self::of_segments(state_dir, Segments::open_in_repair)
    }

    fn of_segments(
        state_dir: &Path,
        open: impl FnOnce(&Path) -> Result<Segments, JournalError>,
    ) -> Result<Self, JournalError> {
        // Before the log: a daemon goes on beside a reader, and may take a snapshot of what this
        // reader's files do not have yet.
        let proof = snapshot::highest_seq(state_dir);
        let segments = open(state_dir)?;
        let known_durable = proof.as_ref().map_or(0, |(seq, _)| *seq);
        let mut cursor = segments.last_start();
        let torn = segments.walk(&mut cursor, u64::MAX, known_durable, &mut |_, _| Ok(()))?;
        if let Some(torn) = &torn {
            segments.trust_predecessor(torn)?;
        }
        match proof {
            Some((snapshot, file)) if snapshot > cursor.at.last_seq() => {
                Err(JournalError::BehindSnapshot {
                    file,
                    snapshot,
                    log_end: cursor.at.last_seq(),
                })
            }
            _ => Ok(Self {
                state_dir: state_dir.to_owned(),
                segments,
                end: cursor.at,
                torn,
            }),
        }
    }

    /// Verifies every record of every segment and returns the seq of the last.
    pub fn verify(&self) -> Result<u64, JournalError> {
        let mut cursor = self.segments.before(1);
        let known = self.end.last_seq();
        self.segments
            .walk(&mut cursor, known, known, &mut |_, _| Ok(()))?;
        Ok(known)
    }

    /// The end of the good records.
    pub fn position(&self) -> Position {
        let last = self.segments.list.last();
        Position {
            seq: self.end.last_seq(),
            crc: self.end.chain.crc,
            segment: last.map_or(1, |segment| segment.first),
            offset: self.end.offset,
        }
    }

    /// The kind of the last good record; empty when the last segment has none.
    pub(super) fn last_kind(&self) -> Result<String, JournalError> {
        #[derive(serde::Deserialize)]
        struct Kind {
            kind: String,
        }
        let Some(segment) = self.segments.list.last() else {
            return Ok(String::new());
        };
        let from = self.end.offset.saturating_sub(MAX_LINE as u64 + 1);
        let length = usize::try_from(self.end.offset - from).unwrap_or(0);
        let bytes = read_exactly(segment, from, length)?.unwrap_or_default();
        let line = ending_line(&bytes).map_or(&b"{}"[..], |(line, ..)| line);
        let parsed = serde_json::from_slice(line);
        Ok(parsed.map_or_else(|_| String::new(), |Kind { kind }| kind))
    }

    /// Chooses where to start from. Refuses a log whose events have other forms.
    pub fn load<S: DeserializeOwned, E: JournalEvent>(self) -> Result<Loaded<S, E>, JournalError> {
        self.segments.refuse_other_schema(E::SCHEMA)?;
        let (snapshot, cursor, start) = match self.candidate(SNAPSHOT_FILE)? {
            Ok((snapshot, cursor)) => {
                let seq = snapshot.position.seq;
                (Some(snapshot), cursor, StartFrom::Snapshot { seq })
            }
            Err(why) => self.without_newest(why)?,
        };
        Ok(Loaded {
            snapshot,
            start,
            last_seq: self.end.last_seq(),
            segments: self.segments,
            cursor,
            events: PhantomData,
        })
    }

    fn without_newest<S: DeserializeOwned>(
        &self,
        why: SnapshotFault,
    ) -> Result<(Option<Snapshot<S>>, Cursor, StartFrom), JournalError> {
        Ok(match self.candidate(PREVIOUS_FILE)? {
            Ok((snapshot, cursor)) => {
                let seq = snapshot.position.seq;
                let start = StartFrom::PreviousSnapshot { seq, why };
                (Some(snapshot), cursor, start)
            }
            Err(why_not_previous) => {
                let start = StartFrom::FullReplay {
                    why,
                    why_not_previous,
                };
                (None, self.segments.before(1), start)
            }
        })
    }

    /// Reads a snapshot and finds its record in the log.
    fn candidate<S: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Result<(Snapshot<S>, Cursor), SnapshotFault>, JournalError> {
        let snapshot = match read_snapshot::<S>(&self.state_dir.join(name)) {
            Ok(snapshot) => snapshot,
            Err(fault) => return Ok(Err(fault)),
        };
        let wanted = snapshot.position;
        let cursor = match self.segments.at_hint(wanted)? {
            Some(cursor) => cursor,
            None => self.segments.after(wanted.seq)?,
        };
        let ours = cursor.at.chain.crc;
        if ours == wanted.crc {
            return Ok(Ok((snapshot, cursor)));
        }
        Ok(Err(SnapshotFault::OtherLog {
            seq: wanted.seq,
            theirs: wanted.crc,
            ours,
        }))
    }
}

impl<S, E: DeserializeOwned> Loaded<S, E> {
    /// Passes the events after the snapshot to `each`, in order, each parsed just then.
    pub fn replay(&self, mut each: impl FnMut(Record<E>)) -> Result<(), JournalError> {
        let mut cursor = self.cursor;
        self.segments.walk(
            &mut cursor,
            self.last_seq,
            self.last_seq,
            &mut |segment, line| {
                each(parse(segment, line)?);
                Ok(())
            },
        )?;
        Ok(())
    }

    /// As [`Self::fold`], with an `evolve` that may fail.
    pub fn try_fold(
        self,
        initial: impl FnOnce() -> S,
        mut evolve: impl FnMut(&mut S, Record<E>) -> Result<(), JournalError>,
    ) -> Result<(S, StartFrom), JournalError> {
        let mut failed = Ok(());
        let folded = self.fold(initial, |state, record| {
            if failed.is_ok() {
                failed = evolve(state, record);
            }
        })?;
        failed.map(|()| folded)
    }

    /// The state at the end of the log: the snapshot's, or `initial()`, with all events after it
    /// folded in.
    pub fn fold(
        mut self,
        initial: impl FnOnce() -> S,
        mut evolve: impl FnMut(&mut S, Record<E>),
    ) -> Result<(S, StartFrom), JournalError> {
        let snapshot = self.snapshot.take();
        let mut state = snapshot.map_or_else(initial, |snapshot| snapshot.state);
        self.replay(|record| evolve(&mut state, record))?;
        Ok((state, self.start))
    }
}

impl Segments {
    /// A tail that is torn from the segment's first line on is only that if the line before it, at
    /// the end of the segment before, is what it says.
    fn trust_predecessor(&self, torn: &Torn) -> Result<(), JournalError> {
        let Some(before) = self.list.len().checked_sub(2).filter(|_| torn.offset == 0) else {
            return Ok(());
        };
        let mut cursor = self.before(self.list[before].first);
        let last = self.list[before].last.unwrap_or(u64::MAX);
        self.walk(&mut cursor, last, last, &mut |_, _| Ok(()))?;
        Ok(())
    }

    /// Right after record `wanted.seq`, if that is where the hint says, with the crc it says.
    fn at_hint(&self, wanted: Position) -> Result<Option<Cursor>, JournalError> {
        let by_first = |first: &u64| self.list.binary_search_by_key(first, |s| s.first).ok();
        let Some(index) = by_first(&wanted.segment).filter(|_| wanted.offset > 0) else {
            return Ok(None);
        };
        let segment = &self.list[index];
        if wanted.offset > segment.size || segment.last.is_some_and(|last| wanted.seq > last) {
            return Ok(None);
        }
        let from = wanted.offset.saturating_sub(MAX_LINE as u64 + 1);
        let length = usize::try_from(wanted.offset - from).unwrap_or(0);
        let bytes = read_exactly(segment, from, length)?.unwrap_or_default();
        let fits = ending_line(&bytes)
            .is_some_and(|(_, header, crc)| (header.seq, crc) == (wanted.seq, wanted.crc));
        let chain = ChainStart {
            next_seq: wanted.seq + 1,
            crc: wanted.crc,
        };
        Ok(fits.then(|| Cursor {
            index,
            at: Progress::new(chain, wanted.offset),
        }))
    }

    /// Right after record `seq`, found by walking its segment.
    fn after(&self, seq: u64) -> Result<Cursor, JournalError> {
        let mut cursor = self.before(seq.max(1));
        self.walk(&mut cursor, seq, seq, &mut |_, _| Ok(()))?;
        Ok(cursor)
    }
}
