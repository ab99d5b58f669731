//! Prepares the worktrees of attempts, and lends those of finished work: what waits for a review or
//! for its turn in the merge queue is all on its branch, so a ready idea may have its worktree when
//! there would be too many.
//!
//! Invariant: one worktree is lent at a time. The name stays in use until the log has the
//! outcome, and what holds more than its branch is never lent. Called where an attempt is about to
//! get a worktree.

use crate::domain::decide::advance::may_merge;
use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::decide::setup;
use crate::domain::effect::{self, Effect, KeptWorktree, Saved};
use crate::domain::event::{Event, WorktreeLent, WorktreeStays};
use crate::domain::ids::AgentId;
use crate::domain::lifecycle::{AttemptPhase, MergePhase};
use crate::domain::outcome::{Failure, LendOutcome};
use crate::domain::settings::Settings;
use crate::domain::state::{Attempt, Lending, MergeEntry, State, Task};

/// Prepares the worktrees of new attempts and those that were lent, and sets them up.
pub(crate) fn prepare(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    for (agent, attempt) in &state.agents {
        let new = attempt.phase == AttemptPhase::Preparing;
        if !new || attempt.ending.is_some() || state.is_under_way(agent, &attempt.idea) {
            continue;
        }
        if let Some(due) = &attempt.setup {
            if may_merge(state) {
                setup::prepare(plan, agent, attempt, due, settings);
            }
        } else if attempt.iteration > 0 {
            take_back(plan, agent, attempt, settings);
        } else {
            plan.request(effect::PrepareWorktree {
                agent: agent.clone(),
                idea: attempt.idea.clone(),
                branch: attempt.branch.clone(),
                worktree: attempt.worktree.clone(),
                target: settings.target.clone(),
                from: attempt.kept.as_ref().map(|kept| kept.worktree.clone()),
            });
        }
    }
}

/// Whether another worktree may be made now. If there would be too many, the attempt that has
/// waited longest is asked to lend its own; if nobody can, there are more.
pub(crate) fn make_room(plan: &mut Plan<'_>, settings: &Settings) -> bool {
    let state = plan.state;
    if state.worktrees_in_use() < settings.max_worktrees as usize {
        return true;
    }
    if state.is_pending(is_lending) || has_requested(plan, is_lending) {
        return false;
    }
    // Whoever keeps the worktrees of landed work wants to look into them.
    let lender = longest_waiting(state).filter(|_| settings.cleanup_on_success);
    let Some((entry, attempt)) = lender else {
        return true;
    };
    plan.request(effect::LendWorktree {
        agent: entry.agent.clone(),
        branch: attempt.branch.clone(),
        worktree: attempt.worktree.clone(),
        head: entry.source.clone(),
        at: plan.now,
    });
    false
}

/// Requests a worktree for an attempt that has lent its own, as soon as there is room; one that has
/// its own already is asked for again.
pub(crate) fn take_back(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    settings: &Settings,
) {
    let worktree = match attempt.lent() {
        // The next one must see which name this plan gives away.
        Some(_) if has_requested(plan, is_preparing) || !make_room(plan, settings) => return,
        Some(lent) => plan.state.worktree_to_take_back(lent),
        None => attempt.worktree.clone(),
    };
    let (Some(base), Some(tip)) = (attempt.base.clone(), attempt.head.clone()) else {
        return;
    };
    plan.request(effect::PrepareWorktree {
        agent: agent.clone(),
        idea: attempt.idea.clone(),
        branch: attempt.branch.clone(),
        worktree,
        target: settings.target.clone(),
        from: Some(KeptWorktree {
            worktree: String::new(),
            branch: String::new(),
            base,
            agent: agent.clone(),
            crashed: false,
            saved: Some(Saved { tip, wip: None }),
        }),
    });
}

/// Whether its worktree must be made or set up again before its next iteration.
pub(crate) fn is_to_be_prepared(attempt: &Attempt) -> bool {
    attempt.lent().is_some() || (attempt.lending == Lending::MadeAgain && attempt.setup.is_some())
}

/// Handles the outcome. What cannot be lent is not asked for again before its agent works on.
pub(crate) fn lent(
    plan: &mut Plan<'_>,
    effect: &effect::LendWorktree,
    outcome: Result<LendOutcome, Failure>,
) {
    let agent = effect.agent.clone();
    let is_its = |attempt: &Attempt| attempt.worktree == effect.worktree;
    if !plan.attempt(&agent).is_some_and(is_its) {
        return;
    }
    let why = match outcome {
        Ok(LendOutcome::Lent) => return plan.emit(WorktreeLent { agent }),
        Ok(LendOutcome::HoldsMore { what }) => what,
        Err(failure) => failure.message,
    };
    let why = shorten(&why);
    plan.emit(WorktreeStays { agent, why });
}

fn is_lending(effect: &Effect) -> bool {
    matches!(effect, Effect::LendWorktree(_))
}

fn is_preparing(effect: &Effect) -> bool {
    matches!(effect, Effect::PrepareWorktree(_))
}

/// Whether this plan requests such an effect; it is not in the state yet.
fn has_requested(plan: &Plan<'_>, wanted: fn(&Effect) -> bool) -> bool {
    let mut events = plan.events.iter();
    events.any(|event| matches!(event, Event::EffectRequested(it) if wanted(&it.effect)))
}

fn longest_waiting(state: &State) -> Option<(&MergeEntry, &Attempt)> {
    let waiting = state.queue.iter().filter_map(|entry| {
        let attempt = state.agents.get(&entry.agent)?;
        may_lend(state, entry, attempt).then_some((entry, attempt))
    });
    waiting.min_by_key(|(entry, _)| entry.queued_at)
}

fn may_lend(state: &State, entry: &MergeEntry, attempt: &Attempt) -> bool {
    entry.phase == MergePhase::Queued
        && attempt.phase == AttemptPhase::ReadyToMerge
        && attempt.task == Task::Work
        && attempt.ending.is_none()
        && attempt.lent().is_none()
        && attempt.lending != Lending::HoldsMore
        && !state.is_under_way(&entry.agent, &entry.idea)
}
