//! Chooses the idea that starts next, and its agent.
//!
//! Invariant: at most one idea per step, and only with a free slot. Called by
//! [`advance`](mod@crate::domain::decide::advance).

use super::iterations::{may_start, must_wait};
use super::{lending, provider};
use crate::domain::decide::checkpoints;
use crate::domain::decide::decision::Plan;
use crate::domain::event::IdeaClaimed;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::scheduling;
use crate::domain::settings::Settings;
use crate::domain::state::{Idea, State};

/// Claims the best ready idea for a free slot, unless a started attempt needs the slot.
pub(crate) fn next(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let begun = state.agents.values();
    let begun = begun.filter(|attempt| {
        attempt.phase == AttemptPhase::Backoff && !must_wait(plan, attempt, settings)
    });
    if state.slots_free() > begun.count() {
        claim(plan, settings, |_| true);
    }
}

/// Claims the idea that an agent was redirected to, even if started attempts wait for a slot: one
/// of those gave up its own.
pub(crate) fn reserved(plan: &mut Plan<'_>, settings: &Settings) {
    let mut ideas = plan.state.ideas.open();
    if plan.state.slots_free() > 0 && ideas.any(|(_, idea)| idea.reserved.is_some()) {
        claim(plan, settings, |idea| idea.reserved.is_some());
    }
}

fn claim(plan: &mut Plan<'_>, settings: &Settings, wanted: impl Fn(&Idea) -> bool) {
    let state = plan.state;
    if state.awaits_baseline() || state.blind_checks().is_some() {
        return;
    }
    let Some(id) = candidate(plan, settings) else {
        return;
    };
    let Some(idea) = state.ideas.get(&id).filter(|idea| wanted(idea)) else {
        return;
    };
    if kept_worktree(idea).is_none() && !lending::make_room(plan, settings) {
        return;
    }
    let profile = settings.profile_for(idea);
    let agent = AgentId::numbered(profile, state.counters.agents + 1);
    plan.emit(IdeaClaimed {
        attempt: idea.attempts + 1,
        profile: profile.clone(),
        branch: format!("agent/{agent}/{id}"),
        worktree: worktree(state, idea),
        id,
        agent,
    });
}

/// The idea that would start next, but for the check of the target.
fn candidate(plan: &Plan<'_>, settings: &Settings) -> Option<IdeaId> {
    let state = plan.state;
    let held = state.holds_claims(plan.now) || checkpoints::holds_autopilot(state, settings);
    if held || !may_start(plan) {
        return None;
    }
    let served =
        |idea: &Idea| !provider::is_held(state, settings, settings.profile_for(idea), plan.now);
    scheduling::next(state, plan.now, served)
}

/// Whether an idea would start now if the target had passed its check.
pub(crate) fn has_candidate(plan: &Plan<'_>, settings: &Settings) -> bool {
    plan.state.slots_free() > 0 && candidate(plan, settings).is_some()
}

/// Name of the worktree. An idea keeps the one with its work, because environments, build results
/// and conversations are bound to a path; otherwise it gets the first that nobody uses.
fn worktree(state: &State, idea: &Idea) -> String {
    let kept = kept_worktree(idea).cloned();
    kept.unwrap_or_else(|| state.free_worktree())
}

fn kept_worktree(idea: &Idea) -> Option<&String> {
    let kept = idea.kept.as_deref().map(|kept| &kept.worktree);
    let kept = kept.filter(|kept| kept.saved.is_none());
    kept.map(|kept| &kept.worktree)
}
