//! The journal as a whole, on a real directory: what it promises after a kill, a full disk, a
//! failed sync, a flipped bit.

mod exhaustive;
mod faults;
mod golden;
mod kills;
mod matrix;
mod opening;
mod property;
mod sectors;
mod starting;
mod writing;

use std::collections::BTreeMap;
use std::path::Path;

use super::testing::faulty;
use super::testing::{Note, Random, TS};
use super::*;

/// A segment takes about four records.
const SMALL: u64 = 500;

fn notes(from: u64, count: u64) -> Vec<Note> {
    (from..from + count)
        .map(|seq| Note::text(&format!("note {seq}")))
        .collect()
}

/// A directory where a sync costs nothing, if the system has one: what a sync does is not what
/// these tests can see.
fn quick_dir() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}

/// Appends batches of these sizes; the text of each note is its seq.
fn append_all(journal: &mut Journal, batches: &[u64]) {
    for count in batches {
        let last = journal.position().seq;
        let events = notes(last + 1, *count);
        assert_eq!(journal.append(last, TS, &events), Ok(last + count));
    }
}

fn open_small(dir: &Path) -> (Journal, Opened) {
    Journal::open_with(dir, SMALL, Box::new(Disk)).unwrap()
}

fn read_all(dir: &Path) -> Vec<Record<Note>> {
    let mut records = Vec::new();
    let last = replay(dir, 1, None, |record| records.push(record)).unwrap();
    assert_eq!(last, records.len() as u64);
    records
}

/// Asserts that records 1 to `last` are there, each with the text it was given.
fn assert_notes(dir: &Path, last: u64) {
    let records = read_all(dir);
    let texts: Vec<_> = records.into_iter().map(|record| record.event).collect();
    assert_eq!(texts, notes(1, last));
}

/// All files and their bytes.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap();
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, std::fs::read(entry.path()).unwrap())
    };
    entries.map(|entry| file(entry.unwrap())).collect()
}

fn line_ends(bytes: &[u8]) -> u64 {
    bytes.split(|b| *b == b'\n').count() as u64 - 1
}

fn segment_names(dir: &Path) -> Vec<String> {
    let segments = Segments::open(dir).unwrap();
    let name = |segment: &Segment| segment.path.file_name().unwrap().to_string_lossy().into();
    segments.iter().map(name).collect()
}
