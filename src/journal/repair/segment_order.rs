//! Orders the files of a damaged log by content, not by name. Called by `diagnose` and `rewrite`.
//!
//! Invariant: a file whose first line matches the crc of the last good record comes next, whatever
//! its name. So neither a misnamed file nor a copy costs a record that some file has.

use std::path::Path;

use crate::journal::error::JournalError;
use crate::journal::segments::candidates::SegmentCandidate;
use crate::journal::tail_scan::{ChainStart, Progress};
use crate::journal::verify;

use super::base_state::origin_of;
use super::diagnose::{Damage, Diagnosis, Health, all_of, looks, name_of, walk};

impl Diagnosis {
    /// What the log begins with.
    pub(super) fn origin(&self) -> Result<ChainStart, JournalError> {
        let Some(first) = self.files.first() else {
            return Ok(ChainStart::ORIGIN);
        };
        let origin = origin_of(first)?;
        if origin != ChainStart::ORIGIN || self.goes_on(0, origin)? {
            return Ok(origin);
        }
        // Its first file may have the name of a later one.
        let mut origins = self.files.iter().map(origin_of);
        origins
            .find(|found| !matches!(found, Ok(ChainStart::ORIGIN)))
            .unwrap_or(Ok(origin))
    }

    /// Whether one of the files from `index` on goes on at `start`.
    pub(super) fn goes_on(&self, index: usize, start: ChainStart) -> Result<bool, JournalError> {
        let mut files = self.files.iter().skip(index);
        files.try_fold(false, |found, file| Ok(found || file.follows_on(start)?))
    }

    /// Brings the file that goes on at `start` to the place `index`, if there is one there or
    /// later; the others keep their order.
    pub(super) fn bring_next(
        &mut self,
        index: usize,
        start: ChainStart,
    ) -> Result<(), JournalError> {
        let is_named =
            |file: &SegmentCandidate| !file.is_live && file.claimed == Some(start.next_seq);
        let empty = self.position(index, |file| is_named(file) && file.size == 0);
        let next = match empty {
            None => self.farthest(index, start)?,
            empty => empty,
        };
        // Where nothing goes on, what should go on is judged.
        let named = || self.position(index, is_named);
        if let Some(next) = next.or_else(named) {
            self.files[index..=next].rotate_right(1);
        }
        Ok(())
    }

    fn position(&self, from: usize, is_it: impl Fn(&SegmentCandidate) -> bool) -> Option<usize> {
        let mut files = self.files.iter().enumerate().skip(from);
        files.find(|(_, file)| is_it(file)).map(|(index, _)| index)
    }

    /// Of the files that go on at `start` the one with the most good records, and of two such the
    /// one whose name fits.
    fn farthest(&self, from: usize, start: ChainStart) -> Result<Option<usize>, JournalError> {
        let mut best = None;
        for (index, file) in self.files.iter().enumerate().skip(from) {
            if file.follows_on(start)? {
                let mut at = Progress::new(start, 0);
                walk(&all_of(file)?, u64::MAX, &mut at);
                let rank = (at.last_seq(), file.claimed == Some(start.next_seq));
                if best.is_none_or(|(best, _)| best < rank) {
                    best = Some((rank, index));
                }
            }
        }
        Ok(best.map(|(_, index)| index))
    }

    /// Good files under names that are not theirs: which, and the record that each begins with.
    pub(super) fn misnamed(&self) -> Result<Vec<(usize, u64)>, JournalError> {
        let mut found = Vec::new();
        let goods = self.at_file + usize::from(self.good.offset > 0);
        let good = self.files.iter().enumerate().take(goods);
        for (index, file) in good.filter(|(index, _)| !self.is_stray(*index)) {
            let Some(first) = file.begins()? else {
                continue;
            };
            let fits = if file.is_live {
                index == self.at_file
            } else {
                // Of the first one nobody asks more.
                file.claimed == Some(first) || (index == 0 && file.claimed < Some(first))
            };
            if !fits {
                found.push((index, first));
            }
        }
        Ok(found)
    }

    /// The bytes of a file up to its last good record.
    pub(super) fn good_of(&self, index: usize) -> Result<Vec<u8>, JournalError> {
        let mut good = all_of(&self.files[index])?;
        good.truncate(usize::try_from(self.good_ends[index]).unwrap_or(good.len()));
        Ok(good)
    }

    /// Good files before the last that are to be written anew: under a name that is not theirs, or
    /// with more in them than good records; and the record that each begins with.
    pub(super) fn to_be_written(&self) -> Result<Vec<(usize, u64)>, JournalError> {
        let mut found = self.misnamed()?;
        for index in (0..self.at_file).filter(|index| !self.is_stray(*index)) {
            let file = &self.files[index];
            let has_more = self.good_ends[index] > 0 && self.good_ends[index] < file.size;
            if has_more && !found.iter().any(|(known, _)| *known == index) {
                found.extend(file.begins()?.map(|first| (index, first)));
            }
        }
        found.retain(|(index, _)| *index < self.at_file);
        Ok(found)
    }

    /// Where nothing is lost, it is for a start to say whether the files are as they should be: it
    /// takes some that others have too, and refuses some that have too much.
    pub(super) fn as_a_start_has_it(&mut self, state_dir: &Path) {
        match verify(state_dir) {
            Ok(last) if last == self.last_good() => self.damage = None,
            Err(refused @ JournalError::Damaged { .. }) if self.damage.is_none() => {
                self.end_is_missing(refused.to_string());
            }
            _ => {}
        }
    }

    /// A start goes by the names, and refuses a log with such files; nothing of it is lost when
    /// they get their own.
    pub(super) fn misnamed_is_damage(&mut self) -> Result<(), JournalError> {
        for (index, first) in self.misnamed()? {
            let file = &self.files[index];
            let why = match file.claimed.filter(|_| !file.is_live) {
                Some(claimed) => {
                    format!(
                        "its name says that it begins with event {claimed}, but it begins with \
                        event {first}"
                    )
                }
                None => "other files have the events after it".to_owned(),
            };
            let found = Damage {
                file: name_of(&file.path),
                offset: 0,
                line: Some(1),
                seq: self.good.chain.next_seq,
                why,
                looks: looks(&all_of(file)?),
            };
            if self.segments[index].health == Health::Ok {
                self.segments[index].health = Health::Misnamed { first };
            }
            self.damage.get_or_insert(found);
        }
        Ok(())
    }
}
