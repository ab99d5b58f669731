//! What is still known about a damaged state: intact events, readable events after the damage, a
//! later snapshot, git and the files on disk. Called by `repair`.
//!
//! Invariant: [`Evidence::floors`] are at least every number ever assigned. An event assigns at
//! most one number of each kind, so an unreadable event counts as one of each.

use std::collections::BTreeSet;

use super::idea_list;
use super::numbers::Numbers;
use crate::daemon::error::DaemonError;
use crate::daemon::files::config_loader::Loader;
use crate::daemon::files::paths::Paths;
use crate::daemon::files::store;
use crate::domain::event::{Event, FoundLanding};
use crate::domain::evolve::evolve;
use crate::domain::ids::IdeaId;
use crate::domain::state::{Counters, State};
use crate::domain::time::Timestamp;
use crate::git::{Landed, Oid, Repo};
use crate::journal::repair::{Diagnosis, Rest};
use crate::journal::{Record, read_snapshot};

/// The evidence for one repair.
pub(super) struct Evidence {
    /// The state after the last event that the repair keeps.
    pub(super) after: State,
    /// The last state before the damage was found, as far as it is known.
    pub(super) seen: State,
    /// Readable events that the repair drops.
    pub(super) rest: Vec<Record<Event>>,
    /// The highest seq known from anywhere.
    pub(super) highest: u64,
    /// Landings on the target that the kept events do not mention, oldest first.
    pub(super) landings: Vec<FoundLanding>,
    /// The least values of the counters.
    pub(super) floors: Counters,
}

impl Evidence {
    /// For keeping the events before the damage.
    pub(super) fn of_cut(paths: &Paths, diagnosis: &Diagnosis) -> Result<Self, DaemonError> {
        let prefix = state_of(paths, diagnosis)?;
        let rest: Rest<Event> = diagnosis.read_on()?;
        let snapshot = newest_snapshot(paths, diagnosis, &prefix);
        let mut seen = snapshot.unwrap_or_else(|| prefix.clone());
        let highest = rest.highest.max(seen.seq);
        let floors = last_numbers(&mut seen, &rest.records, highest);
        idea_list::merge_list(paths, &mut seen);
        Ok(Self::with_surroundings(
            paths,
            prefix,
            seen,
            floors,
            rest.records,
            highest,
        ))
    }

    /// For keeping a snapshot and the events after it. Event `known` is known from elsewhere; `cut`
    /// is the evidence of the log and the newest snapshot.
    pub(super) fn of_snapshot(
        paths: &Paths,
        state: &State,
        tail: &[Record<Event>],
        known: u64,
        cut: &Self,
    ) -> Self {
        let mut after = state.clone();
        for record in tail {
            evolve(&mut after, record.seq, record.ts, &record.event);
        }
        let highest = known.max(after.seq);
        let knows_more = cut.seen.seq > after.seq;
        let mut seen = if knows_more { &cut.seen } else { &after }.clone();
        let floors = last_numbers(&mut seen, &[], highest);
        idea_list::merge_list(paths, &mut seen);
        Self::with_surroundings(paths, after, seen, floors, Vec::new(), highest)
    }

    /// For a rebuilt state; `cut` is the evidence of what is left of the log.
    pub(super) fn of_rebuilt(paths: &Paths, state: State, cut: &Self) -> Self {
        let (seen, floors, highest) = (cut.seen.clone(), cut.floors, cut.highest);
        Self::with_surroundings(paths, state, seen, floors, Vec::new(), highest)
    }

    /// Adds what git and the disk show.
    fn with_surroundings(
        paths: &Paths,
        after: State,
        seen: State,
        floors: Counters,
        rest: Vec<Record<Event>>,
        highest: u64,
    ) -> Self {
        let mut numbers = Numbers(floors);
        numbers.collect(paths);
        let landings = landings(paths, &after, &seen, &mut numbers);
        Self {
            after,
            seen,
            rest,
            highest,
            landings,
            floors: numbers.0,
        }
    }

    /// The landings whose idea exists in the kept events, but is not done there.
    pub(super) fn landings_of_known_ideas(&self) -> Vec<FoundLanding> {
        let known = |found: &&FoundLanding| self.after.ideas.contains_key(&found.idea);
        self.landings.iter().filter(known).cloned().collect()
    }

    /// The time of the last readable event.
    pub(super) fn last_event_at(&self) -> Timestamp {
        self.seen
            .swarm
            .last_event_at
            .max(self.after.swarm.last_event_at)
    }
}

/// The state after the last good event.
pub(super) fn state_of(paths: &Paths, diagnosis: &Diagnosis) -> Result<State, DaemonError> {
    let mut state = State::default();
    let mut applied = Ok(());
    diagnosis.read_good(|record: Record<Event>| {
        if applied.is_ok() {
            applied = store::apply(&paths.state, &mut state, &record);
        }
    })?;
    applied?;
    Ok(state)
}

/// The state of the newest intact snapshot of this log that was taken after the damage.
fn newest_snapshot(paths: &Paths, diagnosis: &Diagnosis, prefix: &State) -> Option<State> {
    let later = diagnosis
        .snapshots
        .iter()
        .filter(|snapshot| snapshot.seq.is_some_and(|seq| seq > prefix.seq));
    let states = later.filter_map(|snapshot| {
        let state: State = read_snapshot(&paths.state.join(&snapshot.file)).ok()?.state;
        is_later_state(&state, prefix).then_some(state)
    });
    states.max_by_key(|state| state.seq)
}

/// Whether a state may be a later one of the same log: ideas are never removed.
pub(super) fn is_later_state(state: &State, prefix: &State) -> bool {
    prefix.ideas.iter().all(|(id, idea)| {
        let later = state.ideas.get(id);
        later.is_some_and(|later| later.created_at == idea.created_at)
    })
}

/// Folds the readable events into `seen`; returns the highest possible counters.
fn last_numbers(seen: &mut State, rest: &[Record<Event>], highest: u64) -> Counters {
    let begin = seen.seq;
    let later = rest.iter().filter(|record| record.seq > begin);
    let mut read = 0;
    for record in later {
        read += 1;
        evolve(seen, record.seq, record.ts, &record.event);
    }
    let unread = (highest - begin).saturating_sub(read);
    let Counters {
        ideas,
        agents,
        runs,
        effects,
        learnings,
        checkpoints,
    } = seen.counters;
    Counters {
        ideas: ideas + unread,
        agents: agents + unread,
        runs: runs + unread,
        effects: effects + unread,
        learnings: learnings + unread,
        checkpoints: checkpoints + unread,
    }
}

/// Landings after the newest one that the intact events mention; empty if git cannot be read.
fn landings(
    paths: &Paths,
    prefix: &State,
    seen: &State,
    numbers: &mut Numbers,
) -> Vec<FoundLanding> {
    let Some(target) = target_of(paths, prefix, seen) else {
        return Vec::new();
    };
    let found = landings_in_git(paths, prefix, &target).unwrap_or_else(|error| {
        tracing::warn!(%error, "the target's landings cannot be read");
        Vec::new()
    });
    let mut landings = Vec::new();
    for landed in found.iter().rev() {
        numbers.note(&landed.idea);
        numbers.note(&landed.operation);
        landings.extend(unknown(prefix, landed, &target));
    }
    landings
}

/// The target branch: the last one in the log, or else the configured one.
pub(super) fn target_of(paths: &Paths, after: &State, seen: &State) -> Option<String> {
    let settings = seen.settings.as_ref().or(after.settings.as_ref());
    let known = settings.map(|settings| settings.target.clone());
    let configured = || Loader::new(paths).load().ok()?.target;
    let head = || Repo::open(&paths.root).ok()?.head_branch().ok()?;
    known.or_else(configured).or_else(head)
}

fn landings_in_git(
    paths: &Paths,
    prefix: &State,
    target: &str,
) -> Result<Vec<Landed>, crate::git::GitError> {
    let repo = Repo::open(&paths.root)?;
    let commits = prefix
        .ideas
        .values()
        .filter_map(|idea| idea.commit.as_ref());
    let seen = prefix.swarm.target.as_ref().map(|seen| &seen.commit);
    let known: BTreeSet<Oid> = commits
        .chain(seen)
        .filter_map(|oid| Oid::from_str(oid.as_str()).ok())
        .collect();
    match repo.branch_commit(target)? {
        Some(tip) => repo.landings(tip, None, |oid| known.contains(&oid)),
        None => Ok(Vec::new()),
    }
}

/// The landing, unless its idea is known to be done, or is younger than the commit: then the commit
/// belongs to an earlier idea with the same number.
fn unknown(prefix: &State, landed: &Landed, target: &str) -> Option<FoundLanding> {
    let idea: IdeaId = landed.idea.parse().ok()?;
    let known = prefix.ideas.get(&idea);
    let older = known.is_none_or(|idea| idea.created_at.millis() / 1_000 <= landed.at);
    let done = known.is_some_and(|idea| idea.commit.is_some());
    (older && !done).then_some(())?;
    Some(FoundLanding {
        idea,
        commit: landed.commit.to_string().parse().ok()?,
        target: target.to_owned(),
    })
}
