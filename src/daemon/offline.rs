//! Reads and changes the state while no daemon runs. Called by the command line.
//!
//! Invariant: a change takes the lock and goes through the same rules into the same log. It starts
//! no driver: the next daemon acts on the events.

use std::collections::BTreeSet;

use serde_json::Value;

use super::actor::clock::Clock;
use super::actor::handle::{Accepted, Journaled};
use super::checkpoints::list::{self, Preview};
use super::checkpoints::work_refs;
use super::effects::context::target_in;
use super::effects::failure::ours;
use super::effects::landed_work::{self, Missing};
use super::error::DaemonError;
use super::files::config_loader::Loader;
use super::files::paths::Paths;
use super::files::store::{self, Store};
use super::files::{exports, settings};
use super::lifecycle::reload::hook_settings;
use super::repair::lost_end::MadeBefore;
use super::repair::numbers;
use super::review::{self, Wanted};
use crate::crash;
use crate::domain::decide::{self, Decided};
use crate::domain::effect::Purpose;
use crate::domain::event::{Event, NumbersRaised};
use crate::domain::evolve::evolve;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId};
use crate::domain::operation::Command;
use crate::domain::request::Request;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::git::Repo;
use crate::journal::{
    JournalError, LockError, PREVIOUS_FILE, Record, SNAPSHOT_FILE, Segments, SnapshotFault,
    StartFrom, StateLock, load, read_snapshot, replay,
};
use crate::process::{self, RunDir, RunStatus};
use crate::view::{MergeDiff, TargetNow};

/// The state after the last event.
///
/// # Errors
/// The log is damaged.
pub fn read(paths: &Paths) -> Result<State, DaemonError> {
    Ok(store::read(paths)?.0)
}

/// The present commit of a branch.
pub fn target(paths: &Paths, branch: &str) -> TargetNow {
    match Repo::open(&paths.root) {
        Ok(repo) => target_in(&repo, branch),
        Err(_) => TargetNow::Unknown,
    }
}

/// The agents that are still running under their runners, with their ideas.
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

/// All checkpoints, oldest first, without the state in them.
///
/// # Errors
/// The log is damaged; git failed.
pub fn checkpoints(paths: &Paths) -> Result<Vec<Value>, DaemonError> {
    Ok(list::list(&Repo::open(&paths.root)?, &read(paths)?))
}

/// One of them.
///
/// # Errors
/// There is no such checkpoint; the log is damaged; git failed.
pub fn checkpoint(paths: &Paths, name: &CheckpointName) -> Result<Value, DaemonError> {
    list::show(&Repo::open(&paths.root)?, &read(paths)?, name)
}

/// Which checkpoints are usable.
///
/// # Errors
/// The log is damaged; git failed.
pub fn sound_checkpoints(paths: &Paths) -> Result<list::Soundness, DaemonError> {
    let repo = Repo::open(&paths.root)?;
    list::soundness(&repo, paths, &read(paths)?)
}

/// Puts deleted references to the work in checkpoints back, as far as git still has it.
///
/// # Errors
/// The log is damaged; git failed.
pub fn put_back_work(paths: &Paths) -> Result<BTreeSet<String>, DaemonError> {
    work_refs::put_back(&Repo::open(&paths.root)?, &read(paths)?)
}

/// What a rollback to this checkpoint would change.
///
/// # Errors
/// There is no such checkpoint; the log is damaged; git failed.
pub fn preview(paths: &Paths, name: &CheckpointName) -> Result<Preview, DaemonError> {
    let repo = Repo::open(&paths.root)?;
    list::preview(&repo, paths, &read(paths)?, name)
}

/// What landing this idea would change.
///
/// # Errors
/// It is not in the merge queue; the log is damaged; git failed.
pub fn merge_diff(paths: &Paths, id: &IdeaId) -> Result<MergeDiff, DaemonError> {
    let wanted = Wanted::of(&read(paths)?, id)?;
    Ok(wanted.diff(&Repo::open(&paths.root)?)?)
}

/// Refuses an approval of work whose branch has gone on.
fn require_unmoved(paths: &Paths, state: &State, command: &Command) -> Result<(), DaemonError> {
    if let Command::ApproveMerge { id, .. } = command
        && let Some(branch) = review::branch_in_review(state, id)
    {
        review::require_unmoved(state, id, &target(paths, &branch))?;
    }
    Ok(())
}

/// Looks for missing work that was brought back since, before somebody decides about it.
fn find_missing(
    paths: &Paths,
    state: &mut State,
    events: &mut Vec<Event>,
    now: Timestamp,
) -> Result<(), DaemonError> {
    let Some(target) = state.settings.as_deref().map(|now| now.target.clone()) else {
        return Ok(());
    };
    let repo = Repo::open(&paths.root)?;
    let Some(commit) = repo.branch_commit(&target)?.map(ours) else {
        return Ok(());
    };
    if let Some(seen) = landed_work::brought_back(&repo, Missing::of(state), &commit)? {
        let decided = decide::observation(state, &seen, now);
        fold(state, events, decided, now);
    }
    Ok(())
}

/// Decides on a request, makes its events durable and rewrites the exported files.
///
/// # Errors
/// [`DaemonError::Locked`]; a rejection; a log that cannot be read or written.
pub fn execute(paths: &Paths, request: &Request) -> Result<Accepted, DaemonError> {
    execute_after(paths, request, || Ok(()))
}

/// As [`execute`]. `prepare` puts on disk what the events refer to: once they are decided on and
/// before they are written, under the lock. It is not called if the operation was done before.
///
/// # Errors
/// As [`execute`], and those of `prepare`: nothing was written then.
pub(super) fn execute_after(
    paths: &Paths,
    request: &Request,
    prepare: impl FnOnce() -> Result<(), DaemonError>,
) -> Result<Accepted, DaemonError> {
    let mut store = Store::open(paths)?;
    let (now, _) = Clock::after(store.state.swarm.last_event_at).now();
    let before = store.state.seq;
    let mut events = load_settings(paths, &mut store.state, now)?;
    if before == 0 {
        continue_numbers(paths, &mut store.state, &mut events, now);
    }
    require_unmoved(paths, &store.state, &request.command)?;
    if matches!(request.command, Command::SettleTarget { .. }) {
        find_missing(paths, &mut store.state, &mut events, now)?;
    }
    let own = events.len();
    match decide::request(&store.state, request, now)? {
        Decided::Events(decided) => fold(&mut store.state, &mut events, decided, now),
        Decided::DoneBefore(operation) => {
            return Ok(Accepted::before(operation));
        }
    }
    prepare()?;
    if events.len() > own {
        crash::point("offline.decided");
        store.journal.append(before, now, &events)?;
        crash::point("offline.durable");
        store.journal.mark::<Event>(now)?;
        crash::point("offline.marked");
        exports::write(paths, &store.state)
            .map_err(DaemonError::io("write ideas.jsonl and learnings.md"))?;
    }
    Ok(Accepted {
        seq: store.state.seq,
        events: events.split_off(own),
        before: None,
    })
}

/// Lets the numbers of a new log go on after those of an earlier swarm in this repository.
fn continue_numbers(paths: &Paths, state: &mut State, events: &mut Vec<Event>, now: Timestamp) {
    let target = state.settings.as_deref().map(|now| now.target.clone());
    if let Some(counters) = numbers::of_earlier(paths, target.as_deref()) {
        let raised = Event::NumbersRaised(NumbersRaised { counters });
        fold(state, events, vec![raised], now);
    }
}

/// Folds today's settings into a state, as a start does: rules need the configured profiles and
/// slots. An invalid configuration changes nothing; `start` reports it.
pub(super) fn load_settings(
    paths: &Paths,
    state: &mut State,
    now: Timestamp,
) -> Result<Vec<Event>, DaemonError> {
    let settings = Loader::new(paths).load().ok().and_then(|config| {
        let repo = Repo::open(&paths.root).ok()?;
        let head = repo.head_branch().ok()?;
        let mut settings = settings::settings(&config, &head.unwrap_or_default()).ok()?;
        (settings.hooks, settings.commit_hooks) = hook_settings(&repo, &config, state).ok()?;
        Some((config.hash(), Box::new(settings)))
    });
    let mut events = Vec::new();
    if let Some((hash, settings)) = settings {
        let load = Command::LoadSettings { hash, settings };
        let decided = decide::command(state, &load, now)?;
        fold(state, &mut events, decided, now);
    }
    Ok(events)
}

fn fold(state: &mut State, events: &mut Vec<Event>, decided: Vec<Event>, now: Timestamp) {
    for event in decided {
        let seq = state.seq + 1;
        evolve(state, seq, now, &event);
        events.push(event);
    }
}

/// Whether a process holds the lock.
///
/// # Errors
/// The lock file cannot be used.
pub fn is_locked(paths: &Paths) -> Result<bool, DaemonError> {
    match StateLock::acquire(&paths.private) {
        Ok(_) => Ok(false),
        Err(LockError::Held { .. }) => Ok(true),
        Err(LockError::Io { source, .. }) => Err(DaemonError::io("lock the state")(source)),
    }
}

/// The pid of the lock's holder; `None` if there is no holder or it has not written its pid yet.
pub fn holder(paths: &Paths) -> Option<u32> {
    match StateLock::acquire(&paths.private) {
        Err(LockError::Held { pid }) => pid,
        _ => None,
    }
}

/// At most `limit` events after `after`, oldest first.
///
/// # Errors
/// The log is damaged there.
pub fn events(paths: &Paths, after: u64, limit: usize) -> Result<Vec<Journaled>, JournalError> {
    let mut found = Vec::new();
    let after = after.max(first(paths)?.saturating_sub(1));
    let upto = after.saturating_add(limit as u64);
    scan(paths, after, upto, &mut |event| found.push(event))?;
    Ok(found)
}

/// The first event of the log: a repaired one may begin later.
fn first(paths: &Paths) -> Result<u64, JournalError> {
    let segments = Segments::open(&paths.state)?;
    Ok(segments.iter().next().map_or(1, |segment| segment.first))
}

/// Passes the events after `after` and up to `upto` to `each`, oldest first.
///
/// # Errors
/// The log is damaged there.
pub fn scan(
    paths: &Paths,
    after: u64,
    upto: u64,
    each: &mut dyn FnMut(Journaled),
) -> Result<(), JournalError> {
    let after = after.max(first(paths)?.saturating_sub(1));
    replay(
        &paths.state,
        after.saturating_add(1),
        Some(upto.max(after)),
        |record: Record<Event>| {
            each(Journaled {
                seq: record.seq,
                ts: record.ts,
                event: record.event,
            });
        },
    )?;
    Ok(())
}

/// The end of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upto {
    /// This event.
    Seq(u64),
    /// The last event that is not later than this time.
    Time(Timestamp),
    /// The end of the log.
    End,
}

/// The state at a point, by a full replay. A time ends at the first later event, even if the clock
/// went back afterwards.
///
/// # Errors
/// The log is damaged before that point.
pub fn state_at(paths: &Paths, upto: Upto) -> Result<State, JournalError> {
    state_from(paths, State::default(), upto)
}

/// The state at a point, from the state at an earlier event. For a time, no event up to that state
/// may be later.
///
/// # Errors
/// The log is damaged before that point.
pub fn state_from(paths: &Paths, mut state: State, upto: Upto) -> Result<State, JournalError> {
    let mut past = false;
    let last = match upto {
        Upto::Seq(seq) => Some(seq),
        Upto::Time(_) | Upto::End => None,
    };
    let mut applied = Ok(());
    replay(
        &paths.state,
        state.seq + 1,
        last,
        |record: Record<Event>| {
            past |= matches!(upto, Upto::Time(time) if record.ts > time);
            if !past && applied.is_ok() {
                applied = store::apply(&paths.state, &mut state, &record);
            }
        },
    )?;
    applied.map(|()| state)
}

/// The event after which the snapshot before the newest one was taken; `None` without a usable one.
pub fn previous_snapshot(paths: &Paths) -> Option<u64> {
    let file = paths.state.join(PREVIOUS_FILE);
    let snapshot = read_snapshot::<serde::de::IgnoredAny>(&file).ok()?;
    Some(snapshot.position.seq)
}

/// The snapshot files that cannot be used, each with why. One that is not there is no fault.
pub fn damaged_snapshots(paths: &Paths) -> Vec<(&'static str, SnapshotFault)> {
    let fault = |name: &'static str| {
        let read = read_snapshot::<serde::de::IgnoredAny>(&paths.state.join(name));
        match read {
            Ok(_) | Err(SnapshotFault::Missing) => None,
            Err(fault) => Some((name, fault)),
        }
    };
    let files = [SNAPSHOT_FILE, PREVIOUS_FILE];
    files.into_iter().filter_map(fault).collect()
}

/// The current state computed in two ways, to compare.
#[derive(Debug)]
pub struct TwoWays {
    /// From the snapshot and the events after it.
    pub by_snapshot: State,
    /// From all events.
    pub by_replay: State,
    /// The snapshot's seq; `None` if no snapshot is usable.
    pub snapshot_seq: Option<u64>,
}

/// Computes the current state in both ways.
///
/// # Errors
/// A damaged, removed or truncated log.
pub fn both_ways(paths: &Paths) -> Result<TwoWays, DaemonError> {
    // Before reading the log, which may grow meanwhile.
    let made = MadeBefore::reading(paths);
    let loaded = load::<State, Event>(&paths.state)?;
    let upto = loaded.last_seq;
    let (by_snapshot, start) = loaded.try_fold(State::default, |state, record| {
        store::apply(&paths.state, state, &record)
    })?;
    let by_replay = state_at(paths, Upto::Seq(upto))?;
    store::refuse_lost_end(paths, &made, &by_replay)?;
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
