//! Reading and changing the state while no daemon runs. A change takes the lock for that moment and
//! goes through the same rules, into the same log.
//!
//! Invariant: only rules that need no driver are asked: what a command leads to is journaled, and
//! the next daemon acts on it.

use super::actor::clock::Clock;
use super::actor::handle::{Accepted, Journaled};
use super::checkpoints::list::{self, Preview};
use super::effects::context::target_in;
use super::error::DaemonError;
use super::files::config_loader::Loader;
use super::files::paths::Paths;
use super::files::store::{self, Store};
use super::files::{exports, settings};
use super::hooks;
use super::repair::lost_end::MadeBefore;
use crate::crash;
use crate::domain::command::Command;
use crate::domain::decide;
use crate::domain::effect::Purpose;
use crate::domain::event::Event;
use crate::domain::evolve::evolve;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId};
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::git::Repo;
use crate::journal::{
    JournalError, LockError, Record, Segments, StartFrom, StateLock, load, replay,
};
use crate::process::{self, RunDir, RunStatus};
use crate::view::TargetNow;

/// The state after the last event.
///
/// # Errors
/// Damage to acknowledged events.
pub fn read(paths: &Paths) -> Result<State, DaemonError> {
    Ok(store::read(paths)?.0)
}

/// Where a branch is at this moment.
pub fn target(paths: &Paths, branch: &str) -> TargetNow {
    match Repo::open(&paths.root) {
        Ok(repo) => target_in(&repo, branch),
        Err(_) => TargetNow::Unknown,
    }
}

/// The agents that run on under their runners, and what they work on.
pub fn left_running(paths: &Paths, state: &State) -> Vec<(AgentId, IdeaId)> {
    let iterations = state.runs_under_way().filter_map(|(_, it)| {
        if let Purpose::Iteration { agent, .. } = &it.purpose {
            Some((&it.run, agent))
        } else {
            None
        }
    });
    let alive = iterations.filter(|(run, _)| {
        let dir = RunDir::open(&paths.runs, run.as_str());
        let status = dir.and_then(|dir| process::inspect(&dir));
        matches!(status, Ok(RunStatus::Running { .. }))
    });
    alive
        .filter_map(|(_, agent)| Some((agent.clone(), state.agents.get(agent)?.idea.clone())))
        .collect()
}

/// Which checkpoints can be rolled back to.
///
/// # Errors
/// The log is damaged; git cannot be asked.
pub fn sound_checkpoints(paths: &Paths) -> Result<list::Soundness, DaemonError> {
    let repo = Repo::open(&paths.root)?;
    list::soundness(&repo, paths, &read(paths)?)
}

/// What a rollback to this checkpoint would change.
///
/// # Errors
/// There is no such checkpoint; the log is damaged; git cannot be asked.
pub fn preview(paths: &Paths, name: &CheckpointName) -> Result<Preview, DaemonError> {
    let repo = Repo::open(&paths.root)?;
    list::preview(&repo, paths, &read(paths)?, name)
}

/// Decides on a command, makes its events durable and rewrites the views.
///
/// # Errors
/// [`DaemonError::Locked`] when a daemon or another command is at work; a refusal; a log that
/// cannot be read or written.
pub fn execute(paths: &Paths, command: &Command) -> Result<Accepted, DaemonError> {
    let loader = Loader::new(paths);
    // What a profile must be one of, and how many slots there are, is the configuration's; a wrong
    // one is said by `start`.
    let settings = loader.load().ok().and_then(|config| {
        let repo = Repo::open(&paths.root).ok()?;
        let head = repo.head_branch().ok()?;
        let settings = settings::settings(&config, &head.unwrap_or_default()).ok()?;
        Some((config, repo, settings))
    });
    let mut store = Store::open(paths)?;
    let settings = settings.and_then(|(config, repo, mut settings)| {
        settings.hooks = hooks::settings(&repo, &config, &store.state).ok()?;
        Some((config.hash(), settings))
    });
    let (now, _) = Clock::after(store.state.swarm.last_event_at).now();
    let before = store.state.seq;
    let mut events = Vec::new();
    if let Some((hash, settings)) = settings {
        let settings = Box::new(settings);
        let load = Command::LoadSettings { hash, settings };
        fold(&mut store.state, &mut events, &load, now)?;
    }
    let own = events.len();
    fold(&mut store.state, &mut events, command, now)?;
    if events.len() > own {
        crash::point("offline.decided");
        store.journal.append(before, now, &events)?;
        crash::point("offline.durable");
        store.journal.mark::<Event>(now)?;
        crash::point("offline.marked");
        exports::write(paths, &store.state).map_err(DaemonError::io("write the view files"))?;
    }
    Ok(Accepted {
        seq: store.state.seq,
        events: events.split_off(own),
    })
}

fn fold(
    state: &mut State,
    events: &mut Vec<Event>,
    command: &Command,
    now: Timestamp,
) -> Result<(), DaemonError> {
    for event in decide::command(state, command, now)? {
        let seq = state.seq + 1;
        evolve(state, seq, now, &event);
        events.push(event);
    }
    Ok(())
}

/// Whether somebody holds the lock at this moment.
///
/// # Errors
/// The lock cannot be looked at.
pub fn is_locked(paths: &Paths) -> Result<bool, DaemonError> {
    match StateLock::acquire(&paths.state) {
        Ok(_) => Ok(false),
        Err(LockError::Held { .. }) => Ok(true),
        Err(LockError::Io { source, .. }) => Err(DaemonError::io("lock .swarm/state")(source)),
    }
}

/// The process that holds the lock; none: nobody, or it has not said yet who it is.
pub fn holder(paths: &Paths) -> Option<u32> {
    match StateLock::acquire(&paths.state) {
        Err(LockError::Held { pid }) => pid,
        _ => None,
    }
}

/// Events after `after`, oldest first, at most `limit`.
///
/// # Errors
/// Damage on the way.
pub fn events(paths: &Paths, after: u64, limit: usize) -> Result<Vec<Journaled>, JournalError> {
    let mut found = Vec::new();
    // A log that was repaired may begin later.
    let segments = Segments::open(&paths.state)?;
    let first = segments.iter().next().map_or(1, |segment| segment.first);
    let after = after.max(first.saturating_sub(1));
    let upto = after.saturating_add(limit as u64);
    replay(
        &paths.state,
        after + 1,
        Some(upto),
        |record: Record<Event>| {
            found.push(Journaled {
                seq: record.seq,
                ts: record.ts,
                event: record.event,
            });
        },
    )?;
    Ok(found)
}

/// Up to where the log is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upto {
    /// To this event.
    Seq(u64),
    /// To the last event that is not later than this.
    Time(Timestamp),
    /// To the end.
    End,
}

/// The state at a point, by folding events from the first one; the clock may have gone back, so a
/// time ends at the first later event.
///
/// # Errors
/// Damage on the way.
pub fn state_at(paths: &Paths, upto: Upto) -> Result<State, JournalError> {
    let mut state = State::default();
    let mut past = false;
    let last = match upto {
        Upto::Seq(seq) => Some(seq),
        Upto::Time(_) | Upto::End => None,
    };
    let mut applied = Ok(());
    replay(&paths.state, 1, last, |record: Record<Event>| {
        past |= matches!(upto, Upto::Time(time) if record.ts > time);
        if !past && applied.is_ok() {
            applied = store::apply(&paths.state, &mut state, &record);
        }
    })?;
    applied.map(|()| state)
}

/// The two ways to today's state, to be compared.
#[derive(Debug)]
pub struct TwoWays {
    /// By the snapshot and the events after it.
    pub by_snapshot: State,
    /// By all events.
    pub by_replay: State,
    /// Where the first way began; none: there is no usable snapshot.
    pub snapshot_seq: Option<u64>,
}

/// Goes both ways.
///
/// # Errors
/// Damage on the way; a log that was removed, or lost its end.
pub fn both_ways(paths: &Paths) -> Result<TwoWays, DaemonError> {
    // Before the log, which may grow meanwhile.
    let made = MadeBefore::reading(paths);
    let loaded = load::<State, Event>(&paths.state)?;
    let upto = loaded.last_seq;
    let (by_snapshot, start) = loaded.try_fold(State::default, |state, record| {
        store::apply(&paths.state, state, &record)
    })?;
    let by_replay = state_at(paths, Upto::Seq(upto))?;
    store::has_its_end(paths, &made, &by_replay)?;
    let snapshot_seq = match start {
        StartFrom::Snapshot { seq } | StartFrom::PreviousSnapshot { seq, .. } => Some(seq),
        StartFrom::FullReplay { .. } => None,
    };
    Ok(TwoWays {
        by_snapshot,
        by_replay,
        snapshot_seq,
    })
}
