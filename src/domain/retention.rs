//! What may be thrown away: which runs, and which folders beside the worktrees, nobody needs any
//! more.
//!
//! Invariant: nothing that is needed is called over, whatever lies on disk; what the state does not
//! know counts as needed. What is over stays over, but for an idea that was cancelled and is tried
//! again: that begins from nothing. So a judgement may be acted on a moment later.

use std::collections::{BTreeMap, BTreeSet};

use super::effect::Effect;
use super::hook::HookName;
use super::ids::{IdeaId, RunId};
use super::state::{Feedback, Idea, IdeaStatus, Kept, State};
use super::time::Timestamp;

/// After so many days copies that were put aside (torn tails of the log, what a repair replaced)
/// may go.
pub const COPY_DAYS: u32 = 90;

const DAY_MS: i64 = 86_400_000;

/// Run ids are cut at this length, and the end of a cut one does not tell whose it was.
const MAX_ID: usize = 64;

/// Why something must stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// It is alive, or something under way names it.
    InUse,
    /// Its idea is not finished: its output can be asked for, and the next attempt may learn from
    /// it.
    Unfinished,
    /// The state knows nothing of it.
    Unknown,
}

/// Whether something may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It must stay.
    Needed(Need),
    /// Nobody needs it, since then; none: since its own end, which the state does not know.
    Over(Option<Timestamp>),
}

/// What is needed, gathered from one state.
#[derive(Debug, Default)]
pub struct Needs {
    in_use: BTreeSet<RunId>,
    unfinished: BTreeSet<RunId>,
    over: BTreeMap<RunId, Timestamp>,
    /// Agents, ideas and hooks, by their names: whether they are finished.
    owners: BTreeMap<String, bool>,
    worktrees: BTreeMap<String, Verdict>,
    last_run: u64,
}

impl Needs {
    /// Of this state.
    pub fn of(state: &State) -> Self {
        let mut needs = Self {
            last_run: state.counters.runs,
            ..Self::default()
        };
        for (id, idea) in &state.ideas {
            let finished = is_finished(state, id, idea);
            needs.owners.insert(id.to_string(), finished);
            needs.kept(idea.kept.as_deref());
        }
        needs.ended(state);
        needs.hooks(state);
        needs.living(state);
        needs.under_way(state);
        needs
    }

    /// Whether the directory of this run may go.
    pub fn run(&self, run: &RunId) -> Verdict {
        if self.in_use.contains(run) {
            return Verdict::Needed(Need::InUse);
        }
        if self.unfinished.contains(run) {
            return Verdict::Needed(Need::Unfinished);
        }
        match self.over.get(run) {
            Some(since) => Verdict::Over(Some(*since)),
            None => self.unnamed(run),
        }
    }

    /// Whether what lies beside the worktree of this name, kept from it, may go.
    pub fn worktree(&self, name: &str) -> Verdict {
        let unknown = Verdict::Needed(Need::Unknown);
        self.worktrees.get(name).copied().unwrap_or(unknown)
    }

    fn ended(&mut self, state: &State) {
        for (id, attempt) in &state.ended {
            let finished = self.is_done_with(&attempt.idea);
            self.owners.insert(id.to_string(), finished);
            if finished {
                let each = attempt.runs.iter().cloned();
                self.over.extend(each.map(|run| (run, attempt.ended_at)));
            } else {
                self.unfinished.extend(attempt.runs.iter().cloned());
            }
            let verdict = if finished {
                Verdict::Over(Some(attempt.ended_at))
            } else {
                Verdict::Needed(Need::Unfinished)
            };
            self.worktrees.insert(attempt.worktree.clone(), verdict);
        }
    }

    /// Of a call that is over, the output of each hook's last one can still be asked for.
    fn hooks(&mut self, state: &State) {
        for hook in HookName::ALL {
            self.owners.insert(hook.to_string(), true);
        }
        let calls = state.hooks.iter().filter_map(|call| call.run.clone());
        self.in_use.extend(calls);
        let last = state
            .hooks_last
            .values()
            .filter_map(|last| last.run.clone());
        self.unfinished.extend(last);
    }

    fn living(&mut self, state: &State) {
        for (id, attempt) in &state.agents {
            self.owners.insert(id.to_string(), false);
            self.unfinished.extend(attempt.runs.iter().cloned());
            self.in_use.extend(attempt.run.clone());
            self.feedback(attempt.feedback.as_ref());
            self.kept(attempt.kept.as_deref());
            self.uses(&attempt.worktree);
        }
        for entry in &state.queue {
            self.in_use.extend(entry.run.clone());
        }
    }

    fn under_way(&mut self, state: &State) {
        self.in_use.extend(state.stops.keys().cloned());
        for effect in state.outbox.values() {
            self.in_use.extend(effect.run_id().cloned());
            if let Effect::ReleaseWorktree(release) = effect {
                self.uses(&release.worktree);
            }
        }
        let owed = state.owed.worktrees.iter();
        for unused in owed.chain(&state.owed.worktrees_failed) {
            self.uses(&unused.worktree);
        }
    }

    /// What an attempt left for the next one.
    fn kept(&mut self, kept: Option<&Kept>) {
        let Some(kept) = kept else { return };
        self.unfinished.extend(kept.last_run.clone());
        self.feedback(kept.feedback.as_ref());
        self.uses(&kept.worktree.worktree);
    }

    fn feedback(&mut self, feedback: Option<&Feedback>) {
        self.unfinished
            .extend(feedback.and_then(|feedback| feedback.run.clone()));
    }

    fn uses(&mut self, worktree: &str) {
        let verdict = Verdict::Needed(Need::InUse);
        self.worktrees.insert(worktree.to_owned(), verdict);
    }

    fn is_done_with(&self, idea: &IdeaId) -> bool {
        self.owners.get(idea.as_str()).copied().unwrap_or(false)
    }

    /// The state remembers the last runs of an attempt only, and none that checked a merged tree:
    /// whose one was is in its name.
    fn unnamed(&self, run: &RunId) -> Verdict {
        let unknown = Verdict::Needed(Need::Unknown);
        let Some((number, owner)) = parts(run) else {
            return unknown;
        };
        if number > self.last_run {
            return unknown;
        }
        match self.owners.get(owner) {
            None => unknown,
            Some(false) => Verdict::Needed(Need::Unfinished),
            Some(true) => Verdict::Over(None),
        }
    }
}

/// Nothing of it will be tried again by itself, and nothing is kept for another try.
fn is_finished(state: &State, id: &IdeaId, idea: &Idea) -> bool {
    let over = matches!(idea.status, IdeaStatus::Done | IdeaStatus::Cancelled);
    over && idea.kept.is_none() && state.attempt_at(id).is_none() && state.entry(id).is_none()
}

/// `r0042-ed-001-i2`: the number, and whose it was.
fn parts(run: &RunId) -> Option<(u64, &str)> {
    let name = run.as_str();
    let (number, what) = name.strip_prefix('r')?.split_once('-')?;
    let (owner, _) = what.rsplit_once('-')?;
    let number = number.parse().ok()?;
    (name.len() < MAX_ID).then_some((number, owner))
}

/// Whether so many days have gone by since. A clock that went back makes nothing old.
pub fn is_old(since: Timestamp, now: Timestamp, days: u32) -> bool {
    let passed = now.since(since);
    passed >= 0 && passed >= i64::from(days).saturating_mul(DAY_MS)
}
