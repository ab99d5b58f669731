//! Reads the lines after the damage, and finds snapshots that a log can begin with. Called by
//! `daemon::repair`.
//!
//! Invariant: a line is read only if it matches the crc of its predecessor, where that still
//! exists. Such lines are evidence, not part of the log; only a [`Restorable`]'s lines follow an
//! intact record.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, IgnoredAny};

use crate::journal::error::JournalError;
use crate::journal::record::{self, FORMAT, Record};
use crate::journal::segments::candidates::SegmentCandidate;
use crate::journal::snapshot;
use crate::journal::tail_scan::{self, ChainStart, Progress, Tail};

use super::diagnose::{Diagnosis, all_of, walk};

/// A state that a log can begin with, and what comes after it.
#[derive(Debug)]
pub struct Restorable {
    /// The snapshot's file.
    pub file: String,
    /// The record it was taken after.
    pub seq: u64,
    /// The last record that it keeps.
    last: u64,
    /// The lines after the snapshot's record; all are good.
    pub(super) tail: Vec<u8>,
}

impl Restorable {
    /// A state that comes from elsewhere, as of record `seq`, and nothing after it.
    pub fn alone(seq: u64) -> Self {
        Self {
            file: String::new(),
            seq,
            last: seq,
            tail: Vec::new(),
        }
    }

    /// The records after the snapshot.
    pub fn records<E: DeserializeOwned>(&self) -> Result<Vec<Record<E>>, JournalError> {
        let whole = |line: &&[u8]| !line.is_empty();
        let lines = self.tail.split(|byte| *byte == b'\n').filter(whole);
        let mut seq = self.seq;
        let records = lines.map(|line| {
            seq += 1;
            record::parse(line).map_err(|why| JournalError::Event {
                file: PathBuf::from(&self.file),
                seq,
                why,
            })
        });
        records.collect()
    }
}

/// What can still be read behind the first damage.
#[derive(Debug)]
pub struct Rest<E> {
    /// Records whose bytes still parse, in the order of the files, each with a higher seq than the
    /// one before.
    pub records: Vec<Record<E>>,
    /// The highest seq that there was, as far as lines tell: one that cannot be read counts as one.
    pub highest: u64,
    /// The last good record before them.
    good: u64,
}

impl Diagnosis {
    /// The files of the log, each with its place among all of them.
    fn parts(&self) -> impl Iterator<Item = (usize, &SegmentCandidate)> {
        let all = self.files.iter().enumerate();
        all.filter(|(index, _)| !self.is_stray(*index))
    }

    /// Reads the lines behind the good records as far as they can be read.
    pub fn read_on<E: DeserializeOwned>(&self) -> Result<Rest<E>, JournalError> {
        let mut rest = Rest {
            records: Vec::new(),
            highest: self.last_good(),
            good: self.last_good(),
        };
        let mut before = Some(self.chain().crc);
        for (index, file) in self.parts().filter(|(index, _)| *index >= self.at_file) {
            let mut bytes = all_of(file)?;
            if index == self.at_file {
                bytes.drain(
                    ..usize::try_from(self.good.offset)
                        .unwrap_or(0)
                        .min(bytes.len()),
                );
            }
            if index > self.at_file || self.good.offset == 0 {
                let again = self.repeats(file, self.chain())?;
                before = again.map(|again| again.crc).or(before);
            }
            let first = file.claimed.filter(|_| !file.is_live);
            // What its first line must follow on is missing; then its name must do.
            let mut named = first.filter(|first| *first > rest.highest + 1);
            for line in bytes.split(|byte| *byte == b'\n') {
                if !line.is_empty() {
                    before = rest.take(line, before, named.take());
                }
            }
        }
        Ok(rest)
    }

    /// The snapshots that the log can begin with, taken at or behind the damage and with only good
    /// lines after them: first the one that keeps the latest record, and of two that keep the same
    /// the older, which leaves more of the history.
    pub fn restorable(&self, state_dir: &Path) -> Vec<Restorable> {
        let from = self.damage.as_ref().map_or(u64::MAX, |damage| damage.seq);
        let taken = self.snapshots.iter();
        let taken = taken.filter_map(|snapshot| Some((snapshot.seq?, snapshot)));
        let mut fit: Vec<Restorable> = taken
            .filter(|(seq, _)| *seq >= from)
            .filter_map(|(seq, snapshot)| {
                let position = snapshot::position_in(&state_dir.join(&snapshot.file)).ok()?;
                let (tail, last) = self.good_after(ChainStart {
                    next_seq: seq + 1,
                    crc: position.crc,
                })?;
                Some(Restorable {
                    file: snapshot.file.clone(),
                    seq,
                    last,
                    tail,
                })
            })
            .collect();
        fit.sort_by_key(|found| (Reverse(found.last), found.seq));
        fit
    }

    /// All lines that follow on `start`, if there is none among the later ones that does not, and
    /// the seq of the last, or of that before `start`; a torn tail ends them.
    fn good_after(&self, start: ChainStart) -> Option<(Vec<u8>, u64)> {
        let mut good = Vec::new();
        let mut chain = start;
        for (index, file) in self.parts().filter(|(index, _)| *index >= self.at_file) {
            let bytes = all_of(file).ok()?;
            let begin = if good.is_empty() {
                first_line_after(&bytes, start)
            } else {
                Some(0)
            };
            let Some(begin) = begin else {
                continue;
            };
            let mut at = Progress::new(chain, 0);
            let rest = &bytes[begin..];
            let stop = walk(rest, u64::MAX, &mut at);
            let end = usize::try_from(at.offset).ok()?;
            let last = self.may_be_last(index);
            match tail_scan::judge(&rest[end..], &at, 0, &stop) {
                Tail::Clean => {}
                Tail::Torn { .. } if last => {}
                Tail::Torn { .. } | Tail::Damaged { .. } | Tail::Newer { .. } => return None,
            }
            good.extend_from_slice(&rest[..end]);
            chain = at.chain;
        }
        let rest = self.read_on::<IgnoredAny>().ok()?;
        let later = rest.records.last().map_or(0, |record| record.seq);
        (later < chain.next_seq).then_some((good, chain.next_seq - 1))
    }
}

impl<E: DeserializeOwned> Rest<E> {
    /// Takes a line that fits the crc which the line before it has, or that has the seq by which
    /// its file is named; returns its own crc.
    fn take(&mut self, line: &[u8], before: Option<u32>, named: Option<u64>) -> Option<u32> {
        let written = record::split_crc(line);
        let fits = written.is_some_and(|(body, crc)| {
            before.is_some_and(|before| record::chain(before, body) == crc)
        });
        let last = self.records.last().map_or(self.good, |record| record.seq);
        let header = record::header(line)
            .filter(|header| header.v == FORMAT)
            .filter(|header| fits || named.is_some_and(|named| named == header.seq));
        match header.map(|_| record::parse(line)) {
            // A file that was copied has records once more.
            Some(Ok(record)) if record.seq <= last => {}
            Some(Ok(record)) => {
                self.highest = record.seq;
                self.records.push(record);
            }
            // It was a record, whatever it said.
            _ => self.highest += 1,
        }
        written.map(|(_, crc)| crc)
    }
}

/// Where the line is that follows on `start`.
fn first_line_after(bytes: &[u8], start: ChainStart) -> Option<usize> {
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if record::header(line).is_some_and(|header| header.seq == start.next_seq) {
            let mut progress = Progress::new(start, 0);
            walk(line, start.next_seq, &mut progress);
            if progress.chain != start {
                return Some(at);
            }
        }
        at += line.len();
    }
    None
}
