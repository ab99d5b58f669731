//! The new files of each way out.
//!
//! Invariant: good records keep their seq and their data. The files that are going to be there are whole by construction; the full load that
//! follows proves it.

use crate::domain::time::Timestamp;
use crate::journal::error::JournalError;
use crate::journal::found::rotated_name;
use crate::journal::record::{self, EncodeError, FORMAT, Header, JournalEvent};
use crate::journal::segments::LIVE_FILE;

use super::apply::Repair;
use super::diagnose::{Diagnosis, all_of, name_of};

/// What is in the way of a way out.
fn unencodable(error: EncodeError, file: &std::path::Path) -> JournalError {
    let why = match error {
        EncodeError::TooLarge(bytes) => format!("it takes {bytes} bytes"),
        EncodeError::Unencodable(why) => why,
    };
    JournalError::Event {
        file: file.to_owned(),
        seq: 0,
        why,
    }
}

impl Diagnosis {
    /// Keeps the good records byte for byte, puts `events` after them, and makes the intention durable; [`finish`](super::finish) does the
    /// rest. `events` is told the folder that has the old files; `ideas`, the view of what may be lost, is kept there too. The caller holds the
    /// lock.
    pub fn cut<E: JournalEvent>(
        &self,
        state_dir: &std::path::Path,
        now: Timestamp,
        ideas: &[u8],
        events: impl FnOnce(&str) -> Vec<E>,
    ) -> Result<(), JournalError> {
        let mut repair = Repair::begin(state_dir, "cut", now)?;
        for file in self.files.iter().skip(self.at_file) {
            repair.drop(&name_of(&file.path));
        }
        let last_good = self.end();
        for snapshot in &self.snapshots {
            // It is of records that are gone, or of another log.
            if snapshot.seq.is_some_and(|seq| seq > last_good.seq) {
                repair.drop(&snapshot.file);
            }
        }
        if let Some(file) = self
            .files
            .get(self.at_file)
            .filter(|_| last_good.offset > 0)
        {
            let mut good = all_of(file)?;
            good.truncate(usize::try_from(last_good.offset).unwrap_or(good.len()));
            let first = record::header(&good).map_or(1, |header| header.seq);
            repair.put(&rotated_name(first), &good)?;
        }
        let events = events(repair.folder());
        let mut live = Vec::new();
        let mut chain = self.chain();
        for event in &events {
            let header = Header {
                v: FORMAT,
                seq: chain.next_seq,
                dur: last_good.seq,
            };
            let ts = now.to_string();
            chain.crc = record::encode(&mut live, header, &ts, chain.crc, event)
                .map_err(|error| unencodable(error, state_dir))?;
            chain.next_seq += 1;
        }
        repair.put(LIVE_FILE, &live)?;
        repair.keep("ideas.jsonl", ideas)?;
        repair.intend()
    }
}
