//! Plans the new files of a repair. Called by `daemon::repair`.
//!
//! Invariant: good records keep their seq and data. The new files are intact by construction, which
//! the full load afterwards proves.

use std::path::Path;

use crate::domain::time::Timestamp;
use crate::journal::error::JournalError;
use crate::journal::record::{self, EncodeError, FORMAT, Header, JournalEvent};
use crate::journal::segments::LIVE_FILE;
use crate::journal::segments::candidates::rotated_name;
use crate::journal::tail_scan::ChainStart;

use super::apply::Repair;
use super::base_state;
use super::diagnose::{Diagnosis, name_of};
use super::salvage::Restorable;

fn unencodable(error: EncodeError, seq: u64) -> JournalError {
    let why = match error {
        EncodeError::TooLarge(bytes) => format!("it takes {bytes} bytes, too many for a line"),
        EncodeError::Unencodable(why) => why,
    };
    JournalError::Event {
        file: LIVE_FILE.into(),
        seq,
        why,
    }
}

impl Diagnosis {
    /// Keeps the good records byte for byte, puts `events` after them, and makes the intention
    /// durable; [`finish`](super::finish) does the rest. `events` is told the folder that has the
    /// old files; `ideas`, the view of what may be lost, is kept there too. The caller holds the
    /// lock.
    pub fn cut<E: JournalEvent>(
        &self,
        state_dir: &Path,
        now: Timestamp,
        ideas: &[u8],
        events: impl FnOnce(&str) -> Vec<E>,
    ) -> Result<(), JournalError> {
        let mut repair = Repair::begin(state_dir, "cut", now)?;
        let last_good = self.end();
        for (index, file) in self.files.iter().enumerate() {
            // One before the damage may have lost all of its records.
            let is_empty = file.claimed.is_some_and(|first| first > last_good.seq);
            if index >= self.at_file || is_empty || self.is_stray(index) {
                repair.drop(&name_of(&file.path));
            }
        }
        // The last one with good records gets its name below.
        for (index, first) in self.to_be_written()? {
            let file = &self.files[index];
            repair.drop(&name_of(&file.path));
            repair.put(&rotated_name(first), &self.good_of(index)?)?;
        }
        for snapshot in &self.snapshots {
            // It is of records that are gone, or of another log.
            if snapshot.seq.is_some_and(|seq| seq > last_good.seq) {
                repair.drop(&snapshot.file);
            }
        }
        if last_good.offset > 0 {
            let good = self.good_of(self.at_file)?;
            let first = record::header(&good).map_or(1, |header| header.seq);
            repair.put(&rotated_name(first), &good)?;
        }
        let events = events(repair.folder());
        let mut live = Vec::new();
        append(&mut live, self.chain(), now, &events)?;
        repair.put(LIVE_FILE, &live)?;
        repair.keep("ideas.jsonl", ideas)?;
        repair.intend()
    }

    /// Begins the log anew with a state, puts the good records after it behind that, each with its
    /// seq and its data, and makes the intention durable; [`finish`](super::finish) does the rest.
    /// The caller holds the lock.
    pub fn restore<E: JournalEvent>(
        &self,
        state_dir: &Path,
        now: Timestamp,
        ideas: &[u8],
        from: &Restorable,
        begin: &Begin<'_, E>,
    ) -> Result<(), JournalError> {
        let mut repair = Repair::begin(state_dir, begin.way, now)?;
        for file in &self.files {
            repair.drop(&name_of(&file.path));
        }
        for snapshot in &self.snapshots {
            repair.drop(&snapshot.file);
        }
        let hash = base_state::hash_of(begin.state);
        repair.put(&base_state::name_of(&hash), begin.state)?;
        let mut live = Vec::new();
        let start = ChainStart {
            next_seq: from.seq,
            crc: 0,
        };
        let first = (begin.first)(&hash, repair.folder());
        let mut chain = append(&mut live, start, begin.at, &[first])?;
        for line in from.tail.split(|byte| *byte == b'\n') {
            if let Some(crc) = record::chain_again(&mut live, line, chain.crc) {
                chain.crc = crc;
                chain.next_seq += 1;
            }
        }
        let last = (begin.last)(repair.folder());
        append(&mut live, chain, now, &last)?;
        repair.put(LIVE_FILE, &live)?;
        repair.keep("ideas.jsonl", ideas)?;
        repair.intend()
    }
}

/// What a log begins with that begins with a state.
pub struct Begin<'a, E> {
    /// The name of the way.
    pub way: &'a str,
    /// The state, as it is going to be in its file.
    pub state: &'a [u8],
    /// The time of the record that the state is of.
    pub at: Timestamp,
    /// The record that takes its place; it is told the SHA-256 of the state and the folder that has
    /// the old files.
    pub first: &'a dyn Fn(&str, &str) -> E,
    /// The records at the end; they are told the folder.
    pub last: &'a dyn Fn(&str) -> Vec<E>,
}

/// Puts the events behind what `out` has; returns what the next must follow on.
fn append<E: JournalEvent>(
    out: &mut Vec<u8>,
    mut chain: ChainStart,
    at: Timestamp,
    events: &[E],
) -> Result<ChainStart, JournalError> {
    let dur = chain.next_seq - 1;
    for event in events {
        let header = Header {
            v: FORMAT,
            seq: chain.next_seq,
            dur,
        };
        chain.crc = record::encode(out, header, &at.to_string(), chain.crc, event)
            .map_err(|error| unencodable(error, chain.next_seq))?;
        chain.next_seq += 1;
    }
    Ok(chain)
}
