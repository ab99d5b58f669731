//! The files of one log, and how they join.
//!
//! Invariant: `events.<first seq>.jsonl` are the rotated segments and `events.jsonl` is the live
//! one. Each answers for the records from its first to the one before the next segment's first:
//! when a sync fails, the records that were not proven durable are written again into a new
//! segment, and what the old one has of them is void. Nothing in this file changes anything.

pub mod candidates;
pub mod second_names;

use std::fs::File;
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::reader::{read_from, walk_segment};
use super::record::{self, Header, MAX_LINE};
use super::repair;
use super::tail_scan::{ChainStart, Line, Progress, Tail};
use crate::domain::time::Timestamp;
use candidates::SegmentCandidate;

/// So often a log that is rotated while it is looked at is looked at again.
const TRIES: u32 = 100;

/// The name of the live segment.
pub const LIVE_FILE: &str = "events.jsonl";

/// What is said of a file that was copied, before the record it begins with.
pub(in crate::journal) const ALREADY_THERE: &str = "an earlier file of the log already has event";

/// The name under which a segment is prepared.
pub(in crate::journal) const NEXT_FILE: &str = "events.next.jsonl";

/// A place in the log: right after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The record's seq; 0 before the first.
    pub seq: u64,
    /// Its crc.
    pub crc: u32,
    /// The first seq of the segment that it is in.
    pub segment: u64,
    /// Bytes from the beginning of that segment to the end of its line.
    pub offset: u64,
}

/// One file of the log.
#[derive(Debug)]
pub struct Segment {
    /// The file.
    pub path: PathBuf,
    /// The seq of its first record, or of the one that it will get.
    pub first: u64,
    /// The last seq it answers for; `None` for the last segment, which goes on.
    pub last: Option<u64>,
    /// Bytes.
    pub size: u64,
    pub(in crate::journal) start: ChainStart,
    pub(in crate::journal) file: File,
}

/// The files of a log as they were at one moment, opened: a rotation does not disturb who reads
/// them.
#[derive(Debug)]
pub struct Segments {
    pub(in crate::journal) list: Vec<Segment>,
    pub(in crate::journal) has_live: bool,
}

/// What the last segment of a log has after its last good line, and was never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// The segment.
    pub path: PathBuf,
    /// Bytes from its beginning to the torn tail.
    pub offset: u64,
    /// The seq expected there.
    pub seq: u64,
    /// What is wrong with the line there.
    pub why: String,
}

/// Where a walk over records has come to.
#[derive(Debug, Clone, Copy)]
pub(in crate::journal) struct Cursor {
    pub(in crate::journal) index: usize,
    pub(in crate::journal) at: Progress,
}

impl Segments {
    /// Opens all segments and checks that they join. A directory that is not there has none.
    pub fn open(state_dir: &Path) -> Result<Self, JournalError> {
        if repair::is_unfinished(state_dir) {
            return Err(JournalError::RepairInterrupted {
                file: state_dir.join(repair::REPAIR_FILE),
            });
        }
        Self::open_in_repair(state_dir)
    }

    /// The same, for who finishes a repair.
    pub(in crate::journal) fn open_in_repair(state_dir: &Path) -> Result<Self, JournalError> {
        let (live, mut found) = found_together(state_dir)?;
        found.sort_by_key(|rotated| rotated.claimed);
        let has_live = live.is_some();
        found.extend(live);
        let mut segments = Self {
            list: Vec::with_capacity(found.len()),
            has_live,
        };
        for file in found {
            segments.join(file)?;
        }
        Ok(segments)
    }

    /// Refuses a log that begins with another digest of the events' forms.
    pub(in crate::journal) fn refuse_other_schema(&self, ours: u64) -> Result<(), JournalError> {
        let Some(first) = self.list.first() else {
            return Ok(());
        };
        let mut at = Progress::new(first.start, 0);
        let mut is_other = false;
        // A damaged line says nothing about who wrote the log.
        walk_segment(first, first.first, 0, &mut at, &mut |_, line| {
            is_other = record::schema(line.bytes) != Some(ours);
            Ok(())
        })?;
        if is_other {
            let file = first.path.clone();
            return Err(JournalError::OtherSchema { file });
        }
        Ok(())
    }

    /// The segments, from the oldest.
    pub fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.list.iter()
    }

    /// The range of seqs outside of which no record is later than `since` and not later than
    /// `until`, as the first lines of the segments say. The times of a log never decrease.
    pub fn between(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<(u64, u64), JournalError> {
        let (mut first, mut last) = (1, u64::MAX);
        for segment in &self.list {
            let head = candidates::first_bytes(&segment.file, &segment.path)?;
            let Some(begun) = record::time_of(&head) else {
                continue;
            };
            if since.is_some_and(|since| begun <= since) {
                first = segment.first;
            }
            if until.is_some_and(|until| begun > until) {
                last = last.min(segment.first.saturating_sub(1));
            }
        }
        Ok((first, last))
    }

    /// The beginning of the segment that has, or would have, record `seq`.
    pub(in crate::journal) fn before(&self, seq: u64) -> Cursor {
        let index = self.list.partition_point(|segment| segment.first <= seq);
        self.start_of(index.saturating_sub(1))
    }

    /// The beginning of the last segment.
    pub(in crate::journal) fn last_start(&self) -> Cursor {
        self.start_of(self.list.len().saturating_sub(1))
    }

    fn start_of(&self, index: usize) -> Cursor {
        let start = self.list.get(index).map(|segment| segment.start);
        Cursor {
            index,
            at: Progress::new(start.unwrap_or(ChainStart::ORIGIN), 0),
        }
    }

    /// Passes each record after `cursor`, up to `upto`, and moves `cursor` along. Records up to
    /// `known_durable` are known from elsewhere to be on disk. Returns the torn tail, where the
    /// walk met it.
    pub(in crate::journal) fn walk(
        &self,
        cursor: &mut Cursor,
        upto: u64,
        known_durable: u64,
        each: &mut dyn FnMut(&Segment, &Line<'_>) -> Result<(), JournalError>,
    ) -> Result<Option<Torn>, JournalError> {
        while let Some(segment) = self.list.get(cursor.index) {
            let limit = upto.min(segment.last.unwrap_or(u64::MAX));
            let tail = walk_segment(segment, limit, known_durable, &mut cursor.at, each)?;
            let torn = self.refuse_damage(cursor, limit, tail)?;
            if torn.is_some() || limit == upto || cursor.index + 1 == self.list.len() {
                return Ok(torn);
            }
            let chain = cursor.at.chain;
            cursor.index += 1;
            cursor.at = Progress::new(chain, 0);
        }
        Ok(None)
    }

    fn refuse_damage(
        &self,
        cursor: &Cursor,
        limit: u64,
        tail: Tail,
    ) -> Result<Option<Torn>, JournalError> {
        let segment = &self.list[cursor.index];
        let file = segment.path.clone();
        let damaged = |file, offset, seq, why| {
            Err(JournalError::Damaged {
                file,
                offset,
                seq,
                why,
            })
        };
        match (tail, segment.last) {
            (Tail::Damaged { offset, seq, why }, _) => damaged(file, offset, seq, why),
            (Tail::Newer { offset, found }, _) => Err(newer(file, offset, found)),
            (Tail::Torn { offset, seq, why }, Some(_)) => {
                let why = format!("{why}, and a later file proves that it was on disk");
                damaged(file, offset, seq, why)
            }
            (Tail::Torn { offset, seq, why }, None) => Ok(Some(Torn {
                path: file,
                offset,
                seq,
                why,
            })),
            (Tail::Clean, Some(last)) if cursor.at.last_seq() < limit => {
                let why = format!("the file ends here, but the next one begins after event {last}");
                damaged(file, cursor.at.offset, cursor.at.chain.next_seq, why)
            }
            (Tail::Clean, _) => Ok(None),
        }
    }

    /// A file that begins with a record which an earlier one has already is no part of the log. A
    /// live one may only seem to, because its first line is garbled; then it is judged like any
    /// other.
    fn refuse_copy(&self, before: &Segment, next: &SegmentCandidate) -> Result<(), JournalError> {
        let Some(first) = next.claimed.filter(|first| *first <= before.first) else {
            return Ok(());
        };
        let goes_on = first == before.first && last_line(before)?.is_none();
        let holder = self.list.iter().rfind(|segment| segment.first <= first);
        let is_copy = match holder.filter(|_| next.is_live) {
            Some(holder) => next.follows_on(end_of(holder, first - 1)?)?,
            None => !next.is_live,
        };
        if goes_on || !is_copy {
            return Ok(());
        }
        Err(JournalError::Damaged {
            file: next.path.clone(),
            offset: 0,
            seq: first,
            why: format!("{ALREADY_THERE} {first}"),
        })
    }

    /// Adds the next file, and sees to it that it goes on where the one before ends.
    fn join(&mut self, found: SegmentCandidate) -> Result<(), JournalError> {
        let start = match self.list.last() {
            None => repair::origin_of(&found)?,
            Some(before) => {
                self.refuse_copy(before, &found)?;
                start_after(before, &found)?
            }
        };
        let gap = found.claimed.is_some_and(|first| first > start.next_seq);
        if gap && !found.is_live {
            return Err(JournalError::Damaged {
                why: format!(
                    "its name says that it begins with event {}, so the events before it are \
                    missing",
                    found.claimed.unwrap_or_default()
                ),
                file: found.path,
                offset: 0,
                seq: start.next_seq,
            });
        }
        if let Some(before) = self.list.last_mut() {
            before.last = Some(start.next_seq - 1);
        }
        self.list.push(Segment {
            path: found.path,
            first: start.next_seq,
            last: None,
            size: found.size,
            start,
            file: found.file,
        });
        Ok(())
    }
}

/// The live segment and the rotated ones, as they were at one moment. Readers hold no lock: a live
/// one that is found among the rotated ones as well was rotated in between, and there may be newer
/// ones that it would seem to come after.
pub(in crate::journal) fn found_together(
    state_dir: &Path,
) -> Result<(Option<SegmentCandidate>, Vec<SegmentCandidate>), JournalError> {
    let mut tries = 0;
    loop {
        // The live one first, so that one that is being rotated is not missed.
        let live = SegmentCandidate::live(state_dir)?;
        let mut rotated = SegmentCandidate::rotated(state_dir)?;
        let same =
            |one: &SegmentCandidate| live.as_ref().is_some_and(|live| live.inode == one.inode);
        if !rotated.iter().any(same) {
            return Ok((live, rotated));
        }
        tries += 1;
        if tries == TRIES {
            // Nobody rotates so often: it is one file under two names.
            rotated.retain(|one| !same(one));
            return Ok((live, rotated));
        }
    }
}

/// What the first line of `next` must follow on.
fn start_after(before: &Segment, next: &SegmentCandidate) -> Result<ChainStart, JournalError> {
    let end = last_line(before)?.map(|(header, crc)| ChainStart {
        next_seq: header.seq + 1,
        crc,
    });
    let goes_back =
        |first: &u64| *first > before.first && end.is_none_or(|end| *first < end.next_seq);
    let first = next.claimed.filter(goes_back);
    let again = first.map(|first| written_again(before, next, first));
    if let Some(start) = again.transpose()?.flatten() {
        return Ok(start);
    }
    end.map_or_else(|| end_of(before, u64::MAX), Ok)
}

/// Where `next` goes on if, after a failed sync, it has the end of the segment before once more.
/// Only the first line of a live segment may be garbled, and claim anything.
fn written_again(
    before: &Segment,
    next: &SegmentCandidate,
    first: u64,
) -> Result<Option<ChainStart>, JournalError> {
    let start = end_of(before, first - 1)?;
    match next.follows_on(start)? {
        true => Ok(Some(start)),
        false if next.is_live => Ok(None),
        false => Err(JournalError::Damaged {
            file: next.path.clone(),
            offset: 0,
            seq: first,
            why: format!(
                "the first line does not continue the events in {}",
                before.path.display()
            ),
        }),
    }
}

/// Verifies a segment up to record `upto`; an earlier end that is not clean is damage.
fn end_of(segment: &Segment, upto: u64) -> Result<ChainStart, JournalError> {
    let mut at = Progress::new(segment.start, 0);
    let tail = walk_segment(segment, upto, 0, &mut at, &mut |_, _| Ok(()))?;
    match tail {
        Tail::Clean => Ok(at.chain),
        Tail::Newer { offset, found } => Err(newer(segment.path.clone(), offset, found)),
        Tail::Torn { offset, seq, why } | Tail::Damaged { offset, seq, why } => {
            Err(JournalError::Damaged {
                file: segment.path.clone(),
                offset,
                seq,
                why: format!("{why}, and a later file follows"),
            })
        }
    }
}

/// The numbers and the crc of the segment's last line, as written; `None` when that is not the form
/// of a line.
fn last_line(segment: &Segment) -> Result<Option<(Header, u32)>, JournalError> {
    let from = segment.size.saturating_sub(MAX_LINE as u64 + 1);
    let bytes = read_from(segment, from)?;
    Ok(ending_line(&bytes).map(|(_, header, crc)| (header, crc)))
}

/// The line that ends where `bytes` end, its numbers and its crc, as written.
pub(in crate::journal) fn ending_line(bytes: &[u8]) -> Option<(&[u8], Header, u32)> {
    let text = bytes.strip_suffix(b"\n")?;
    let start = text
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    let line = &text[start..];
    Some((line, record::header(line)?, record::split_crc(line)?.1))
}

fn newer(file: PathBuf, offset: u64, found: u64) -> JournalError {
    JournalError::Newer {
        file,
        offset,
        found,
        known: record::FORMAT,
    }
}
