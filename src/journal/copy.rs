//! A log up to one of its records, for an archive: the bytes as they are, or with changed data and
//! a new chain of checksums. Called by `daemon::export` and `daemon::transfer`.
//!
//! Invariant: nothing is changed. Every line is verified before it is copied with changes.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::error::JournalError;
use super::record;
use super::segments::{LIVE_FILE, Position, Segments, candidates};

/// A file of a log that ends with a certain record.
#[derive(Debug)]
pub struct Part {
    /// Its name in a log that ends there: the last file is the live one.
    pub name: String,
    /// The file.
    pub file: File,
    /// How many of its bytes.
    pub size: u64,
}

/// The files of a log up to record `seq`, oldest first, and where that record ends; `None` when the
/// log has no such record.
///
/// # Errors
/// The log is damaged there.
pub fn cut_at(state_dir: &Path, seq: u64) -> Result<Option<(Vec<Part>, Position)>, JournalError> {
    let segments = Segments::open(state_dir)?;
    let Some(end) = segments.position_of(seq)? else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    for segment in segments.list {
        if segment.first > end.segment {
            break;
        }
        let is_last = segment.first == end.segment;
        parts.push(Part {
            name: if is_last {
                LIVE_FILE.to_owned()
            } else {
                candidates::rotated_name(segment.first)
            },
            file: segment.file,
            size: if is_last { end.offset } else { segment.size },
        });
    }
    Ok(Some((parts, end)))
}

/// The first line of a log, without its end; nothing for an empty one.
///
/// # Errors
/// The log is damaged there.
pub fn first_line(state_dir: &Path) -> Result<Vec<u8>, JournalError> {
    let segments = Segments::open(state_dir)?;
    let mut first = Vec::new();
    if let Some(oldest) = segments.list.first() {
        segments.walk(&mut segments.before(1), oldest.first, 0, &mut |_, line| {
            first = line.bytes.to_vec();
            Ok(())
        })?;
    }
    Ok(first)
}

/// Writes the records up to `seq` as one file, each with the data that `change` makes of its line
/// (without the line end); `None` leaves it as it is. Returns the end of that file.
///
/// # Errors
/// The log is damaged there; `to` cannot be written.
pub fn copy_changed(
    state_dir: &Path,
    seq: u64,
    change: &mut dyn FnMut(&str) -> Option<String>,
    to: &mut dyn Write,
) -> Result<Position, JournalError> {
    let segments = Segments::open(state_dir)?;
    let mut cursor = segments.before(1);
    let mut end = Position {
        seq: 0,
        crc: 0,
        segment: 1,
        offset: 0,
    };
    let mut out = Vec::new();
    segments.walk(&mut cursor, seq, 0, &mut |segment, line| {
        out.clear();
        let body = record::split_crc(line.bytes).map_or(line.bytes, |(body, _)| body);
        let changed = std::str::from_utf8(body).ok().and_then(&mut *change);
        let body = changed.as_deref().map_or(body, str::as_bytes);
        end.crc = record::end_line(&mut out, body, end.crc);
        if end.seq == 0 {
            end.segment = line.header.seq;
        }
        end.seq = line.header.seq;
        end.offset += out.len() as u64;
        to.write_all(&out)
            .map_err(JournalError::io("copy", &segment.path))
    })?;
    Ok(end)
}

/// Writes all records of the log in a directory to `out`; returns the end of the copy as a live
/// segment, and the first record.
///
/// # Errors
/// The log is damaged or ends in the middle of a record; `out` cannot be written.
pub fn copy_joined(
    state_dir: &Path,
    out: &mut dyn Write,
) -> Result<(Position, Vec<u8>), JournalError> {
    let segments = Segments::open(state_dir)?;
    let mut cursor = segments.before(1);
    let (mut offset, mut first) = (0, Vec::new());
    let target = state_dir.join(LIVE_FILE);
    let torn = segments.walk(&mut cursor, u64::MAX, 0, &mut |_, line| {
        if first.is_empty() {
            first.extend_from_slice(line.bytes);
        }
        let written = out
            .write_all(line.bytes)
            .and_then(|()| out.write_all(b"\n"));
        offset += line.bytes.len() as u64 + 1;
        written.map_err(JournalError::io("copy", &target))
    })?;
    if let Some(torn) = torn {
        return Err(JournalError::Damaged {
            file: torn.path,
            offset: torn.offset,
            seq: torn.seq,
            why: torn.why,
        });
    }
    let position = Position {
        seq: cursor.at.last_seq(),
        crc: cursor.at.chain.crc,
        segment: segments.iter().next().map_or(1, |segment| segment.first),
        offset,
    };
    Ok((position, first))
}
