//! Files that have the name of a segment and are no part of the log: copies, under whatever name.
//!
//! Invariant: a file is one of these only when the log goes on without it, whole, by the crcs; so nothing is lost when it goes.

use crate::journal::error::JournalError;
use crate::journal::scan::{ChainStart, Progress};
use crate::journal::segments::ALREADY_THERE;

use super::diagnose::{Damage, Diagnosis, all_of, looks, name_of, walk};
use super::restored::origin_of;

impl Diagnosis {
    /// Whether the log goes on without this file, by what others have. One that has the end of the file before it once more was seen there.
    pub(super) fn others_have(
        &self,
        index: usize,
        start: ChainStart,
    ) -> Result<bool, JournalError> {
        let file = &self.files[index];
        let Some(first) = file.claimed.filter(|_| !file.is_live) else {
            return Ok(false);
        };
        if first < start.next_seq {
            return Ok(true);
        }
        if first == start.next_seq && (file.size == 0 || file.follows_on(start)?) {
            return Ok(false);
        }
        let mut later = self.files.iter().skip(index + 1);
        later.try_fold(false, |found, later| Ok(found || later.follows_on(start)?))
    }

    /// The record that the live file begins with, if one of the files before has it too.
    pub(super) fn begins_again(
        &self,
        index: usize,
        start: ChainStart,
    ) -> Result<Option<u64>, JournalError> {
        let file = &self.files[index];
        let is_earlier = |first: &u64| file.is_live && (1..start.next_seq).contains(first);
        let Some(first) = file.claimed.filter(is_earlier) else {
            return Ok(None);
        };
        let mut at = Progress::new(origin_of(&self.files[0])?, 0);
        for (earlier, upto) in self.files.iter().zip(&self.good_upto) {
            at = Progress::new(at.chain, 0);
            walk(&all_of(earlier)?, (*upto).min(first - 1), &mut at);
        }
        Ok(file.follows_on(at.chain)?.then_some(first))
    }

    /// A start refuses a log with such files; nothing of it is lost when they go.
    pub(super) fn stray_is_damage(&mut self, index: usize) -> Result<(), JournalError> {
        let file = &self.files[index];
        let first = file.claimed.unwrap_or_default();
        let found = Damage {
            file: name_of(&file.path),
            offset: 0,
            line: 1,
            seq: self.good.chain.next_seq,
            why: format!("it is no part of the log, as {ALREADY_THERE} {first}"),
            looks: looks(&all_of(file)?),
        };
        self.damage.get_or_insert(found);
        Ok(())
    }

    /// Whether this file is no part of the log.
    pub(super) fn is_stray(&self, index: usize) -> bool {
        self.strays.contains(&index)
    }
}
