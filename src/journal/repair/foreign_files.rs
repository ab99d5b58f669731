//! Finds files with a segment's name that are not part of the log: copies under any name. Called by
//! `diagnose`.
//!
//! Invariant: such a file continues no good record (see `segment_order`), and its records come
//! before the end of the good ones, so removing it loses nothing.

use crate::journal::error::JournalError;
use crate::journal::segments::ALREADY_THERE;
use crate::journal::segments::candidates::SegmentCandidate;
use crate::journal::tail_scan::{ChainStart, Progress};

use super::base_state::origin_of;
use super::diagnose::{Damage, Diagnosis, all_of, looks, name_of, walk};

impl Diagnosis {
    /// Whether this file, at which nothing goes on, is one that the log goes on without: the
    /// records it begins with, or should by its name, are in others.
    pub(super) fn others_have(
        &self,
        index: usize,
        start: ChainStart,
    ) -> Result<bool, JournalError> {
        let file = &self.files[index];
        if file.is_live || file.claimed == Some(start.next_seq) {
            return Ok(false);
        }
        let begins = file.begins()?;
        let is_before = |first: u64| first < start.next_seq;
        if file.claimed.is_some_and(is_before) && begins.is_none_or(is_before) {
            return Ok(true);
        }
        Ok(self.repeats(file, start)?.is_some())
    }

    /// The record that the live file begins with, if one of the files before has it too.
    pub(super) fn begins_again(
        &self,
        index: usize,
        start: ChainStart,
    ) -> Result<Option<u64>, JournalError> {
        let file = &self.files[index];
        if !file.is_live {
            return Ok(None);
        }
        let again = self.repeats(file, start)?;
        Ok(again.map(|again| again.next_seq))
    }

    /// Where this file goes on, if it begins with a good record that came before `start`.
    pub(super) fn repeats(
        &self,
        file: &SegmentCandidate,
        start: ChainStart,
    ) -> Result<Option<ChainStart>, JournalError> {
        let is_earlier = |first: &u64| (1..start.next_seq).contains(first);
        let Some(first) = file.begins()?.filter(is_earlier) else {
            return Ok(None);
        };
        let mut at = Progress::new(origin_of(&self.files[0])?, 0);
        for (earlier, upto) in self.files.iter().zip(&self.good_upto) {
            at = Progress::new(at.chain, 0);
            walk(&all_of(earlier)?, (*upto).min(first - 1), &mut at);
        }
        Ok(file.follows_on(at.chain)?.then_some(at.chain))
    }

    /// A start refuses a log with such files; nothing of it is lost when they go.
    pub(super) fn stray_is_damage(&mut self, index: usize) -> Result<(), JournalError> {
        let file = &self.files[index];
        let first = file.claimed.unwrap_or_default();
        let found = Damage {
            file: name_of(&file.path),
            offset: 0,
            line: Some(1),
            seq: self.good.chain.next_seq,
            why: format!("it is not part of the log: {ALREADY_THERE} {first}"),
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
