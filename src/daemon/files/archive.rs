//! Reads from the log the learnings that a compaction dropped from the state. Called by
//! `summaries`, the API and the command line.
//!
//! Invariant: it keeps nothing but learnings. A log that was repaired has those from its new
//! beginning on.

use super::paths::Paths;
use super::store;
use crate::domain::event::{Event, MemoryCompacted};
use crate::domain::evolve::evolve;
use crate::domain::memory::Learnings;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::journal::{JournalError, Record, replay};

/// All learnings of a log, those too that the state no longer has.
#[derive(Debug, Default)]
pub struct Archive {
    state: State,
}

impl Archive {
    /// Takes in the next event.
    pub fn see(&mut self, seq: u64, at: Timestamp, event: &Event) {
        if is_about_learnings(event) {
            evolve(&mut self.state, seq, at, event);
        }
    }

    /// The learnings, oldest first.
    pub fn into_learnings(self) -> Learnings {
        self.state.learnings
    }
}

fn is_about_learnings(event: &Event) -> bool {
    matches!(event, Event::Learned(_) | Event::MemoryRetracted(_))
}

/// All learnings that the log has up to an event.
///
/// # Errors
/// The log is damaged before that event.
pub fn learnings(paths: &Paths, upto: u64) -> Result<Learnings, JournalError> {
    Ok(read(paths, upto, &mut |_| {})?.into_learnings())
}

/// What a compaction dropped.
#[derive(Debug)]
pub(super) struct Dropped {
    pub(super) at: Timestamp,
    pub(super) compacted: MemoryCompacted,
    /// All learnings up to it.
    pub(super) archive: Learnings,
}

/// Reads a compaction by the seq of its event; `None` if the log no longer has it.
pub(super) fn compaction(paths: &Paths, seq: u64) -> Result<Option<Dropped>, JournalError> {
    let mut found = None;
    let archive = read(paths, seq, &mut |record| {
        if record.seq == seq
            && let Event::MemoryCompacted(compacted) = &record.event
        {
            found = Some((record.ts, compacted.clone()));
        }
    })?;
    Ok(found.map(|(at, compacted)| Dropped {
        at,
        compacted,
        archive: archive.into_learnings(),
    }))
}

fn read(
    paths: &Paths,
    upto: u64,
    each: &mut dyn FnMut(&Record<Event>),
) -> Result<Archive, JournalError> {
    let mut archive = Archive::default();
    let mut applied = Ok(());
    replay(&paths.state, 1, Some(upto), |record: Record<Event>| {
        each(&record);
        archive.see(record.seq, record.ts, &record.event);
        if applied.is_ok() && matches!(record.event, Event::StateRestored(_)) {
            let mut restored = State::default();
            applied = store::apply(&paths.state, &mut restored, &record);
            archive.state.learnings = restored.learnings;
        }
    })?;
    applied.map(|()| archive)
}
