//! Starts iterations: which attempt is next, what may delay one, and how long it may take.
//!
//! Invariant: as in [`advance`](mod@crate::domain::decide::advance). An iteration starts only for
//! an attempt with a slot, and only while the swarm runs.

use super::outcomes::time_out;
use super::{lending, provider};
use crate::domain::decide::advance::may_merge;
use crate::domain::decide::decision::Plan;
use crate::domain::decide::{baseline, budget, hooks};
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::IterationStarted;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase, SwarmPhase};
use crate::domain::settings::Settings;
use crate::domain::state::{Attempt, State, Task};

/// Continues attempts between iterations when time and slots allow, and starts the next iteration
/// of those with a slot.
pub(crate) fn begin_iterations(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let running = may_start(plan);
    for (agent, attempt) in &state.agents {
        // Other attempts of this account must see that one is trying it.
        if provider::tries(plan) {
            return;
        }
        // After a torn log its worktree is prepared again, which may still fail: until then nothing
        // runs in it.
        if attempt.phase != AttemptPhase::Starting || is_being_prepared(state, agent) {
            continue;
        }
        if running && !must_wait(plan, attempt, settings) {
            begin_or_ask(plan, agent, attempt, settings);
        } else if running || may_merge(state) {
            plan.move_attempt(agent, AttemptInput::Hold);
        }
    }
    if !running || !plan.events.is_empty() || state.slots_free() == 0 {
        return;
    }
    let goes_on = |(agent, attempt): &(&AgentId, &Attempt)| {
        attempt.phase == AttemptPhase::Backoff
            && attempt.not_before.is_none_or(|time| time <= plan.now)
            && attempt.catch_up.is_none()
            && !must_wait(plan, attempt, settings)
            && !state.is_under_way(agent, &attempt.idea)
    };
    // The attempt whose last iteration started first has waited longest: with few slots, all take
    // turns.
    let next = state
        .agents
        .iter()
        .filter(goes_on)
        .min_by_key(|(_, attempt)| attempt.iteration_at);
    if let Some((agent, attempt)) = next {
        let input = if lending::is_to_be_prepared(attempt) {
            AttemptInput::Prepare
        } else {
            AttemptInput::Continue
        };
        plan.move_attempt(agent, input);
    }
}

fn is_being_prepared(state: &State, agent: &AgentId) -> bool {
    let prepares = |effect: &Effect| {
        matches!(effect, Effect::PrepareWorktree(effect::PrepareWorktree { agent: this, .. })
            if this == agent)
    };
    state.is_pending(prepares)
}

/// Whether the account needed for the next iteration is held, or the target holds every iteration.
pub(crate) fn must_wait(plan: &Plan<'_>, attempt: &Attempt, settings: &Settings) -> bool {
    let profile = settings.profile_of(attempt);
    plan.state.holds_iterations() || provider::is_held(plan.state, settings, profile, plan.now)
}

/// Starts the iteration. If it is the attempt's first, the target must have passed its check, and
/// the `pre-start` hook is asked.
fn begin_or_ask(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, settings: &Settings) {
    if baseline::may_begin(plan, agent, attempt, settings)
        && hooks::may_begin(plan, agent, attempt, settings)
    {
        begin_iteration(plan, agent, attempt, settings);
    }
}

/// Whether a new run may start: while waiting for disk space, one attempt at a time tries.
pub(crate) fn may_start(plan: &Plan<'_>) -> bool {
    let state = plan.state;
    let held = state.swarm.held_until.is_some_and(|until| until > plan.now);
    state.swarm.phase == SwarmPhase::Running && !held
}

/// Whether a new run may start that needs a new worktree, or the target checked out, first.
pub(crate) fn may_check_out(plan: &Plan<'_>) -> bool {
    may_start(plan) && !plan.state.holds_worktrees(plan.now)
}

/// Whether limits and budget allow another iteration.
pub(crate) fn has_another(state: &State, attempt: &Attempt, settings: &Settings) -> bool {
    has_iterations_left(attempt, settings)
        && has_time_left(attempt, settings)
        && budget::has_another(state, attempt, settings)
}

fn has_iterations_left(attempt: &Attempt, settings: &Settings) -> bool {
    attempt.counted_iterations() < settings.max_iterations
}

fn has_time_left(attempt: &Attempt, settings: &Settings) -> bool {
    attempt.spent_ms < settings.attempt_timeout_ms
}

/// Message for an attempt without time left.
pub(crate) fn out_of_time(settings: &Settings) -> String {
    let minutes = settings.attempt_timeout_ms / 60_000;
    format!("took longer than {minutes} min (agents.timeoutMinutes)")
}

/// Message for an attempt without iterations left, with the last gate failure if that is why it
/// continued.
fn out_of_iterations(attempt: &Attempt) -> String {
    let number = attempt.counted_iterations();
    let used = format!("used all {number} iterations (completion.maxIterations)");
    match &attempt.feedback {
        Some(last) => format!("{used}; last, `{}` failed: {}", last.command, last.how),
        None => format!("{used} without COMPLETE"),
    }
}

fn begin_iteration(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, settings: &Settings) {
    let resolving = attempt.task != Task::Work;
    if !resolving && !has_iterations_left(attempt, settings) {
        return time_out(plan, agent, &out_of_iterations(attempt));
    }
    if !resolving && !has_time_left(attempt, settings) {
        return time_out(plan, agent, &out_of_time(settings));
    }
    if !resolving && !budget::may_begin(plan, agent, attempt, settings) {
        return;
    }
    if resolving && !budget::may_resolve(plan, agent, attempt, settings) {
        return;
    }
    let iteration = attempt.iteration + 1;
    let run = plan.run_id(&format!("{agent}-i{iteration}"));
    provider::begins(plan, settings.profile_of(attempt), &run, settings);
    plan.emit(IterationStarted {
        agent: agent.clone(),
        iteration,
        run: run.clone(),
    });
    plan.move_attempt(agent, AttemptInput::Started);
    request_iteration(plan, agent, attempt, iteration, &run, settings);
}

/// A resolver may use the full attempt time for each try; other work has what is left of the
/// attempt's time.
pub(crate) fn request_iteration(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    iteration: u32,
    run: &RunId,
    settings: &Settings,
) {
    let resolving = attempt.task != Task::Work;
    let spent = if resolving { 0 } else { attempt.spent_ms };
    let purpose = Purpose::Iteration {
        agent: agent.clone(),
        iteration,
        profile: settings.profile_of(attempt).clone(),
    };
    let timeout = settings.attempt_timeout_ms.saturating_sub(spent).max(1);
    plan.request_run(run.clone(), purpose, timeout);
}
