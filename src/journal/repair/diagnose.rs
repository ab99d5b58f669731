//! Diagnoses the log and its snapshots, file by file. Called by `daemon::repair`.
//!
//! Invariant: changes nothing, and accepts only lines that match the crc of their predecessor.
//! Lines after the first damage (see `salvage`) are evidence, not truth.

use std::convert::Infallible;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::journal::error::JournalError;
use crate::journal::record::{self, Record};
use crate::journal::segments::candidates::SegmentCandidate;
use crate::journal::segments::{self, ALREADY_THERE, Position};
use crate::journal::snapshot::{self, PREVIOUS_FILE, SNAPSHOT_FILE, SnapshotFault};
use crate::journal::tail_scan::{self, ChainStart, Progress, Stop, Tail};

use super::base_state::origin_of;

/// Bytes of a damaged line that are shown.
const SHOWN: usize = 48;

/// How a file of the log is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub enum Health {
    /// Whole.
    Ok,
    /// It has no record.
    Empty,
    /// Its end was never acknowledged; a start puts that aside.
    TornTail {
        /// Bytes from its beginning.
        offset: u64,
    },
    /// Acknowledged records in it are damaged.
    Damaged,
    /// Records before its first one are missing.
    AfterGap,
    /// It comes after damage: whether it joins cannot be said.
    AfterDamage,
    /// It is no part of the log: what it has, or should have by its name, other files have.
    Stray,
    /// Whole, under a name that is not its own.
    Misnamed {
        /// The record it begins with.
        first: u64,
    },
    /// A newer version wrote it.
    Newer {
        /// Its format.
        format: u64,
    },
}

/// A file of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentHealth {
    /// Its name.
    pub file: String,
    /// How it is.
    #[serde(flatten)]
    pub health: Health,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotHealth {
    /// Its name.
    pub file: String,
    /// The record it was taken after, when it is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
    /// A newer version wrote it.
    pub newer: bool,
}

/// The first acknowledged record that is not there as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Damage {
    /// The file.
    pub file: String,
    /// Bytes from its beginning.
    pub offset: u64,
    /// The line, from 1; none: the file ends there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The seq that should be there.
    pub seq: u64,
    /// What is wrong, and what proves that it was acknowledged.
    pub why: String,
    /// What the bytes there look like.
    pub looks: String,
}

/// What [`diagnose`] found.
#[derive(Debug)]
pub struct Diagnosis {
    /// The files of the log, oldest first, as far as they go on from one another; then the others.
    pub segments: Vec<SegmentHealth>,
    /// Both snapshots, where they are.
    pub snapshots: Vec<SnapshotHealth>,
    /// The first damage.
    pub damage: Option<Damage>,
    /// A newer version wrote some of it: the format and where.
    pub newer: Option<String>,
    pub(super) files: Vec<SegmentCandidate>,
    /// The file that has the end of the good records, or begins after it.
    pub(super) at_file: usize,
    pub(super) good: Progress,
    /// Of each file up to [`Self::at_file`] its last good record, or the last before it.
    pub(super) good_upto: Vec<u64>,
    /// Where in the file that one ends, in bytes.
    pub(super) good_ends: Vec<u64>,
    /// Files that are no part of the log.
    pub(super) strays: Vec<usize>,
}

impl Diagnosis {
    /// The last record before the damage, or of the log.
    pub fn last_good(&self) -> u64 {
        self.good.last_seq()
    }

    /// The crc of that record.
    pub(super) fn chain(&self) -> ChainStart {
        self.good.chain
    }

    /// Passes each good record to `each`.
    pub fn read_good<E: DeserializeOwned>(
        &self,
        mut each: impl FnMut(Record<E>),
    ) -> Result<(), JournalError> {
        let mut at = match self.files.first() {
            Some(first) => Progress::new(origin_of(first)?, 0),
            None => return Ok(()),
        };
        for (file, upto) in self.files.iter().zip(&self.good_upto) {
            at = Progress::new(at.chain, 0);
            let bytes = all_of(file)?;
            tail_scan::walk_lines(&bytes, true, *upto, &mut at, |line| {
                let parsed = record::parse(line.bytes);
                each(parsed.map_err(|why| JournalError::Event {
                    file: file.path.clone(),
                    seq: line.header.seq,
                    why,
                })?);
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Looks at every byte of the log and at the snapshots. Needs no lock: what is written meanwhile is
/// no damage.
pub fn diagnose(state_dir: &Path) -> Result<Diagnosis, JournalError> {
    // Before the log, which has by then what a snapshot was taken of.
    let proof = snapshot::highest_seq(state_dir);
    let (live, mut files) = segments::found_together(state_dir)?;
    files.sort_by_key(|file| file.claimed);
    files.extend(live);
    let snapshots = [SNAPSHOT_FILE, PREVIOUS_FILE]
        .into_iter()
        .filter_map(|name| look_at_snapshot(state_dir, name))
        .collect();
    let mut found = Diagnosis {
        segments: Vec::new(),
        snapshots,
        damage: None,
        newer: None,
        good: Progress::new(ChainStart::ORIGIN, 0),
        at_file: 0,
        good_upto: Vec::new(),
        good_ends: Vec::new(),
        strays: Vec::new(),
        files,
    };
    found.walk(state_dir, proof)?;
    Ok(found)
}

impl Diagnosis {
    fn walk(
        &mut self,
        state_dir: &Path,
        proof: Option<(u64, PathBuf)>,
    ) -> Result<(), JournalError> {
        let known = proof.as_ref().map_or(0, |(seq, _)| *seq);
        self.good = Progress::new(self.origin()?, 0);
        for index in 0..self.files.len() {
            let health = if self.damage.is_some() || self.newer.is_some() {
                Health::AfterDamage
            } else {
                self.enter(index, known)?
            };
            self.segments.push(SegmentHealth {
                file: name_of(&self.files[index].path),
                health,
            });
        }
        let nothing_lost = self.damage.is_none() && self.newer.is_none();
        if let Some(index) = self.strays.first().copied() {
            self.stray_is_damage(index)?;
        }
        self.misnamed_is_damage()?;
        if nothing_lost {
            self.as_a_start_has_it(state_dir);
        }
        let whole = self.damage.is_none() && self.newer.is_none();
        if let Some((seq, file)) = proof.filter(|(seq, _)| whole && *seq > self.last_good()) {
            self.end_is_missing(format!(
                "the log ends with event {}, but {} was taken after event {seq}",
                self.last_good(),
                name_of(&file)
            ));
        }
        // On a whole log it is left aside; but a damaged one is not for an older version to repair.
        let newer = self.snapshots.iter().find(|snapshot| snapshot.newer);
        if let Some(snapshot) = newer.filter(|_| self.damage.is_some()) {
            let wrong = snapshot.wrong.clone().unwrap_or_default();
            self.newer
                .get_or_insert_with(|| format!("{}: {wrong}", snapshot.file));
        }
        Ok(())
    }

    /// Goes through one more file; the good end moves along.
    fn enter(&mut self, index: usize, known: u64) -> Result<Health, JournalError> {
        let start = self.good.chain;
        self.bring_next(index, start)?;
        let file = &self.files[index];
        let bytes = all_of(file)?;
        let goes_on = file.follows_on(start)?;
        if index > 0 && !goes_on && self.others_have(index, start)? {
            self.strays.push(index);
            self.good_upto.push(self.last_good());
            self.good_ends.push(0);
            return Ok(Health::Stray);
        }
        let is_later = file.claimed.is_some_and(|first| first > start.next_seq);
        if is_later && !goes_on && !file.is_live {
            let why = format!(
                "its name says that it begins with event {}, so the events before it are missing",
                file.claimed.unwrap_or_default()
            );
            self.move_to(index, Progress::new(start, 0));
            self.damage = Some(self.damage_at(index, &bytes, why));
            return Ok(Health::AfterGap);
        }
        if let Some(first) = self.begins_again(index, start)? {
            self.move_to(index, Progress::new(start, 0));
            self.damage = Some(self.damage_at(index, &bytes, format!("{ALREADY_THERE} {first}")));
            return Ok(Health::Damaged);
        }
        let mut at = Progress::new(start, 0);
        let stop = walk(&bytes, u64::MAX, &mut at);
        if let Some(end) = self.written_again(index, &bytes, start, &at)? {
            self.move_to(index, end);
            return Ok(Health::Ok);
        }
        self.move_to(index, at);
        let rest = &bytes[usize::try_from(at.offset).unwrap_or(bytes.len())..];
        let last = self.may_be_last(index);
        Ok(match tail_scan::judge(rest, &at, known, &stop) {
            Tail::Clean if bytes.is_empty() => Health::Empty,
            Tail::Clean => Health::Ok,
            Tail::Newer { offset, found } => {
                let file = name_of(&self.files[index].path);
                self.newer = Some(format!("{file} at byte {offset} has format {found}"));
                Health::Newer { format: found }
            }
            Tail::Torn { offset, .. } if last => Health::TornTail { offset },
            Tail::Torn { why, .. } => {
                let why = format!("{why}, and a later file proves that it was on disk");
                self.damage = Some(self.damage_at(index, &bytes, why));
                Health::Damaged
            }
            Tail::Damaged { why, .. } => {
                self.damage = Some(self.damage_at(index, &bytes, why));
                Health::Damaged
            }
        })
    }

    /// After a failed sync the next file has the end of this one once more; then this one ends
    /// before that.
    fn written_again(
        &self,
        index: usize,
        bytes: &[u8],
        start: ChainStart,
        end: &Progress,
    ) -> Result<Option<Progress>, JournalError> {
        let fits = |first: &u64| (start.next_seq + 1..=end.chain.next_seq).contains(first);
        if self.goes_on(index + 1, end.chain)? {
            return Ok(Some(*end));
        }
        for next in self.files.iter().skip(index + 1) {
            let Some(first) = next.begins()?.filter(fits) else {
                continue;
            };
            let mut at = Progress::new(start, 0);
            walk(bytes, first - 1, &mut at);
            if next.follows_on(at.chain)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Whether its end may be torn: no later one proves that it was on disk.
    pub(super) fn may_be_last(&self, index: usize) -> bool {
        self.files[index].is_live || index + 1 == self.files.len()
    }

    fn move_to(&mut self, index: usize, at: Progress) {
        self.at_file = index;
        self.good = at;
        self.good_upto.push(at.last_seq());
        self.good_ends.push(at.offset);
    }

    fn damage_at(&self, index: usize, bytes: &[u8], why: String) -> Damage {
        let offset = usize::try_from(self.good.offset).unwrap_or(0);
        let before = bytes[..offset].iter().filter(|byte| **byte == b'\n');
        Damage {
            file: name_of(&self.files[index].path),
            offset: self.good.offset,
            line: Some(before.count() as u64 + 1),
            seq: self.good.chain.next_seq,
            why,
            looks: looks(&bytes[offset..]),
        }
    }

    /// The log is whole as far as it goes, but `why` tells that there was more.
    pub fn end_is_missing(&mut self, why: String) {
        let last = self.files.last().map(|file| name_of(&file.path));
        self.damage = Some(Damage {
            file: last.unwrap_or_else(|| segments::LIVE_FILE.to_owned()),
            offset: self.good.offset,
            line: None,
            seq: self.good.chain.next_seq,
            why,
            looks: "nothing, the file ends there".to_owned(),
        });
        if let Some(last) = self.segments.last_mut() {
            last.health = Health::Damaged;
        }
    }

    /// Where the good records end.
    pub(super) fn end(&self) -> Position {
        Position {
            seq: self.last_good(),
            crc: self.good.chain.crc,
            segment: 0,
            offset: self.good.offset,
        }
    }
}

pub(super) fn walk(bytes: &[u8], upto: u64, at: &mut Progress) -> Stop {
    let Ok(stop) = tail_scan::walk_lines(bytes, true, upto, at, |_| Ok::<(), Infallible>(()));
    stop
}

/// All bytes of a file of the log, whatever its name is by now.
pub(super) fn all_of(file: &SegmentCandidate) -> Result<Vec<u8>, JournalError> {
    let read = || {
        let mut open = &file.file;
        let mut bytes = Vec::new();
        open.seek(SeekFrom::Start(0))?;
        open.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(JournalError::io("read", &file.path))
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn look_at_snapshot(state_dir: &Path, name: &str) -> Option<SnapshotHealth> {
    let path: PathBuf = state_dir.join(name);
    let (seq, wrong) = match snapshot::position_in(&path) {
        Ok(position) => (Some(position.seq), None),
        Err(SnapshotFault::Missing) => return None,
        Err(fault) => (None, Some(fault)),
    };
    Some(SnapshotHealth {
        file: name.to_owned(),
        seq,
        newer: matches!(wrong, Some(SnapshotFault::OtherVersion(_))),
        wrong: wrong.map(|fault| fault.to_string()),
    })
}

/// Describes the first line of these bytes.
pub(super) fn looks(bytes: &[u8]) -> String {
    let line = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let zeros = line.split(|byte| *byte == 0).count().saturating_sub(1);
    if bytes.is_empty() {
        return "nothing, the file ends there".to_owned();
    }
    if line.is_empty() {
        return "an empty line".to_owned();
    }
    let shown: String = String::from_utf8_lossy(&line[..line.len().min(SHOWN)])
        .chars()
        .flat_map(char::escape_default)
        .collect();
    let with_zeros = match zeros {
        0 => String::new(),
        zeros => format!(" with {zeros} zero bytes"),
    };
    format!("a line of {} bytes{with_zeros}, `{shown}`", line.len())
}
