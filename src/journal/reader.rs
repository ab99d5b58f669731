//! Reads records as a stream, so that a large log never is in memory as a whole. Called by `load`,
//! `segments` and commands that show events.
//!
//! Invariant: every line is verified against its predecessor before it is passed on. Reading
//! changes nothing, needs no lock, and stops before an incomplete line that a writer may be
//! appending.

use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::error::JournalError;
use super::record::{self, Envelope, MAX_LINE, Record};
use super::segments::{Position, Segment, Segments};
use super::tail_scan::{self, Line, Progress, Stop, Tail};

/// Bytes read at once: small enough to stay in the cache between the crc and the parser.
const CHUNK: usize = 256 * 1024;
const _: () = assert!(CHUNK > MAX_LINE);

/// Passes the records from seq `from` (at least 1) to `upto` (included), or to the end, to `each`.
/// Returns the seq of the last one on disk within that range, or `from - 1`. A torn tail ends the
/// log; damage on the way is an error.
pub fn replay<E: DeserializeOwned>(
    state_dir: &Path,
    from: u64,
    upto: Option<u64>,
    mut each: impl FnMut(Record<E>),
) -> Result<u64, JournalError> {
    let segments = Segments::open(state_dir)?;
    let from = from.max(1);
    let mut cursor = segments.before(from);
    let upto = upto.unwrap_or(u64::MAX).max(from - 1);
    segments.walk(&mut cursor, upto, 0, &mut |segment, line| {
        if line.header.seq >= from {
            each(parse(segment, line)?);
        }
        Ok(())
    })?;
    Ok(cursor.at.last_seq().max(from - 1))
}

/// Records that are walked over between two looks at whether `each` has had enough.
const STRIDE: u64 = 4_096;

/// Passes the records from seq `from` to `upto` (included) to `each`, oldest first, until that has
/// had enough. Lines that `wanted` does not want are verified and not parsed.
pub fn select<E: DeserializeOwned>(
    segments: &Segments,
    (from, upto): (u64, u64),
    wanted: &dyn Fn(&Envelope<'_>) -> bool,
    each: &mut dyn FnMut(Record<E>) -> ControlFlow<()>,
) -> Result<(), JournalError> {
    let mut cursor = segments.before(from.max(1));
    let mut flow = ControlFlow::Continue(());
    while flow.is_continue() && cursor.at.last_seq() < upto {
        let limit = upto.min(cursor.at.last_seq().saturating_add(STRIDE));
        segments.walk(&mut cursor, limit, 0, &mut |segment, line| {
            let is_before = line.header.seq < from;
            let is_unwanted =
                || record::envelope(line.header, line.bytes).is_some_and(|one| !wanted(&one));
            if !is_before && flow.is_continue() && !is_unwanted() {
                flow = each(parse(segment, line)?);
            }
            Ok(())
        })?;
        if cursor.at.last_seq() < limit {
            break;
        }
    }
    Ok(())
}

/// Where record `seq` ends; `None` when the log has no such record. 0 is the beginning of the log.
pub fn position_of(state_dir: &Path, seq: u64) -> Result<Option<Position>, JournalError> {
    let segments = Segments::open(state_dir)?;
    segments.position_of(seq)
}

impl Segments {
    /// Where record `seq` ends; `None` when the log has no such record.
    pub(super) fn position_of(&self, seq: u64) -> Result<Option<Position>, JournalError> {
        let mut cursor = self.before(seq.max(1));
        self.walk(&mut cursor, seq, 0, &mut |_, _| Ok(()))?;
        let segment = self.list.get(cursor.index);
        Ok((cursor.at.last_seq() == seq).then(|| Position {
            seq,
            crc: cursor.at.chain.crc,
            segment: segment.map_or(1, |segment| segment.first),
            offset: cursor.at.offset,
        }))
    }
}

/// Parses a verified line.
pub(super) fn parse<E: DeserializeOwned>(
    segment: &Segment,
    line: &Line<'_>,
) -> Result<Record<E>, JournalError> {
    record::parse(line.bytes).map_err(|why| JournalError::Event {
        file: segment.path.clone(),
        seq: line.header.seq,
        why,
    })
}

/// Passes `each` line of a segment after `at`, up to the record `upto`, and says what ends it.
pub(super) fn walk_segment(
    segment: &Segment,
    upto: u64,
    known_durable: u64,
    at: &mut Progress,
    each: &mut dyn FnMut(&Segment, &Line<'_>) -> Result<(), JournalError>,
) -> Result<Tail, JournalError> {
    let mut buffer = vec![0; CHUNK];
    let mut held = 0;
    loop {
        let read = read_at(segment, &mut buffer[held..], at.offset + held as u64)?;
        held += read;
        let before = at.offset;
        let stop =
            tail_scan::walk_lines(&buffer[..held], false, upto, at, |line| each(segment, line))?;
        let used = usize::try_from(at.offset - before).unwrap_or(held);
        buffer.copy_within(used..held, 0);
        held -= used;
        match stop {
            Stop::Enough => return Ok(Tail::Clean),
            Stop::Spent if read > 0 => {}
            Stop::Spent if held == 0 => return Ok(Tail::Clean),
            Stop::Spent | Stop::Bad(_) | Stop::Impossible(_) | Stop::Newer(_) => {
                return judge_rest(segment, upto, known_durable, at, each);
            }
        }
    }
}

/// The verdict is on one reading of all that is left, in which a line that was just being appended
/// may now be whole.
fn judge_rest(
    segment: &Segment,
    upto: u64,
    known_durable: u64,
    at: &mut Progress,
    each: &mut dyn FnMut(&Segment, &Line<'_>) -> Result<(), JournalError>,
) -> Result<Tail, JournalError> {
    let rest = read_from(segment, at.offset)?;
    let before = at.offset;
    let stop = tail_scan::walk_lines(&rest, true, upto, at, |line| each(segment, line))?;
    let used = usize::try_from(at.offset - before).unwrap_or(rest.len());
    Ok(tail_scan::judge(&rest[used..], at, known_durable, &stop))
}

/// All bytes of a segment from `offset` on.
pub(super) fn read_from(segment: &Segment, offset: u64) -> Result<Vec<u8>, JournalError> {
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; CHUNK]);
    loop {
        let read = read_at(segment, &mut chunk, offset + bytes.len() as u64)?;
        if read == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
}

/// `length` bytes of a segment from `offset` on; `None` when it has not that many.
pub(super) fn read_exactly(
    segment: &Segment,
    offset: u64,
    length: usize,
) -> Result<Option<Vec<u8>>, JournalError> {
    let mut bytes = vec![0; length];
    match segment.file.read_exact_at(&mut bytes, offset) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        read => read
            .map(|()| Some(bytes))
            .map_err(JournalError::io("read", &segment.path)),
    }
}

fn read_at(segment: &Segment, buffer: &mut [u8], offset: u64) -> Result<usize, JournalError> {
    loop {
        match segment.file.read_at(buffer, offset) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            read => return read.map_err(JournalError::io("read", &segment.path)),
        }
    }
}
