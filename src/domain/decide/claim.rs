//! Which idea is begun next, and by whom.
//!
//! Invariant: at most one idea a step, and only where a slot is free for it.

use super::checkpoints;
use super::iterations::may_start;
use super::plan::Plan;
use crate::domain::event::Event;
use crate::domain::ids::AgentId;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::select;
use crate::domain::settings::Settings;
use crate::domain::state::Idea;

/// A free slot takes the best ready idea, unless an attempt that has begun needs it.
pub(super) fn next(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let begun = state.agents.values();
    let begun = begun.filter(|attempt| attempt.phase == AttemptPhase::Backoff);
    if state.slots_free() > begun.count() {
        claim(plan, settings, |_| true);
    }
}

/// What an agent was redirected to is next, also where attempts that have begun wait for a slot: one of those gave its own.
pub(super) fn reserved(plan: &mut Plan<'_>, settings: &Settings) {
    let mut ideas = plan.state.ideas.values();
    if plan.state.slots_free() > 0 && ideas.any(|idea| idea.reserved.is_some()) {
        claim(plan, settings, |idea| idea.reserved.is_some());
    }
}

fn claim(plan: &mut Plan<'_>, settings: &Settings, wanted: impl Fn(&Idea) -> bool) {
    let state = plan.state;
    if !may_start(plan) || checkpoints::holds_autopilot(state, settings) {
        return;
    }
    let Some(id) = select::next(state, plan.now) else {
        return;
    };
    let Some(idea) = state.ideas.get(&id).filter(|idea| wanted(idea)) else {
        return;
    };
    let reserved = idea.reserved.as_ref().map(|reserved| &reserved.profile);
    let profile = reserved
        .filter(|profile| settings.profiles.contains(profile))
        .or(idea.profile.as_ref())
        .unwrap_or(&settings.default_profile);
    let agent = AgentId::numbered(profile, state.counters.agents + 1);
    plan.emit(Event::IdeaClaimed {
        attempt: idea.attempts + 1,
        profile: profile.clone(),
        branch: format!("agent/{agent}/{id}"),
        worktree: format!("{agent}-{id}"),
        id,
        agent,
    });
}
