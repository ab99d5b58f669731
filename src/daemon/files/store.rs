//! Opens the state on disk: takes the lock, opens the log and folds its events. Called by the
//! daemon, `offline`, `clean` and `repair`.

use std::path::Path;

use super::paths::Paths;
use crate::daemon::error::DaemonError;
use crate::daemon::repair::idea_list;
use crate::daemon::repair::lost_end::MadeBefore;
use crate::daemon::transfer;
use crate::domain::event::{Event, StateRestored};
use crate::domain::evolve::evolve;
use crate::domain::state::State;
use crate::journal::repair::read_base_state;
use crate::journal::{
    AppendError, Journal, JournalError, LIVE_FILE, LockError, Record, SecondNames, StartFrom,
    StateLock, load,
};
use crate::plain_file;

/// An open state directory, with its lock held.
pub struct Store {
    /// The state after the last event.
    pub state: State,
    /// The log, open for writing.
    pub journal: Journal,
    lock: StateLock,
}

impl Store {
    /// Takes the lock, opens the log for writing (which cuts a torn tail) and reads it.
    ///
    /// # Errors
    /// [`DaemonError::Locked`]; a damaged or removed log. Nothing was changed then.
    pub fn open(paths: &Paths) -> Result<Self, DaemonError> {
        Self::under(lock(paths)?, paths)
    }

    /// As [`Self::open`], with the lock already held.
    ///
    /// # Errors
    /// A damaged or removed log. Nothing was changed then.
    pub fn under(lock: StateLock, paths: &Paths) -> Result<Self, DaemonError> {
        if let Err(error) = super::exports::clear(paths) {
            tracing::warn!(%error, "unfinished temporary files could not be removed");
        }
        let names = paths.second_names();
        if let Some(names) = &names {
            // Somebody may have removed it since the command began.
            names.restore()?;
        }
        // Reads before anything is changed.
        let (state, from) = read(paths)?;
        transfer::finish(paths, &state)?;
        let (mut journal, opened) = Journal::open(&paths.state)?;
        refuse_vanished(paths, &state, opened.position.seq, names.as_ref())?;
        if let Some(names) = names
            && let Err(error) = journal.keep_second_names(names)
        {
            tracing::warn!(%error, "nothing protects the event log from `git clean`");
        }
        if let Some(kept) = opened.torn {
            tracing::warn!(
                bytes = kept.bytes, copy = %kept.copy.display(),
                "the log ended in an incomplete write, which was never acknowledged; moved to a \
                copy"
            );
        }
        tracing::info!(seq = state.seq, ?from, "state read");
        Ok(Self {
            state,
            journal,
            lock,
        })
    }

    /// The journal for the writer thread, and the lock to hold until the end.
    pub(crate) fn into_parts(self) -> (Journal, StateLock) {
        (self.journal, self.lock)
    }
}

/// Refuses a log that somebody removed while it was opened. An empty one in its place would take
/// its second name.
fn refuse_vanished(
    paths: &Paths,
    state: &State,
    opened: u64,
    names: Option<&SecondNames>,
) -> Result<(), DaemonError> {
    let kept = names.is_some_and(SecondNames::is_any);
    if opened < state.seq || (opened == 0 && kept) {
        let path = paths.state.join(LIVE_FILE);
        return Err(AppendError::Removed { path }.into());
    }
    Ok(())
}

/// Takes the lock of a repository's state.
///
/// # Errors
/// [`DaemonError::Locked`]
pub fn lock(paths: &Paths) -> Result<StateLock, DaemonError> {
    plain_file::make_folder(&paths.state).map_err(DaemonError::io("make .swarm/state"))?;
    StateLock::acquire(&paths.private).map_err(|error| match error {
        LockError::Held { pid } => DaemonError::Locked { pid },
        LockError::Io { source, .. } => DaemonError::io("lock the state")(source),
    })
}

/// Reads the state after the last event. Needs no lock and changes nothing.
///
/// # Errors
/// A damaged, removed or truncated log.
pub fn read(paths: &Paths) -> Result<(State, StartFrom), DaemonError> {
    // Before reading the log, which may grow meanwhile.
    let made = MadeBefore::reading(paths);
    let loaded = load::<State, Event>(&paths.state)?;
    let read = loaded.try_fold(State::default, |state, record| {
        apply(&paths.state, state, &record)
    })?;
    refuse_lost_end(paths, &made, &read.0)?;
    Ok(read)
}

/// Refuses an intact log that was longer before.
pub(crate) fn refuse_lost_end(
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

/// Folds a record into the state. A repaired log may begin with a complete state in its own file.
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
