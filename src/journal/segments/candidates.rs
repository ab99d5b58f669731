//! The files that have the name of a segment, opened, before it is known how they join.
//!
//! Invariant: all that is read here are names, sizes and first lines; nothing is believed yet.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::LIVE_FILE;
use crate::journal::disk::plain_file;
use crate::journal::error::JournalError;
use crate::journal::record::{self, MAX_LINE};
use crate::journal::tail_scan::{self, ChainStart, Progress};

/// Bytes in which the numbers of a line are, however long they be.
const HEADER: usize = 256;

/// A file that has the name of a segment.
#[derive(Debug)]
pub(in crate::journal) struct SegmentCandidate {
    pub(in crate::journal) path: PathBuf,
    pub(in crate::journal) file: File,
    pub(in crate::journal) inode: u64,
    pub(in crate::journal) size: u64,
    pub(in crate::journal) is_live: bool,
    /// The seq of its first record, as its name or its first line has it.
    pub(in crate::journal) claimed: Option<u64>,
}

impl SegmentCandidate {
    /// The live segment, if there is one.
    pub(in crate::journal) fn live(state_dir: &Path) -> Result<Option<Self>, JournalError> {
        let path = state_dir.join(LIVE_FILE);
        let mut found = match plain_file().open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => Self::of(path, opened)?,
        };
        found.is_live = true;
        found.claimed = found.begins()?;
        Ok(Some(found))
    }

    /// All rotated segments, in no order.
    pub(in crate::journal) fn rotated(state_dir: &Path) -> Result<Vec<Self>, JournalError> {
        let names = match std::fs::read_dir(state_dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names.map_err(JournalError::io("list", state_dir))?,
        };
        let mut found = Vec::new();
        for entry in names {
            let entry = entry.map_err(JournalError::io("list", state_dir))?;
            if let Some(first) = first_of_name(&entry.file_name().to_string_lossy()) {
                let path = entry.path();
                let opened = plain_file().open(&path);
                let mut file = Self::of(path, opened)?;
                file.claimed = Some(first);
                found.push(file);
            }
        }
        Ok(found)
    }

    fn of(path: PathBuf, opened: io::Result<File>) -> Result<Self, JournalError> {
        let file = opened.map_err(JournalError::io("open", &path))?;
        let meta = file
            .metadata()
            .map_err(JournalError::io("look at", &path))?;
        Ok(Self {
            inode: meta.ino(),
            size: meta.len(),
            is_live: false,
            claimed: None,
            path,
            file,
        })
    }

    /// The bytes at its beginning, enough for a line.
    pub(in crate::journal) fn head(&self) -> Result<Vec<u8>, JournalError> {
        let mut bytes = vec![0; MAX_LINE];
        let length = self.file.read_at(&mut bytes, 0);
        bytes.truncate(length.map_err(JournalError::io("read", &self.path))?);
        Ok(bytes)
    }

    /// The seq that its first line says it has.
    pub(in crate::journal) fn begins(&self) -> Result<Option<u64>, JournalError> {
        let head = first_bytes(&self.file, &self.path)?;
        Ok(record::header(&head).map(|header| header.seq))
    }

    /// Whether its first line is the one after `start`.
    pub(in crate::journal) fn follows_on(&self, start: ChainStart) -> Result<bool, JournalError> {
        let mut at = Progress::new(start, 0);
        if self.begins()? != Some(start.next_seq) {
            return Ok(false);
        }
        let head = self.head()?;
        let walked = tail_scan::walk_lines(&head, true, start.next_seq, &mut at, |_| Ok(()));
        walked.map(|_| at.chain != start)
    }
}

/// The bytes in which the numbers and the time of a file's first line are.
pub(super) fn first_bytes(file: &File, path: &Path) -> Result<Vec<u8>, JournalError> {
    let mut bytes = vec![0; HEADER];
    let length = file.read_at(&mut bytes, 0);
    bytes.truncate(length.map_err(JournalError::io("read", path))?);
    Ok(bytes)
}

/// The name that the segment beginning with record `first` gets when it is rotated.
pub(in crate::journal) fn rotated_name(first: u64) -> String {
    format!("events.{first}.jsonl")
}

/// The first seq that the name of a rotated segment gives.
pub(super) fn first_of_name(name: &str) -> Option<u64> {
    let first = name.strip_prefix("events.")?.strip_suffix(".jsonl")?;
    let first: u64 = first.parse().ok()?;
    (rotated_name(first) == name).then_some(first)
}
