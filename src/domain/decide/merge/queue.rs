//! Rules of the merge queue that need no input: one entry at a time is built, verified and landed;
//! conflicts are prepared and finished.
//!
//! Invariant: as in [`advance`](mod@crate::domain::decide::advance). At most one entry is building,
//! verifying or landing, and nothing is requested for an idea while an effect for it is pending.

use crate::domain::decide::advance::may_merge;
use crate::domain::decide::attempt::lending;
use crate::domain::decide::decision::Plan;
use crate::domain::decide::{hooks, setup};
use crate::domain::effect::{self, Effect, Purpose, SetupTree};
use crate::domain::event::VerifyStarted;
use crate::domain::ids::{AgentId, IdeaId, Oid};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase, MergeInput, MergePhase};
use crate::domain::scheduling;
use crate::domain::settings::Settings;
use crate::domain::state::checkpoint::{Checkpoint, Reason};
use crate::domain::state::{Attempt, MergeEntry, State};
use crate::domain::time::Timestamp;

/// Whether an entry may start. It may wait for a person, a time, the ideas it depends on, and
/// pending effects.
fn is_eligible(state: &State, entry: &MergeEntry, now: Timestamp) -> bool {
    let for_person = entry.waits.as_ref().is_some_and(|waits| waits.person);
    let due = match entry.not_before {
        Some(time) => time <= now,
        None => !for_person,
    };
    entry.phase == MergePhase::Queued
        && !entry.held
        && due
        && !state.is_held_by_target(entry)
        && !is_ending(state, entry)
        && scheduling::is_idea_unlocked(state, &entry.idea)
        && !state.is_under_way(&entry.agent, &entry.idea)
}

fn is_ending(state: &State, entry: &MergeEntry) -> bool {
    let attempt = state.agents.get(&entry.agent);
    attempt.is_some_and(|attempt| attempt.ending.is_some())
}

/// The entry in this phase without a pending effect.
fn idle_in(state: &State, phase: MergePhase) -> Option<&MergeEntry> {
    let idle = |entry: &&MergeEntry| {
        entry.phase == phase && !state.is_under_way(&entry.agent, &entry.idea)
    };
    state.queue.iter().find(idle)
}

/// Starts the next entry; first come, first served.
pub(crate) fn build(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    if let Some(entry) = idle_in(state, MergePhase::Building) {
        return request_build(plan, entry, settings);
    }
    let waits = settings.verify && state.is_gate_broken();
    if is_busy(state)
        || waits
        || state.is_target_in_verify()
        || state.holds_landings()
        || !may_merge(state)
    {
        return;
    }
    let now = plan.now;
    let mut waiting = state.queue.iter();
    if let Some(entry) = waiting.find(|entry| is_eligible(state, entry, now)) {
        plan.move_merge(&entry.idea, MergeInput::Build);
    }
}

/// Whether an entry, or an effect, uses the target or the merge worktree. In a torn log an effect
/// can outlive its entry's phase.
pub(crate) fn is_busy(state: &State) -> bool {
    state.queue.iter().any(|entry| entry.phase.is_busy()) || state.is_pending(Effect::holds_queue)
}

fn request_build(plan: &mut Plan<'_>, entry: &MergeEntry, settings: &Settings) {
    let state = plan.state;
    let attempt = plan.attempt(&entry.agent);
    let Some(base) = attempt.and_then(|attempt| attempt.base.clone()) else {
        return;
    };
    let seen = state.swarm.target.as_ref();
    plan.request(effect::BuildMerge {
        idea: entry.idea.clone(),
        branch: entry.branch.clone(),
        source: entry.source.clone(),
        base,
        rolled_back: rolled_back(state),
        target: settings.target.clone(),
        known_target: seen
            .filter(|seen| seen.branch == settings.target)
            .map(|seen| seen.commit.clone()),
        rebase: state.swarm.rebase,
        title: title_of(state, &entry.idea),
        at: plan.now,
    });
}

/// Where the target was before each rollback.
fn rolled_back(state: &State) -> Vec<Oid> {
    let of_rollbacks = |checkpoint: &&Checkpoint| checkpoint.reason == Reason::BeforeRollback;
    let checkpoints = state.checkpoints.values().filter(of_rollbacks);
    checkpoints
        .map(|checkpoint| checkpoint.commit.clone())
        .collect()
}

/// First line of an idea's text without heading marks, at most 60 characters.
pub(crate) fn title_of(state: &State, id: &IdeaId) -> String {
    let edited = state
        .attempt_at(id)
        .and_then(|(_, attempt)| attempt.text.as_deref());
    let now = state.ideas.get(id).map_or("", |idea| &idea.text);
    // The attempt worked on the text it was given.
    let text = edited.unwrap_or(now);
    // Heading marks are useless in a subject line.
    let lines = text
        .lines()
        .map(|line| line.trim().trim_start_matches('#').trim_start());
    let line = lines.into_iter().find(|line| !line.is_empty());
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

/// Runs the setup, if it is due, and the quality commands on the merged tree, unless the same two
/// commits passed before.
pub(crate) fn verify(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let Some(entry) = idle_in(state, MergePhase::Verifying) else {
        return;
    };
    let Some(command) = next_check(entry, settings) else {
        plan.move_merge(&entry.idea, MergeInput::Verified);
        return;
    };
    let due = entry.setup.as_deref();
    if !may_merge(state) || state.is_command_broken(due, entry.verify_next) {
        plan.move_merge(&entry.idea, MergeInput::Requeue);
    } else if let (true, Some(due)) = (entry.checked_out, due) {
        let idea = entry.idea.clone();
        setup::start(plan, SetupTree::Merged { idea }, due, settings);
    } else if entry.checked_out {
        start_verify(plan, entry, command, settings);
    } else if let Some(commit) = &entry.commit {
        plan.request(effect::PrepareVerify {
            idea: entry.idea.clone(),
            commit: commit.clone(),
        });
    }
}

/// Next command that the merged tree must pass.
pub(super) fn next_check<'a>(entry: &MergeEntry, settings: &'a Settings) -> Option<&'a String> {
    let command = settings.quality_commands.get(entry.verify_next);
    command.filter(|_| settings.verify && !is_verified(entry))
}

fn is_verified(entry: &MergeEntry) -> bool {
    let target = entry.target.as_ref();
    target.is_some_and(|target| entry.is_verified_on(target))
}

fn start_verify(plan: &mut Plan<'_>, entry: &MergeEntry, command: &str, settings: &Settings) {
    let index = entry.verify_next;
    let run = plan.run_id(&format!("{}-v{}", entry.idea, index + 1));
    plan.emit(VerifyStarted {
        id: entry.idea.clone(),
        index,
        run: run.clone(),
    });
    let purpose = Purpose::Verify {
        idea: entry.idea.clone(),
        index,
        command: command.to_owned(),
    };
    plan.request_run(run, purpose, settings.quality_timeout_ms);
}

/// Lands verified work, even while draining. A checkpoint in progress must see one moment, so
/// landing waits for it.
pub(crate) fn land(plan: &mut Plan<'_>, settings: &Settings) {
    if plan.state.is_pending(Effect::is_checkpoint) {
        return;
    }
    let Some(entry) = idle_in(plan.state, MergePhase::Landing) else {
        return;
    };
    if next_check(entry, settings).is_some() || plan.state.holds_landings() {
        // It waited for a checkpoint, or the log was torn here, and the quality commands have
        // changed since.
        plan.move_merge(&entry.idea, MergeInput::Requeue);
        return;
    }
    if !hooks::may_land(plan, entry, settings) {
        return;
    }
    if let (Some(commit), Some(target)) = (&entry.commit, &entry.target) {
        plan.request(effect::Land {
            idea: entry.idea.clone(),
            target: settings.target.clone(),
            expected: target.clone(),
            commit: commit.clone(),
        });
    }
}

/// Prepares conflicts in their worktrees and finishes them after the resolver; merges the target
/// into work that was given back.
pub(crate) fn settle(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let merging = may_merge(state);
    for (agent, attempt) in &state.agents {
        if attempt.ending.is_some() || state.is_under_way(agent, &attempt.idea) {
            continue;
        }
        match (state.entry(&attempt.idea), &attempt.catch_up) {
            (Some(entry), _) if merging => settle_entry(plan, entry, (agent, attempt), settings),
            // It was given back, but the log was torn before its attempt was told.
            (None, _) if attempt.phase == AttemptPhase::ReadyToMerge => {
                plan.move_attempt(agent, AttemptInput::Returned);
            }
            (None, Some(target)) if merging && attempt.phase == AttemptPhase::Backoff => {
                lay_out(plan, (agent, attempt), target, settings);
            }
            _ => {}
        }
    }
}

fn settle_entry(
    plan: &mut Plan<'_>,
    entry: &MergeEntry,
    (agent, attempt): (&AgentId, &Attempt),
    settings: &Settings,
) {
    let conflicted = matches!(entry.phase, MergePhase::Resolver | MergePhase::Person);
    match &entry.conflict {
        Some(conflict) if conflicted && !entry.laid_out && entry.waits.is_none() => {
            lay_out(plan, (agent, attempt), &conflict.target, settings);
        }
        Some(_) if entry.phase == MergePhase::Resolver && is_resolved(attempt) => {
            request_finish(plan, attempt);
        }
        _ => {}
    }
}

/// Whether its resolver has reported that it is done.
fn is_resolved(attempt: &Attempt) -> bool {
    attempt.phase == AttemptPhase::ReadyToMerge
}

/// Merges the target into the attempt's worktree, which is made again first if it is lent.
fn lay_out(
    plan: &mut Plan<'_>,
    (agent, attempt): (&AgentId, &Attempt),
    target: &Oid,
    settings: &Settings,
) {
    if attempt.lent().is_some() {
        return lending::take_back(plan, agent, attempt, settings);
    }
    plan.request(effect::StartResolution {
        idea: attempt.idea.clone(),
        branch: attempt.branch.clone(),
        worktree: attempt.worktree.clone(),
        target: target.clone(),
        source: entry_of(plan, attempt).map(|entry| entry.source.clone()),
        at: plan.now,
    });
}

fn entry_of<'a>(plan: &'a Plan<'_>, attempt: &Attempt) -> Option<&'a MergeEntry> {
    let mut queue = plan.state.queue.iter();
    queue.find(|entry| entry.idea == attempt.idea)
}

/// Finishes the merge in the worktree.
pub(crate) fn request_finish(plan: &mut Plan<'_>, attempt: &Attempt) {
    let entry = entry_of(plan, attempt);
    let target = entry.and_then(|entry| Some(entry.conflict.as_ref()?.target.clone()));
    let source = entry.map(|entry| entry.source.clone());
    plan.request(effect::FinishResolution {
        idea: attempt.idea.clone(),
        branch: attempt.branch.clone(),
        worktree: attempt.worktree.clone(),
        target,
        source,
        at: plan.now,
    });
}
