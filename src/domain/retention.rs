//! Decides which runs, and which directories beside the worktrees, may be deleted.
//!
//! Invariant: nothing needed is declared over, whatever is on disk; what the state does not know
//! counts as needed. What is over stays over (a cancelled idea that is retried starts from
//! scratch), so a verdict may be acted on a moment later. Called by `swarm clean` and its schedule.

use std::collections::{BTreeMap, BTreeSet};

use super::effect::Effect;
use super::hook::HookName;
use super::ids::{IdeaId, RunId, attempt_name};
use super::state::baseline::RUN_OWNER;
use super::state::records::REPLAY_OWNER;
use super::state::{Feedback, Idea, IdeaStatus, Kept, State};
use super::time::Timestamp;

/// Days after which set-aside copies (torn log ends, files replaced by a repair) may be deleted.
pub const COPY_DAYS: u32 = 90;

const DAY_MS: i64 = 86_400_000;

/// Run ids are cut at this length; the end of a cut one does not show whose it was.
const MAX_ID: usize = 64;

/// Why something must stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// It is running, or something in progress refers to it.
    InUse,
    /// Its idea is unfinished: its output may be requested, and the next attempt may learn from it.
    Unfinished,
    /// The state does not know it.
    Unknown,
}

/// Whether something may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It must stay.
    Needed(Need),
    /// Nobody has needed it since this time; `None`: since its own end, unknown to the state.
    Over(Option<Timestamp>),
}

/// Everything needed, collected from one state.
#[derive(Debug, Default)]
pub struct Needs {
    in_use: BTreeSet<RunId>,
    unfinished: BTreeSet<RunId>,
    over: BTreeMap<RunId, Timestamp>,
    /// Names of agents, ideas, hooks and the check of the target, with whether they are finished.
    owners: BTreeMap<String, bool>,
    attempts: BTreeMap<String, Verdict>,
    /// SHA-256 of the kept files of imported agents.
    imports: BTreeSet<String>,
    last_run: u64,
}

impl Needs {
    /// Collects the needs of a state.
    pub fn of(state: &State) -> Self {
        let mut needs = Self {
            last_run: state.counters.runs,
            ..Self::default()
        };
        for (id, idea) in &state.ideas {
            let finished = is_finished(state, id, idea);
            needs.owners.insert(id.to_string(), finished);
            needs.kept(idea.kept.as_deref());
            if !finished || state.undo.can_bring_back(id) {
                let sha256 = idea.imported.as_ref().map(|it| it.sha256.clone());
                needs.imports.extend(sha256);
            }
        }
        needs.ended(state);
        needs.hooks(state);
        needs.baseline(state);
        needs.living(state);
        needs.under_way(state);
        needs.records(state);
        needs
    }

    /// Whether the directory of this run may be deleted.
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

    /// Whether an idea or attempt may still be given this imported state of an agent.
    pub fn import(&self, sha256: &str) -> bool {
        self.imports.contains(sha256)
    }

    /// Whether what was kept of the attempt of this name may be deleted.
    pub fn attempt(&self, name: &str) -> Verdict {
        let unknown = Verdict::Needed(Need::Unknown);
        self.attempts.get(name).copied().unwrap_or(unknown)
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
            self.attempts.insert(attempt_name(&attempt.branch), verdict);
        }
    }

    /// The output of each hook's last call may still be requested.
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

    /// People are shown the output of the check that stands failed.
    fn baseline(&mut self, state: &State) {
        let baseline = &state.swarm.baseline;
        self.owners.insert(RUN_OWNER.to_owned(), true);
        let failed = baseline.failed.as_ref();
        self.unfinished
            .extend(failed.and_then(|failed| failed.run.clone()));
        let checking = baseline.checking.as_ref();
        self.in_use
            .extend(checking.and_then(|check| check.run.clone()));
    }

    fn living(&mut self, state: &State) {
        for (id, attempt) in &state.agents {
            self.owners.insert(id.to_string(), false);
            self.unfinished.extend(attempt.runs.iter().cloned());
            self.in_use.extend(attempt.run.clone());
            self.feedback(attempt.feedback.as_ref());
            self.kept(attempt.kept.as_deref());
            let sha256 = attempt.imported.as_ref().map(|it| it.sha256.clone());
            self.imports.extend(sha256);
            self.uses(&attempt.branch, &attempt.worktree);
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
                self.uses(&release.branch, &release.worktree);
            }
        }
        let owed = state.owed.worktrees.iter();
        for unused in owed.chain(&state.owed.worktrees_failed) {
            self.uses(&unused.branch, &unused.worktree);
        }
    }

    /// A record is made of what is in the run's directory.
    fn records(&mut self, state: &State) {
        for (run, owed) in &state.records.owed {
            self.in_use.insert(run.clone());
            self.in_use
                .extend(owed.gate.iter().map(|it| it.run.clone()));
        }
        self.owners.insert(REPLAY_OWNER.to_owned(), true);
        self.in_use.extend(state.replay_under_way().cloned());
    }

    /// Marks what an attempt left for the next one.
    fn kept(&mut self, kept: Option<&Kept>) {
        let Some(kept) = kept else { return };
        self.unfinished.extend(kept.last_run.clone());
        self.feedback(kept.feedback.as_ref());
        self.uses(&kept.worktree.branch, &kept.worktree.worktree);
    }

    fn feedback(&mut self, feedback: Option<&Feedback>) {
        self.unfinished
            .extend(feedback.and_then(|feedback| feedback.run.clone()));
    }

    fn uses(&mut self, branch: &str, worktree: &str) {
        for name in [attempt_name(branch), worktree.to_owned()] {
            self.attempts.insert(name, Verdict::Needed(Need::InUse));
        }
    }

    fn is_done_with(&self, idea: &IdeaId) -> bool {
        self.owners.get(idea.as_str()).copied().unwrap_or(false)
    }

    /// For runs that the state no longer lists (it keeps an attempt's last runs, and none that
    /// verified a merge): the owner is in the name.
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

/// Whether nothing of the idea is retried automatically or kept for a retry.
fn is_finished(state: &State, id: &IdeaId, idea: &Idea) -> bool {
    let over = matches!(idea.status, IdeaStatus::Done | IdeaStatus::Cancelled);
    over && idea.kept.is_none() && state.attempt_at(id).is_none() && state.entry(id).is_none()
}

/// Splits `r0042-ed-001-i2` into its number and the rest, which names the owner.
fn parts(run: &RunId) -> Option<(u64, &str)> {
    let name = run.as_str();
    let (number, what) = name.strip_prefix('r')?.split_once('-')?;
    let (owner, _) = what.rsplit_once('-')?;
    let number = number.parse().ok()?;
    (name.len() < MAX_ID).then_some((number, owner))
}

/// Whether this many days have passed. If the clock went back, nothing is old.
pub fn is_old(since: Timestamp, now: Timestamp, days: u32) -> bool {
    let passed = now.since(since);
    passed >= 0 && passed >= i64::from(days).saturating_mul(DAY_MS)
}
