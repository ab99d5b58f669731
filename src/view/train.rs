//! The merge train: how far each entry of the merge queue is, and what will come.
//!
//! Invariant: the order is that of the queue; entries that wait for a person are marked, because
//! they hold nobody up.

use super::agent::{AgentView, live_agents};
use super::merge::{MergeView, merge};
use crate::domain::hook::{HookName, Passage};
use crate::domain::lifecycle::{AttemptPhase, MergePhase};
use crate::domain::state::{MergeEntry, State};

/// A step of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStep {
    /// A person approves the work.
    Review,
    /// The merge commit is built.
    Build,
    /// Conflicts are resolved.
    Conflicts,
    /// The quality commands run on the merged tree.
    Check,
    /// The `pre-merge` hook.
    Hook,
    /// The target moves.
    Land,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// It is over.
    Done,
    /// It is under way.
    Now,
    /// It waits for a person.
    Waits,
    /// It comes later.
    Later,
}

/// An entry of the queue.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainView {
    /// As `swarm merge list` has it.
    pub merge: MergeView,
    /// Its steps, in order.
    pub steps: Vec<(MergeStep, StepState)>,
    /// The quality command that runs, from 1, and how many there are.
    pub check: Option<(usize, usize)>,
    /// A person must approve its work or send it back.
    pub in_review: bool,
}

/// The queue, in order.
pub fn train(state: &State) -> Vec<TrainView> {
    let each = state.queue.iter().map(|entry| TrainView {
        merge: merge(state, entry),
        steps: steps(state, entry),
        check: check(state, entry),
        in_review: entry.is_in_review(),
    });
    each.collect()
}

/// Agents whose work may land next: those being checked first, then by their progress.
pub fn coming(state: &State) -> Vec<AgentView> {
    let mut all = live_agents(state);
    all.retain(|agent| agent.phase != AttemptPhase::ReadyToMerge);
    all.sort_by_key(|agent| {
        let gating = agent.phase == AttemptPhase::Gating;
        std::cmp::Reverse((gating, agent.progress))
    });
    all
}

fn steps(state: &State, entry: &MergeEntry) -> Vec<(MergeStep, StepState)> {
    let settings = state.settings.as_deref();
    let checks = settings.is_some_and(|one| one.verify && !one.quality_commands.is_empty());
    let hooks = settings.is_some_and(|one| one.hooks.contains_key(&HookName::PreMerge));
    let mut all = vec![MergeStep::Build, MergeStep::Conflicts];
    if checks {
        all.push(MergeStep::Check);
    }
    if hooks {
        all.push(MergeStep::Hook);
    }
    all.push(MergeStep::Land);
    let (now, how) = at(entry, checks);
    if now == MergeStep::Review {
        all.insert(0, now);
    }
    let Some(place) = all.iter().position(|step| *step == now) else {
        return all
            .into_iter()
            .map(|step| (step, StepState::Later))
            .collect();
    };
    let each = all.into_iter().enumerate().map(|(index, step)| {
        let state = match index.cmp(&place) {
            std::cmp::Ordering::Less => StepState::Done,
            std::cmp::Ordering::Equal => how,
            std::cmp::Ordering::Greater => StepState::Later,
        };
        (step, state)
    });
    each.collect()
}

/// The current step of an entry.
fn at(entry: &MergeEntry, checks: bool) -> (MergeStep, StepState) {
    let waits = entry.waits.as_ref().is_some_and(|waits| waits.person);
    match entry.phase {
        MergePhase::Queued if entry.held => (MergeStep::Review, StepState::Waits),
        MergePhase::Queued if waits => (MergeStep::Build, StepState::Waits),
        MergePhase::Queued => (MergeStep::Build, StepState::Later),
        MergePhase::Building => (MergeStep::Build, StepState::Now),
        MergePhase::Resolver => (MergeStep::Conflicts, StepState::Now),
        MergePhase::Person => (MergeStep::Conflicts, StepState::Waits),
        MergePhase::Verifying => match entry.pre_merge {
            Some(Passage::Asked) => (MergeStep::Hook, StepState::Now),
            Some(Passage::Held) => (MergeStep::Hook, StepState::Waits),
            None if checks => (MergeStep::Check, StepState::Now),
            Some(Passage::Free) | None => (MergeStep::Land, StepState::Now),
        },
        MergePhase::Landing => (MergeStep::Land, StepState::Now),
    }
}

fn check(state: &State, entry: &MergeEntry) -> Option<(usize, usize)> {
    let all = state.settings.as_deref()?.quality_commands.len();
    let runs = entry.phase == MergePhase::Verifying && entry.pre_merge.is_none() && all > 0;
    runs.then(|| ((entry.verify_next + 1).min(all), all))
}
