//! The rules that need no input: whatever can go on now, goes on. Level-triggered: it looks at the whole state each time, so nothing
//! depends on having seen a moment, and a restart needs no rule of its own.
//!
//! Invariant: each step changes the state such that it does not apply again; calling until nothing comes ends.

use super::attempt::{end_asked, time_out};
use super::plan::{End, Plan};
use crate::domain::effect::{Effect, Purpose};
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::lifecycle::{
    AttemptInput, AttemptPhase, MergeInput, MergePhase, SwarmInput, SwarmPhase,
};
use crate::domain::select;
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::{Attempt, AttemptEnd, Ending, IdeaStatus, MergeEntry, State, Task};
use crate::domain::time::Timestamp;

/// Between asking a run to end and ending it, while the daemon drains.
const DRAIN_KILL_MS: i64 = 500;

/// The next thing that can go on, as events; empty when nothing can.
pub fn advance(state: &State, now: Timestamp) -> Vec<Event> {
    let Some(settings) = state.settings.as_deref() else {
        return Vec::new();
    };
    let mut plan = Plan::new(state, now);
    let steps: [fn(&mut Plan<'_>, &Settings); 8] = [
        change_phase,
        end_stopped,
        drain,
        gate,
        build_merge,
        verify_merge,
        begin_iterations,
        claim,
    ];
    for step in steps {
        step(&mut plan, settings);
        if !plan.events.is_empty() {
            return plan.events;
        }
    }
    Vec::new()
}

/// When [`advance`] must be asked again although nothing else happens.
pub fn next_deadline(state: &State, now: Timestamp) -> Option<Timestamp> {
    let attempts = state
        .agents
        .values()
        .filter(|attempt| attempt.phase == AttemptPhase::Backoff)
        .filter_map(|attempt| attempt.not_before);
    let entries = state.queue.iter().filter_map(|entry| entry.not_before);
    let ideas = state
        .ideas
        .values()
        .filter(|idea| idea.status == IdeaStatus::Pending)
        .filter_map(|idea| idea.not_before);
    let drain = state
        .swarm
        .drain_deadline
        .into_iter()
        .flat_map(|deadline| [deadline, deadline.plus_millis(DRAIN_KILL_MS)]);
    attempts
        .chain(entries)
        .chain(ideas)
        .chain(drain)
        .filter(|time| *time > now)
        .min()
}

fn is_draining(state: &State) -> bool {
    state.swarm.phase == SwarmPhase::Draining
}

/// Phases in which complete work is gated and merged.
fn may_merge(state: &State) -> bool {
    matches!(
        state.swarm.phase,
        SwarmPhase::Running | SwarmPhase::Pausing | SwarmPhase::Paused
    )
}

fn change_phase(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let too_many = state.swarm.failures_in_a_row >= settings.failures_to_pause;
    let moved = match state.swarm.phase {
        SwarmPhase::Running if too_many && state.mode() == Mode::Autopilot => {
            let reason = format!(
                "{} attempts failed in a row; look at them (swarm idea list --status failed), then: swarm resume",
                state.swarm.failures_in_a_row
            );
            plan.emit(Event::PauseSet {
                reason: reason.clone(),
            });
            plan.move_swarm(SwarmInput::Pause, Some(&reason), None)
        }
        SwarmPhase::Pausing if state.slots_used() == 0 => {
            let reason = state.swarm.pause_reason.as_deref();
            plan.move_swarm(SwarmInput::Quiet, reason, None)
        }
        SwarmPhase::Draining if is_quiet(state) => {
            plan.move_swarm(SwarmInput::Quiet, Some("ended cleanly"), None)
        }
        _ => return,
    };
    debug_assert!(moved.is_ok());
}

/// Whether a draining swarm has nothing more to wait for.
fn is_quiet(state: &State) -> bool {
    let at_boundary = |attempt: &Attempt| match attempt.phase {
        AttemptPhase::Gating => attempt.run.is_none(),
        AttemptPhase::Backoff => attempt.task != Task::Work,
        phase => !phase.is_live(),
    };
    state.outbox.is_empty() && state.agents.values().all(at_boundary)
}

/// An attempt that is to end and has nothing under way any more.
fn end_stopped(plan: &mut Plan<'_>, _: &Settings) {
    let state = plan.state;
    for (agent, attempt) in &state.agents {
        let idle = attempt.run.is_none() && !has_effect(state, agent);
        if attempt.phase == AttemptPhase::Stopping && idle {
            let ending = attempt.ending.unwrap_or(Ending::Stopped);
            end_asked(plan, agent, attempt, ending);
        }
    }
}

/// Whether an effect of this attempt is under way.
fn has_effect(state: &State, of: &AgentId) -> bool {
    state.is_pending(|effect| match effect {
        Effect::PrepareWorktree { agent, .. } | Effect::Seal { agent, .. } => agent == of,
        Effect::Run { purpose, .. } => match purpose {
            Purpose::Iteration { agent, .. } | Purpose::Gate { agent, .. } => agent == of,
            Purpose::Verify { .. } => false,
        },
        _ => false,
    })
}

/// While the daemon ends: what is at a boundary is let go; what still runs at the deadline is stopped.
fn drain(plan: &mut Plan<'_>, _: &Settings) {
    let state = plan.state;
    if !is_draining(state) {
        return;
    }
    for (agent, attempt) in &state.agents {
        let at_boundary = match attempt.phase {
            AttemptPhase::Starting => attempt.run.is_none(),
            AttemptPhase::Backoff => attempt.task == Task::Work,
            _ => false,
        };
        if at_boundary {
            let end = End::keeping(AttemptEnd::Interrupted, IdeaStatus::Pending, None);
            plan.end(agent, end);
        }
    }
    let Some(deadline) = state.swarm.drain_deadline.filter(|at| *at <= plan.now) else {
        return;
    };
    let kill = deadline.plus_millis(DRAIN_KILL_MS) <= plan.now;
    for effect in state.outbox.values() {
        if let Effect::Run { run, .. } = effect {
            plan.stop_run(run, false);
            if kill {
                plan.stop_run(run, true);
            }
        }
    }
}

/// After COMPLETE: commit leftovers, then one quality command after the other, then the merge queue.
fn gate(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    for (agent, attempt) in &state.agents {
        if attempt.phase != AttemptPhase::Gating || attempt.run.is_some() {
            continue;
        }
        if has_effect(state, agent) {
            continue;
        }
        if !attempt.sealed {
            request_seal(plan, agent, attempt, settings);
        } else if may_merge(state) {
            next_gate(plan, agent, attempt, settings);
        }
    }
}

fn request_seal(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, settings: &Settings) {
    let Some(base) = attempt.base.clone() else {
        return;
    };
    plan.request(Effect::Seal {
        base,
        agent: agent.clone(),
        idea: attempt.idea.clone(),
        branch: attempt.branch.clone(),
        worktree: attempt.worktree.clone(),
        commit: settings.auto_commit,
        at: plan.now,
    });
}

fn next_gate(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, settings: &Settings) {
    let index = attempt.gate_next;
    if let Some(command) = settings.quality_commands.get(index) {
        let run = plan.run_id(&format!("{agent}-q{}", index + 1));
        plan.emit(Event::GateStarted {
            agent: agent.clone(),
            index,
            run: run.clone(),
        });
        let purpose = Purpose::Gate {
            agent: agent.clone(),
            index,
            command: command.clone(),
        };
        plan.request_run(run, purpose, settings.quality_timeout_ms);
        return;
    }
    let Some(head) = &attempt.head else {
        return;
    };
    if plan.move_attempt(agent, AttemptInput::GatePassed) {
        plan.emit(Event::MergeQueued {
            id: attempt.idea.clone(),
            agent: agent.clone(),
            branch: attempt.branch.clone(),
            source: head.clone(),
            held: !settings.auto_merge,
        });
    }
}

/// Whether an entry's turn can come.
fn is_eligible(entry: &MergeEntry, now: Timestamp) -> bool {
    let for_person = entry.waits.as_ref().is_some_and(|waits| waits.person);
    let due = match entry.not_before {
        Some(time) => time <= now,
        None => !for_person,
    };
    entry.phase == MergePhase::Queued && !entry.held && due
}

/// One entry at a time, first come, first served.
fn build_merge(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let busy = state.queue.iter().any(|entry| entry.phase.is_busy());
    if busy || !may_merge(state) || state.swarm.rewritten.is_some() {
        return;
    }
    let next = state
        .queue
        .iter()
        .find(|entry| is_eligible(entry, plan.now));
    let Some(entry) = next else {
        return;
    };
    let Some(base) = state
        .agents
        .get(&entry.agent)
        .and_then(|attempt| attempt.base.clone())
    else {
        return;
    };
    let seen = state.swarm.target.as_ref();
    plan.move_merge(&entry.idea, MergeInput::Build);
    plan.request(Effect::BuildMerge {
        idea: entry.idea.clone(),
        branch: entry.branch.clone(),
        source: entry.source.clone(),
        base,
        target: settings.target.clone(),
        known_target: seen
            .filter(|seen| seen.branch == settings.target)
            .map(|seen| seen.commit.clone()),
        rebase: state.swarm.rebase,
        title: title_of(state, &entry.idea),
        at: plan.now,
    });
}

/// The first line of an idea's text, at most 60 characters.
pub(crate) fn title_of(state: &State, id: &IdeaId) -> String {
    let text = state.ideas.get(id).map_or("", |idea| &idea.text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line: String = line
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    if line.chars().count() <= 60 {
        return line;
    }
    let short: String = line.chars().take(57).collect();
    format!("{}...", short.trim_end())
}

/// The quality commands on the merged tree, then the target moves.
fn verify_merge(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let verifying = |entry: &&MergeEntry| entry.phase == MergePhase::Verifying;
    let Some(entry) = state.queue.iter().find(verifying) else {
        return;
    };
    let (Some(commit), Some(target)) = (&entry.commit, &entry.target) else {
        return;
    };
    if entry.run.is_some()
        || state.is_pending(|effect| matches!(effect, Effect::PrepareVerify { .. }))
    {
        return;
    }
    let command = settings
        .quality_commands
        .get(entry.verify_next)
        .filter(|_| settings.verify);
    let Some(command) = command else {
        plan.move_merge(&entry.idea, MergeInput::Verified);
        plan.request(Effect::Land {
            idea: entry.idea.clone(),
            target: settings.target.clone(),
            expected: target.clone(),
            commit: commit.clone(),
        });
        return;
    };
    if !may_merge(state) {
        plan.move_merge(&entry.idea, MergeInput::Requeue);
    } else if entry.checked_out {
        let index = entry.verify_next;
        let run = plan.run_id(&format!("{}-v{}", entry.idea, index + 1));
        plan.emit(Event::VerifyStarted {
            id: entry.idea.clone(),
            index,
            run: run.clone(),
        });
        let purpose = Purpose::Verify {
            idea: entry.idea.clone(),
            index,
            command: command.clone(),
        };
        plan.request_run(run, purpose, settings.quality_timeout_ms);
    } else {
        plan.request(Effect::PrepareVerify {
            idea: entry.idea.clone(),
            commit: commit.clone(),
        });
    }
}

/// Attempts at their boundary go on when time and slots allow; those that have a slot begin their next iteration.
fn begin_iterations(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let running = state.swarm.phase == SwarmPhase::Running;
    for (agent, attempt) in &state.agents {
        match attempt.phase {
            AttemptPhase::Starting if attempt.run.is_none() && running => {
                begin_iteration(plan, agent, attempt, settings);
            }
            AttemptPhase::Starting if attempt.run.is_none() && may_merge(state) => {
                plan.move_attempt(agent, AttemptInput::Hold);
            }
            _ => {}
        }
    }
    if !running || !plan.events.is_empty() || state.slots_free() == 0 {
        return;
    }
    let due = |attempt: &Attempt| attempt.not_before.is_none_or(|time| time <= plan.now);
    let waiting = state.agents.iter().find(|(_, attempt)| {
        attempt.phase == AttemptPhase::Backoff && due(attempt) && !is_being_laid_out(state, attempt)
    });
    if let Some((agent, _)) = waiting {
        plan.move_attempt(agent, AttemptInput::Continue);
    }
}

/// Whether the target is just being merged into its worktree.
fn is_being_laid_out(state: &State, attempt: &Attempt) -> bool {
    state.is_pending(|effect| match effect {
        Effect::StartResolution { idea, .. } | Effect::FinishResolution { idea, .. } => {
            *idea == attempt.idea
        }
        _ => false,
    })
}

fn begin_iteration(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, settings: &Settings) {
    let resolving = attempt.task != Task::Work;
    if !resolving && attempt.iteration >= settings.max_iterations {
        let why = format!(
            "{} iterations without COMPLETE; completion.maxIterations allows no more",
            attempt.iteration
        );
        return time_out(plan, agent, &why);
    }
    let left = settings.attempt_timeout_ms - attempt.spent_ms;
    if !resolving && left <= 0 {
        return time_out(
            plan,
            agent,
            "the attempt took longer than agents.timeoutMinutes allows",
        );
    }
    let iteration = attempt.iteration + 1;
    let run = plan.run_id(&format!("{agent}-i{iteration}"));
    let resolver = settings.resolver.as_ref().filter(|_| resolving);
    plan.emit(Event::IterationStarted {
        agent: agent.clone(),
        iteration,
        run: run.clone(),
    });
    plan.move_attempt(agent, AttemptInput::Started);
    let purpose = Purpose::Iteration {
        agent: agent.clone(),
        iteration,
        profile: resolver.unwrap_or(&attempt.profile).clone(),
    };
    let timeout = if resolving {
        settings.attempt_timeout_ms
    } else {
        left
    };
    plan.request_run(run, purpose, timeout);
}

/// A free slot takes the best ready idea.
fn claim(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    if state.swarm.phase != SwarmPhase::Running || state.slots_free() == 0 {
        return;
    }
    let Some(id) = select::next(state, plan.now) else {
        return;
    };
    let Some(idea) = state.ideas.get(&id) else {
        return;
    };
    let profile = idea.profile.as_ref().unwrap_or(&settings.default_profile);
    let agent = AgentId::numbered(profile, state.counters.agents + 1);
    let branch = format!("agent/{agent}/{id}");
    let worktree = format!("{agent}-{id}");
    plan.emit(Event::IdeaClaimed {
        id: id.clone(),
        agent: agent.clone(),
        attempt: idea.attempts + 1,
        profile: profile.clone(),
        branch: branch.clone(),
        worktree: worktree.clone(),
    });
    plan.request(Effect::PrepareWorktree {
        agent,
        idea: id,
        branch,
        worktree,
        target: settings.target.clone(),
        from: idea.kept.as_ref().map(|kept| kept.worktree.clone()),
    });
}
