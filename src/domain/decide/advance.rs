//! Rules that need no input: whatever can continue, continues. They look at the whole state each
//! time, so nothing depends on having seen an event, and a restart needs no rules of its own. The
//! merge queue's are in [`super::merge::queue`].
//!
//! Invariant: each step changes the state so that it no longer applies; repeated calls come to an
//! end. Nothing happens without a running daemon, or before it knows what an earlier one left.

use super::attempt::claim;
use super::attempt::gate::{charge, start_check};
use super::attempt::iterations::{begin_iterations, has_another, request_iteration};
use super::attempt::lending;
use super::attempt::outcomes::end_asked;
use super::attempt::provider_wait;
use super::attempt::stuck::why_to_pause;
use super::decision::{End, Plan};
use super::merge::{queue, review};
use super::{
    attention, baseline, budget, checkpoints, hooks, memory, records, redirect, rollback, setup,
};
use crate::domain::effect::{self, Effect, SetupTree};
use crate::domain::event::{Event, MergeQueued, PauseSet, RunEnded};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase, SwarmInput, SwarmPhase};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::{Attempt, AttemptEnd, Ending, IdeaStatus, SealState, State, Task};
use crate::domain::time::Timestamp;

/// Time between asking a run to stop and killing it, while draining.
const DRAIN_KILL_MS: i64 = 350;

/// Time after the drain deadline until the daemon exits in any case.
const DRAIN_OVER_MS: i64 = 650;

/// Events of the next step; empty when nothing can continue.
pub fn advance(state: &State, now: Timestamp) -> Vec<Event> {
    let Some(settings) = state.settings.as_deref().filter(|_| may_act(state)) else {
        return Vec::new();
    };
    let mut plan = Plan::new(state, now);
    if state.swarm.phase == SwarmPhase::RollingBack {
        tidy_up(&mut plan, settings);
        if plan.events.is_empty() {
            rollback::go_on(&mut plan, settings);
        }
        return plan.events;
    }
    let steps: [fn(&mut Plan<'_>, &Settings); 29] = [
        change_phase,
        tidy_up,
        end_attempts,
        drain,
        // Last, because everything left has been asked to stop: the next start knows that no
        // attempt is to blame.
        abandon_shutdown,
        lending::prepare,
        request_announced_runs,
        budget::stop_hard,
        provider_wait::stop_runs,
        call_hooks,
        gate,
        // Before the queue's next entry: a queue that never empties must not delay them for ever.
        checkpoints::keep,
        // Likewise: it needs the merge worktree between two entries.
        baseline::check,
        queue::build,
        queue::verify,
        queue::land,
        queue::settle,
        baseline::control,
        budget::watch,
        records::replay::judge_due,
        // Before new attempts: a person waits for it.
        records::replay::begin_due,
        claim::reserved,
        begin_iterations,
        claim::next,
        memory::synthesis::begin_due,
        tidy_memory,
        // What needs a person only until the next step is nobody's business.
        attention::tell,
        attention::watch_night,
        attention::deliver,
    ];
    for step in steps {
        step(&mut plan, settings);
        if !plan.events.is_empty() {
            return plan.events;
        }
    }
    Vec::new()
}

/// When [`advance`] must run again even if nothing else happens.
pub fn next_deadline(state: &State, now: Timestamp) -> Option<Timestamp> {
    let attempts = state
        .agents
        .values()
        .filter(|attempt| {
            matches!(
                attempt.phase,
                AttemptPhase::Backoff | AttemptPhase::Preparing
            )
        })
        .filter_map(|attempt| attempt.not_before);
    let entries = state.queue.iter().filter_map(|entry| entry.not_before);
    let ideas = state
        .ideas
        .open()
        .filter(|(_, idea)| idea.status == IdeaStatus::Pending)
        .filter_map(|(_, idea)| idea.not_before);
    let drain = state.swarm.drain_deadline.into_iter().flat_map(|deadline| {
        [0, DRAIN_KILL_MS, DRAIN_OVER_MS].map(|later| deadline.plus_millis(later))
    });
    attempts
        .chain(state.swarm.held_until)
        .chain(state.swarm.worktrees_held.as_ref().map(|it| it.until))
        .chain(entries)
        .chain(ideas)
        .chain(drain)
        .chain(hooks::deadlines(state))
        .chain(state.accounts.values().filter_map(|hold| hold.until))
        .chain(state.profiles.values().filter_map(|hold| hold.until))
        .chain(provider_wait::deadline(state))
        .chain(baseline::deadline(state))
        .chain(attention::deadline(state))
        .chain(memory::next_expiry(state))
        .filter(|time| *time > now)
        .min()
}

fn tidy_memory(plan: &mut Plan<'_>, settings: &Settings) {
    memory::expire(plan);
    memory::compact_if_full(plan, settings);
}

/// Whether the swarm's phase lets a daemon act.
fn may_act(state: &State) -> bool {
    may_merge(state) || is_draining(state) || state.swarm.phase == SwarmPhase::RollingBack
}

fn is_draining(state: &State) -> bool {
    state.swarm.phase == SwarmPhase::Draining
}

/// Whether the phase allows checking and merging complete work.
pub(super) fn may_merge(state: &State) -> bool {
    matches!(
        state.swarm.phase,
        SwarmPhase::Running | SwarmPhase::Pausing | SwarmPhase::Paused
    )
}

fn change_phase(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let failing = why_to_pause(state, settings).filter(|_| state.mode() == Mode::Autopilot);
    let moved = match (state.swarm.phase, failing) {
        (SwarmPhase::Running, Some(reason)) => {
            plan.emit(PauseSet {
                reason: reason.clone(),
                command: None,
            });
            plan.move_swarm(SwarmInput::Pause, Some(&reason), None)
        }
        (SwarmPhase::Pausing, _) if is_at_rest(state) => {
            let reason = state.swarm.pause_reason.as_deref();
            plan.move_swarm(SwarmInput::Quiet, reason, None)
        }
        (SwarmPhase::Draining, _) if is_quiet(state) => {
            plan.move_swarm(SwarmInput::Quiet, Some("ended cleanly"), None)
        }
        (
            SwarmPhase::Stopped
            | SwarmPhase::Recovering
            | SwarmPhase::Running
            | SwarmPhase::Pausing
            | SwarmPhase::Paused
            | SwarmPhase::RollingBack
            | SwarmPhase::Draining,
            _,
        ) => return,
    };
    debug_assert!(moved.is_ok());
}

/// Whether no attempt is live, but for those that wait for a command, the target or a filter.
fn is_at_rest(state: &State) -> bool {
    let mut live = state
        .agents
        .iter()
        .filter(|(_, attempt)| attempt.phase.is_live());
    live.all(|(agent, attempt)| {
        (state.waits_for_command(attempt)
            || state.waits_for_target(attempt)
            || state.waits_to_be_sealed(attempt))
            && !state.is_under_way(agent, &attempt.idea)
    })
}

/// Whether a draining swarm has nothing left to wait for.
fn is_quiet(state: &State) -> bool {
    let at_boundary = |attempt: &Attempt| match attempt.phase {
        AttemptPhase::Gating => attempt.run.is_none(),
        AttemptPhase::Backoff => is_merge_work(attempt),
        AttemptPhase::Preparing
        | AttemptPhase::Starting
        | AttemptPhase::Working
        | AttemptPhase::Stopping => false,
        AttemptPhase::Queued
        | AttemptPhase::WaitingForHuman
        | AttemptPhase::ReadyToMerge
        | AttemptPhase::Merged
        | AttemptPhase::Failed
        | AttemptPhase::Released => true,
    };
    let ending = |attempt: &Attempt| attempt.ending.is_some();
    // A notice is sent again by the next start.
    state.outbox.values().all(Effect::is_notice)
        && state.owed.is_empty()
        && state
            .agents
            .values()
            .all(|attempt| at_boundary(attempt) && !ending(attempt))
}

/// Whether the merge queue gave the attempt work: that survives a restart instead of starting a new
/// attempt.
fn is_merge_work(attempt: &Attempt) -> bool {
    attempt.task != Task::Work || attempt.catch_up.is_some()
}

/// Requests the cleanup that decisions left: worktrees to release and inbox files to move.
fn tidy_up(plan: &mut Plan<'_>, _: &Settings) {
    let owed = &plan.state.owed;
    for unused in &owed.worktrees {
        plan.request(effect::ReleaseWorktree {
            worktree: unused.worktree.clone(),
            branch: unused.branch.clone(),
            landed: unused.landed.clone(),
            at: plan.now,
        });
    }
    for file in &owed.inbox {
        plan.request(effect::ArchiveInbox {
            name: file.name.clone(),
            sha256: file.sha256.clone(),
        });
    }
}

/// Ends attempts marked to end: first stops their run, then ends them when nothing is in progress.
fn end_attempts(plan: &mut Plan<'_>, _: &Settings) {
    let state = plan.state;
    for (agent, attempt) in &state.agents {
        let stopping = attempt.phase == AttemptPhase::Stopping;
        let Some(ending) = attempt.ending.or(stopping.then_some(Ending::Stopped)) else {
            continue;
        };
        if !state.is_under_way(agent, &attempt.idea) {
            if ending != Ending::Redirected || !redirect::save_work(plan, agent, attempt) {
                end_asked(plan, agent, ending);
            }
            continue;
        }
        if attempt.phase.is_live() && !stopping {
            plan.move_attempt(agent, AttemptInput::Stop);
        }
        if let Some(run) = &attempt.run {
            plan.stop_run(run, false);
        }
        hooks::stop_asking(plan, agent, attempt);
    }
}

/// While draining: releases attempts between iterations, and stops runs at the deadline.
fn drain(plan: &mut Plan<'_>, _: &Settings) {
    let state = plan.state;
    if !is_draining(state) {
        return;
    }
    for (agent, attempt) in &state.agents {
        let at_boundary = match attempt.phase {
            AttemptPhase::Starting => attempt.run.is_none(),
            AttemptPhase::Backoff => !is_merge_work(attempt),
            AttemptPhase::Preparing => {
                let waits = attempt.setup.is_some() || attempt.lent().is_some();
                waits && attempt.run.is_none()
            }
            AttemptPhase::Queued
            | AttemptPhase::Working
            | AttemptPhase::Gating
            | AttemptPhase::Stopping
            | AttemptPhase::WaitingForHuman
            | AttemptPhase::ReadyToMerge
            | AttemptPhase::Merged
            | AttemptPhase::Failed
            | AttemptPhase::Released => false,
        };
        if !at_boundary || state.is_under_way(agent, &attempt.idea) {
            continue;
        }
        if is_merge_work(attempt) && attempt.phase == AttemptPhase::Preparing {
            plan.move_attempt(agent, AttemptInput::Returned);
        } else if is_merge_work(attempt) {
            plan.move_attempt(agent, AttemptInput::Hold);
        } else {
            let end = End::keeping(AttemptEnd::Interrupted, IdeaStatus::Pending, None);
            plan.end(agent, end);
        }
    }
    // It would start over in any case.
    for (_, effect::Run { run, purpose, .. }) in state.runs_under_way() {
        if purpose.is_probe() {
            plan.stop_run(run, false);
        }
    }
    let Some(deadline) = state.swarm.drain_deadline.filter(|at| *at <= plan.now) else {
        return;
    };
    let kill = deadline.plus_millis(DRAIN_KILL_MS) <= plan.now;
    for effect in state.outbox.values() {
        if let Effect::Run(effect::Run { run, .. }) = effect {
            plan.stop_run(run, false);
            if kill {
                plan.stop_run(run, true);
            }
        }
    }
}

/// Gives up a shutdown that something blocks; the next start continues. The deadline stays set to
/// show this.
fn abandon_shutdown(plan: &mut Plan<'_>, _: &Settings) {
    let deadline = plan
        .state
        .swarm
        .drain_deadline
        .filter(|at| is_draining(plan.state) && at.plus_millis(DRAIN_OVER_MS) <= plan.now);
    if deadline.is_some() {
        let why = "the grace period is over; the next start continues what is left";
        let moved = plan.move_swarm(SwarmInput::Quiet, Some(why), deadline);
        debug_assert!(moved.is_ok());
    }
}

/// Runs announced in a torn log but never requested. An iteration is requested again; a quality
/// command is undone, since the gate chooses the next one itself.
fn request_announced_runs(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let unasked = |run: &&RunId| state.run_effect(run).is_none();
    for (agent, attempt) in &state.agents {
        let Some(run) = attempt.run.as_ref().filter(unasked) else {
            continue;
        };
        match attempt.phase {
            AttemptPhase::Starting => {
                plan.move_attempt(agent, AttemptInput::Started);
                request_iteration(plan, agent, attempt, attempt.iteration, run, settings);
            }
            AttemptPhase::Working => {
                request_iteration(plan, agent, attempt, attempt.iteration, run, settings);
            }
            AttemptPhase::Queued
            | AttemptPhase::Preparing
            | AttemptPhase::Gating
            | AttemptPhase::Stopping
            | AttemptPhase::WaitingForHuman
            | AttemptPhase::Backoff
            | AttemptPhase::ReadyToMerge
            | AttemptPhase::Merged
            | AttemptPhase::Failed
            | AttemptPhase::Released => discard_announced_run(plan, run),
        }
    }
    let checked = state.swarm.baseline.checking.as_ref();
    let merging = state.queue.iter().filter_map(|entry| entry.run.as_ref());
    for run in merging.chain(checked.and_then(|check| check.run.as_ref())) {
        if unasked(&run) {
            discard_announced_run(plan, run);
        }
    }
}

fn discard_announced_run(plan: &mut Plan<'_>, run: &RunId) {
    plan.emit(RunEnded {
        run: run.clone(),
        end: RunEnd::new(RunEndKind::Stopped),
    });
}

/// No hooks are called while draining: owed calls are in the log.
fn call_hooks(plan: &mut Plan<'_>, settings: &Settings) {
    if may_merge(plan.state) {
        hooks::call(plan, settings);
    }
}

/// After COMPLETE: commits leftovers; then, unless a person has sent a message, runs the setup if
/// it is due and the quality commands one by one; then enters the merge queue.
fn gate(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    for (agent, attempt) in &state.agents {
        let gating = attempt.phase == AttemptPhase::Gating && attempt.run.is_none();
        if !gating || state.is_under_way(agent, &attempt.idea) {
            continue;
        }
        if !attempt.is_sealed() {
            let held = state.waits_to_be_sealed(attempt) && state.holds_worktrees(plan.now);
            if !held {
                request_seal(plan, agent, attempt, settings);
            }
        } else if may_merge(state) {
            next_gate(plan, agent, attempt, settings);
            // The next one has to see it, because so many may run at once.
            if plan.events.iter().any(is_run) {
                return;
            }
        }
    }
}

fn is_run(event: &Event) -> bool {
    matches!(event, Event::EffectRequested(asked) if matches!(asked.effect, Effect::Run(_)))
}

fn request_seal(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, settings: &Settings) {
    let Some(base) = attempt.base.clone() else {
        return;
    };
    plan.request(effect::Seal {
        base,
        agent: agent.clone(),
        idea: attempt.idea.clone(),
        branch: attempt.branch.clone(),
        worktree: attempt.worktree.clone(),
        commit: settings.auto_commit,
        hooks: settings.commit_hooks && attempt.seal == SealState::Open,
        at: plan.now,
    });
}

fn next_gate(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, settings: &Settings) {
    // The agent must read new messages before its work is judged. If it may not continue, its work
    // is judged, and the view shows the messages as never read.
    let another = has_another(plan.state, attempt, settings);
    if !attempt.messages.is_empty() && another {
        plan.move_attempt(agent, AttemptInput::Hold);
        return;
    }
    if plan.state.waits_for_command(attempt) || plan.state.waits_for_target(attempt) {
        return;
    }
    if let Some(doubt) = plan.state.doubt_of(attempt).filter(|doubt| !doubt.repeat) {
        return charge(plan, agent, attempt, doubt);
    }
    if let Some(due) = &attempt.setup {
        let agent = agent.clone();
        return setup::start(plan, SetupTree::Worktree { agent }, due, settings);
    }
    if let Some(command) = settings.quality_commands.get(attempt.gate_next) {
        return start_check(plan, agent, attempt, command, settings);
    }
    let Some(head) = &attempt.head else {
        return;
    };
    plan.emit(MergeQueued {
        id: attempt.idea.clone(),
        agent: agent.clone(),
        branch: attempt.branch.clone(),
        source: head.clone(),
        held: review::is_wanted(plan.state, &attempt.idea, settings),
    });
    plan.move_attempt(agent, AttemptInput::GatePassed);
}
