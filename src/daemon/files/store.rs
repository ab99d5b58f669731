//! The state of a repository on disk, opened by whoever holds the lock: the log in order, and what
//! folding it gives.

use std::path::Path;

use super::paths::Paths;
use crate::daemon::error::DaemonError;
use crate::daemon::repair::idea_list;
use crate::daemon::repair::lost_end::MadeBefore;
use crate::domain::event::{Event, StateRestored};
use crate::domain::evolve::evolve;
use crate::domain::state::State;
use crate::journal::repair::read_base_state;
use crate::journal::{Journal, JournalError, LockError, Record, StartFrom, StateLock, load};

/// See the module.
pub struct Store {
    /// The state after the last event.
    pub state: State,
    /// The log, open for writing.
    pub journal: Journal,
    lock: StateLock,
}

impl Store {
    /// Takes the lock, puts the log's end in order and reads it.
    ///
    /// # Errors
    /// [`DaemonError::Locked`]; damage to acknowledged events or a log that was removed, with
    /// nothing touched.
    pub fn open(paths: &Paths) -> Result<Self, DaemonError> {
        Self::under(lock(paths)?, paths)
    }

    /// The same, with the lock taken before.
    ///
    /// # Errors
    /// Damage to acknowledged events or a log that was removed, with nothing touched.
    pub fn under(lock: StateLock, paths: &Paths) -> Result<Self, DaemonError> {
        if let Err(error) = super::exports::clear(paths) {
            tracing::warn!(%error, "unfinished view files could not be removed");
        }
        // Before anything is touched.
        let (state, from) = read(paths)?;
        let (journal, opened) = Journal::open(&paths.state)?;
        if let Some(kept) = opened.torn {
            tracing::warn!(
                bytes = kept.bytes, copy = %kept.copy.display(),
                "the log ended in a line that was never acknowledged; it was put aside"
            );
        }
        tracing::info!(seq = state.seq, ?from, "state read");
        Ok(Self {
            state,
            journal,
            lock,
        })
    }

    /// The journal, for the writer, and the lock, to be held until the end.
    pub(crate) fn into_parts(self) -> (Journal, StateLock) {
        (self.journal, self.lock)
    }
}

/// Takes the lock of a repository's state.
///
/// # Errors
/// [`DaemonError::Locked`]
pub fn lock(paths: &Paths) -> Result<StateLock, DaemonError> {
    StateLock::acquire(&paths.state).map_err(|error| match error {
        LockError::Held { pid } => DaemonError::Locked { pid },
        LockError::Io { source, .. } => DaemonError::io("lock .swarm/state")(source),
    })
}

/// The state after the last event: the snapshot's and the events after it. Needs no lock and
/// changes nothing.
///
/// # Errors
/// Damage to acknowledged events; a log that was removed, or lost its end.
pub fn read(paths: &Paths) -> Result<(State, StartFrom), DaemonError> {
    // Before the log, which may grow meanwhile.
    let made = MadeBefore::reading(paths);
    let loaded = load::<State, Event>(&paths.state)?;
    let read = loaded.try_fold(State::default, |state, record| {
        apply(&paths.state, state, &record)
    })?;
    has_its_end(paths, &made, &read.0)?;
    Ok(read)
}

/// Refuses a log that is whole as far as it goes, but was longer.
pub(crate) fn has_its_end(
    paths: &Paths,
    made: &MadeBefore,
    state: &State,
) -> Result<(), DaemonError> {
    if let Some(why) = made.missing_in(paths, state) {
        return Err(DaemonError::EndGone(why));
    }
    if state.seq == 0 && idea_list::is_log_gone(paths) {
        return Err(DaemonError::LogGone);
    }
    Ok(())
}

/// Folds a record in. A log that was repaired may begin with a whole state, which lies beside it.
pub(crate) fn apply(
    state_dir: &Path,
    state: &mut State,
    record: &Record<Event>,
) -> Result<(), JournalError> {
    if let Event::StateRestored(StateRestored { sha256, .. }) = &record.event {
        *state = read_base_state(state_dir, sha256)?;
    }
    evolve(state, record.seq, record.ts, &record.event);
    Ok(())
}
