//! The clone that a swarm leaves: it moves away in an archive, and comes back if a person says so.
//!
//! Invariant: `swarmMoved` is in the log before the archive has its name, so there are never two
//! archives to move, and never one beside a swarm that goes on.

use crate::daemon::actor::clock::Clock;
use crate::daemon::error::DaemonError;
use crate::daemon::files::exports;
use crate::daemon::files::paths::Paths;
use crate::daemon::files::store::Store;
use crate::domain::decide::transfer;
use crate::domain::event::Event;
use crate::domain::request::Author;
use crate::domain::state::State;

/// The swarm works here again.
///
/// # Errors
/// It has not moved away; the lock is held; the log cannot be written.
pub fn reclaim(paths: &Paths, by: &Author) -> Result<(), DaemonError> {
    let mut store = Store::open(paths)?;
    let event = transfer::reclaimed(&store.state, by)?;
    append(paths, &mut store, &event)
}

/// A stopped swarm that is about to move away. Nobody else can add to its log.
pub struct Departure {
    paths: Paths,
    store: Store,
}

impl Departure {
    /// Takes the lock and reads the log.
    ///
    /// # Errors
    /// The lock is held; the log is damaged.
    pub fn begin(paths: &Paths) -> Result<Self, DaemonError> {
        Ok(Self {
            paths: paths.clone(),
            store: Store::open(paths)?,
        })
    }

    /// The state to pack.
    pub fn state(&self) -> &State {
        &self.store.state
    }

    /// The swarm has moved away in the archive with this manifest, which is on disk.
    ///
    /// # Errors
    /// It has moved away in another archive; the log cannot be written.
    pub fn move_away(&mut self, manifest_sha256: &str, by: &Author) -> Result<(), DaemonError> {
        match transfer::moved(&self.store.state, manifest_sha256, by)? {
            Some(event) => append(&self.paths, &mut self.store, &event),
            None => Ok(()),
        }
    }
}

fn append(paths: &Paths, store: &mut Store, event: &Event) -> Result<(), DaemonError> {
    let (now, _) = Clock::after(store.state.swarm.last_event_at).now();
    let before = store.state.seq;
    store
        .journal
        .append(before, now, std::slice::from_ref(event))?;
    store.journal.mark::<Event>(now)?;
    crate::domain::evolve::evolve(&mut store.state, before + 1, now, event);
    exports::write(paths, &store.state)
        .map_err(DaemonError::io("write ideas.jsonl and learnings.md"))?;
    Ok(())
}
