//! Appends batches: one write and one fdatasync for everything staged, then the acknowledgement.
//! Called by `writer` and `offline`.
//!
//! Invariant: acknowledged events are on disk, in order. After a definite refusal (`Conflict`,
//! `TooLarge`, `Unencodable`, `Full`) the log is unchanged on disk. A file whose sync failed is
//! never synced again: its unproven records are rewritten into a new segment. If that fails too,
//! the log closes.

use std::io;
use std::path::{Path, PathBuf};

use super::ballast::Ballast;
use super::disk::{SegmentFile, Storage, is_full, write_all};
use super::error::{AppendError, JournalError};
use super::record::{self, EncodeError, FORMAT, Header, JournalEvent, MAX_LINE};
use super::segments::candidates::rotated_name;
use super::segments::second_names::SecondNames;
use super::segments::{LIVE_FILE, NEXT_FILE, Position};
use super::tail_scan::ChainStart;
use crate::crash;
use crate::domain::time::Timestamp;

/// The log, open for writing. One at a time: its owner holds the [`StateLock`](super::StateLock).
pub struct Journal {
    dir: PathBuf,
    segment_bytes: u64,
    storage: Box<dyn Storage>,
    live: Live,
    /// The last record on disk, and the chain after it.
    durable: ChainStart,
    /// The chain after what is staged.
    next: ChainStart,
    staged: Vec<u8>,
    /// The kind of the last record on disk, and of the last one staged; empty before the first.
    last_kind: String,
    staged_kind: String,
    /// Why the log accepts nothing more.
    closed: Option<AppendError>,
    second_names: Option<SecondNames>,
}

/// The segment that is being appended to.
pub(super) struct Live {
    pub(super) file: Box<dyn SegmentFile>,
    /// The seq of its first record, or of the one that it will get.
    pub(super) first: u64,
    /// Bytes that are on disk.
    pub(super) length: u64,
}

impl Live {
    /// The end of the log that ends with `end`, in terms of this segment.
    pub(super) fn position(&self, end: Position) -> Position {
        Position {
            segment: self.first,
            offset: self.length,
            ..end
        }
    }
}

/// Where a staged batch ends, relative to the staged bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct StagedEnd {
    seq: u64,
    crc: u32,
    bytes: u64,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("dir", &self.dir)
            .field("position", &self.position())
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

impl Journal {
    pub(super) fn new(
        dir: &Path,
        segment_bytes: u64,
        storage: Box<dyn Storage>,
        live: Live,
        end: Position,
        last_kind: String,
    ) -> Self {
        let chain = ChainStart {
            next_seq: end.seq + 1,
            crc: end.crc,
        };
        Self {
            dir: dir.to_owned(),
            segment_bytes,
            storage,
            live,
            durable: chain,
            next: chain,
            staged: Vec::new(),
            staged_kind: last_kind.clone(),
            last_kind,
            closed: None,
            second_names: None,
        }
    }

    /// Gives the segments second names, now and whenever a new one begins.
    ///
    /// # Errors
    /// The present segments cannot be given second names; those of later ones are tried anyway.
    pub fn keep_second_names(&mut self, names: SecondNames) -> Result<(), JournalError> {
        let linked = names.link(self.live.first);
        self.second_names = Some(names);
        linked
    }

    /// Appends `events`, all or none, after the record `expected`, which must be the log's last.
    /// Returns the seq of the last record when all of it is on disk.
    pub fn append<E: JournalEvent>(
        &mut self,
        expected: u64,
        ts: Timestamp,
        events: &[E],
    ) -> Result<u64, AppendError> {
        self.stage(expected, ts, events)?;
        self.commit().map(|end| end.seq)
    }

    /// Appends the mark that says that all before it is on disk, unless the log is empty or its
    /// last record is one. For when the log goes idle, and for a clean end. Returns the seq of the
    /// last record.
    pub fn mark<E: JournalEvent>(&mut self, ts: Timestamp) -> Result<u64, AppendError> {
        let (seq, mark) = (self.position().seq, E::mark());
        if seq == 0 || self.last_kind == mark.kind() {
            return Ok(seq);
        }
        self.append(seq, ts, &[mark])
    }

    /// The end of what is on disk.
    pub fn position(&self) -> Position {
        Position {
            seq: self.durable.next_seq - 1,
            crc: self.durable.crc,
            segment: self.live.first,
            offset: self.live.length,
        }
    }

    /// The room that can be given up when the disk is full.
    pub fn ballast(&self) -> Ballast {
        Ballast::of(&self.dir)
    }

    /// Bytes that wait for [`Self::commit`].
    pub(super) fn staged_bytes(&self) -> usize {
        self.staged.len()
    }

    /// Encodes a batch behind what is staged; nothing of it stays when that fails.
    pub(super) fn stage<E: JournalEvent>(
        &mut self,
        expected: u64,
        ts: Timestamp,
        events: &[E],
    ) -> Result<StagedEnd, AppendError> {
        if let Some(closed) = &self.closed {
            return Err(closed.clone());
        }
        let found = self.next.next_seq - 1;
        if expected != found {
            return Err(AppendError::Conflict { expected, found });
        }
        let before = (self.staged.len(), self.next);
        let ts = ts.to_string();
        for event in events {
            if let Err(refused) = self.stage_event(&ts, event) {
                self.staged.truncate(before.0);
                self.next = before.1;
                return Err(refused);
            }
        }
        if let Some(last) = events.last() {
            last.kind().clone_into(&mut self.staged_kind);
        }
        Ok(StagedEnd {
            seq: self.next.next_seq - 1,
            crc: self.next.crc,
            bytes: self.staged.len() as u64,
        })
    }

    /// Writes and syncs what is staged, all or none. Returns the end of the log.
    pub(super) fn commit(&mut self) -> Result<Position, AppendError> {
        let bytes = std::mem::take(&mut self.staged);
        let next = std::mem::replace(&mut self.next, self.durable);
        if !bytes.is_empty() {
            self.persist(&bytes)?;
            self.last_kind.clone_from(&self.staged_kind);
        }
        self.durable = next;
        self.next = next;
        self.staged = bytes;
        self.staged.clear();
        Ok(self.position())
    }

    /// Where a batch ended that was committed with others.
    pub(super) fn end_of(&self, staged: StagedEnd, all: u64) -> Position {
        Position {
            seq: staged.seq,
            crc: staged.crc,
            segment: self.live.first,
            offset: self.live.length - (all - staged.bytes),
        }
    }

    fn stage_event<E: JournalEvent>(&mut self, ts: &str, event: &E) -> Result<(), AppendError> {
        let header = Header {
            v: FORMAT,
            seq: self.next.next_seq,
            dur: self.durable.next_seq - 1,
        };
        let encoded = record::encode(&mut self.staged, header, ts, self.next.crc, event);
        let kind = || event.kind().to_owned();
        let crc = encoded.map_err(|refused| match refused {
            EncodeError::TooLarge(bytes) => AppendError::TooLarge {
                kind: kind(),
                bytes,
                limit: MAX_LINE,
            },
            EncodeError::Unencodable(why) => AppendError::Unencodable { kind: kind(), why },
        })?;
        self.next = ChainStart {
            next_seq: header.seq + 1,
            crc,
        };
        Ok(())
    }

    fn persist(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        self.check_fence()?;
        let length = bytes.len() as u64;
        if self.live.length > 0 && self.live.length + length > self.segment_bytes {
            self.rotate()?;
        }
        crash::point("journal.append.before-write");
        match write_all(&mut *self.live.file, bytes, self.live.length) {
            Err(e) if is_full(&e) => return Err(self.cut_back(&e)),
            Err(e) => return self.salvage(bytes, &e),
            Ok(()) => {}
        }
        crash::point("journal.append.before-sync");
        if let Err(e) = self.live.file.sync_data() {
            return self.salvage(bytes, &e);
        }
        crash::point("journal.append.after-sync");
        self.live.length += length;
        Ok(())
    }

    /// Whether the log is still there and ours, for when nothing is to be written. A log that is
    /// closed already has said why.
    pub(super) fn check(&mut self) -> Result<(), AppendError> {
        if self.closed.is_some() {
            return Ok(());
        }
        self.check_fence()
    }

    /// Whoever else writes to the live segment, or removes it, has taken the log from us.
    fn check_fence(&mut self) -> Result<(), AppendError> {
        let path = self.dir.join(LIVE_FILE);
        let why = match self.live.file.length(&path) {
            Ok(Some(length)) if length == self.live.length => return Ok(()),
            Ok(Some(length)) => format!(
                "{LIVE_FILE} has {length} bytes, but this process wrote {}",
                self.live.length
            ),
            Ok(None) => return Err(self.close(AppendError::Removed { path })),
            Err(e) => return Err(self.close(AppendError::Unavailable { why: e.to_string() })),
        };
        Err(self.close(AppendError::Fenced { why }))
    }

    /// After a write for which there was no room. Synced, so that the refused records cannot come
    /// back.
    fn cut_back(&mut self, full: &io::Error) -> AppendError {
        let length = self.live.length;
        let file = &mut self.live.file;
        match file.truncate(length).and_then(|()| file.sync_all()) {
            Ok(()) => AppendError::Full {
                why: full.to_string(),
            },
            Err(e) => self.close(AppendError::Unknown {
                why: format!("{full}; then truncating {LIVE_FILE} failed: {e}"),
            }),
        }
    }

    /// Begins a new segment, since this one is long enough.
    fn rotate(&mut self) -> Result<(), AppendError> {
        let prepared = match self.prepare(&[]) {
            Ok(file) => file,
            Err(e) if is_full(&e) => {
                return Err(AppendError::Full { why: e.to_string() });
            }
            Err(e) => return Err(self.unavailable("cannot start a new segment", &e)),
        };
        crash::point("journal.rotate.prepared");
        self.switch_to(prepared, 0)
            .map_err(|e| self.unavailable("cannot rotate the log", &e))
    }

    /// After a failed write or sync: `bytes` go into a new segment, and the live one is left as it
    /// was before them, as far as it still obeys.
    fn salvage(&mut self, bytes: &[u8], first: &io::Error) -> Result<(), AppendError> {
        // What stays there is void by the new segment's first seq; this only spares the next start
        // the comparison.
        let _ = self.live.file.truncate(self.live.length);
        let prepared = self.prepare(bytes);
        prepared
            .and_then(|file| self.switch_to(file, bytes.len() as u64))
            .map_err(|e| self.unavailable(&format!("{first}; then in a new segment"), &e))
    }

    /// A durable file with `bytes`, not yet part of the log.
    fn prepare(&mut self, bytes: &[u8]) -> io::Result<Box<dyn SegmentFile>> {
        let path = self.dir.join(NEXT_FILE);
        self.storage.remove(&path)?;
        let mut file = self.storage.open(&path)?;
        let written = write_all(&mut *file, bytes, 0).and_then(|()| file.sync_all());
        if written.is_err() {
            self.storage.remove(&path)?;
        }
        written.map(|()| file)
    }

    /// Makes the prepared file the live segment. A live one of which no record is durable is
    /// replaced, not kept.
    fn switch_to(&mut self, file: Box<dyn SegmentFile>, length: u64) -> io::Result<()> {
        let live = self.dir.join(LIVE_FILE);
        if self.live.length > 0 {
            let rotated = self.dir.join(rotated_name(self.live.first));
            self.storage.rename(&live, &rotated)?;
        }
        crash::point("journal.rotate.between");
        self.storage.rename(&self.dir.join(NEXT_FILE), &live)?;
        crash::point("journal.rotate.before-sync");
        self.storage.sync_dir(&self.dir)?;
        self.live = Live {
            file,
            first: self.durable.next_seq,
            length,
        };
        if let Some(names) = &self.second_names
            && let Err(error) = names.link(self.live.first)
        {
            tracing::warn!(%error, "the new file of the event log has no second name");
        }
        Ok(())
    }

    fn unavailable(&mut self, doing: &str, error: &io::Error) -> AppendError {
        self.close(AppendError::Unavailable {
            why: format!("{doing}: {error}"),
        })
    }

    /// Closes the log with this error.
    fn close(&mut self, why: AppendError) -> AppendError {
        let later = match &why {
            AppendError::Fenced { .. }
            | AppendError::Removed { .. }
            | AppendError::Unavailable { .. } => why.clone(),
            // That batch is in doubt; what comes later is not.
            AppendError::Unknown { why } => AppendError::Unavailable { why: why.clone() },
            AppendError::Conflict { .. }
            | AppendError::Full { .. }
            | AppendError::TooLarge { .. }
            | AppendError::Unencodable { .. } => AppendError::Unavailable {
                why: why.to_string(),
            },
        };
        self.closed = Some(later);
        why
    }
}
