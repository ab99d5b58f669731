//! Tells whether anything can still happen without a person.

use serde::{Deserialize, Serialize};

use crate::domain::effect::Effect;
use crate::domain::ids::ProfileName;
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::scheduling;
use crate::domain::settings::Settings;
use crate::domain::state::worktrees::WorktreesHold;
use crate::domain::state::{MergeEntry, State};

/// Whether anything can still happen without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rest {
    /// Something is active, ready or merging.
    Busy,
    /// Some work is left, but it cannot continue without a person.
    NeedsPerson,
    /// Nothing is active, ready or merging.
    Idle,
}

/// Whether anything can still happen without a person. A notice that the webhook has not been sent
/// once counts; one that waits to be sent again does not.
pub fn rest(state: &State) -> Rest {
    match work_left(state) {
        Rest::NeedsPerson | Rest::Idle if is_notice_due(state) => Rest::Busy,
        rest @ (Rest::Busy | Rest::NeedsPerson | Rest::Idle) => rest,
    }
}

fn is_notice_due(state: &State) -> bool {
    let oldest = state.attention.outgoing.first();
    oldest.is_some_and(|notice| notice.tries == 0)
}

/// [`rest`] of the work and its hooks, without notices to the webhook.
pub fn work_left(state: &State) -> Rest {
    let owed = !state.owed.is_empty() || !state.hooks.is_empty();
    if owed || !state.outbox.values().all(Effect::is_notice) {
        return Rest::Busy;
    }
    match (replay_left(state), ideas_left(state)) {
        (Rest::Busy, _) | (_, Rest::Busy) => Rest::Busy,
        (Rest::NeedsPerson, _) | (_, Rest::NeedsPerson) => Rest::NeedsPerson,
        (Rest::Idle, Rest::Idle) => Rest::Idle,
    }
}

/// [`rest`] of the replay alone: one that waits begins only while the swarm runs.
fn replay_left(state: &State) -> Rest {
    let Some(replay) = &state.records.replay else {
        return Rest::Idle;
    };
    let running = matches!(
        state.swarm.phase,
        SwarmPhase::Running | SwarmPhase::Recovering
    );
    let held = is_held_for_person(state, |_| &replay.profile);
    if replay.waits() && (!running || held) {
        Rest::NeedsPerson
    } else {
        Rest::Busy
    }
}

/// [`rest`] of the ideas alone: hooks and cleanup do not count.
pub fn ideas_left(state: &State) -> Rest {
    let running = matches!(
        state.swarm.phase,
        SwarmPhase::Running | SwarmPhase::Recovering
    );
    // Landed work is missing.
    let mut left = state.swarm.rewritten.is_some();
    let (red, held) = (is_target_red(state), are_worktrees_held(state));
    for attempt in state.agents.values() {
        match attempt.phase {
            // Its entry in the merge queue decides.
            AttemptPhase::ReadyToMerge => {}
            AttemptPhase::WaitingForHuman => left = true,
            AttemptPhase::Backoff
                if attempt.ending.is_none()
                    && (!running
                        || (red && state.holds_iterations())
                        || is_held_for_person(state, |all| all.profile_of(attempt))) =>
            {
                left = true;
            }
            AttemptPhase::Preparing | AttemptPhase::Gating if state.waits_for_command(attempt) => {
                left = true;
            }
            // The target is checked only while the swarm runs.
            AttemptPhase::Gating if (red || !running) && state.waits_for_target(attempt) => {
                left = true;
            }
            AttemptPhase::Gating if held && state.waits_to_be_sealed(attempt) => left = true,
            AttemptPhase::Queued
            | AttemptPhase::Preparing
            | AttemptPhase::Starting
            | AttemptPhase::Working
            | AttemptPhase::Gating
            | AttemptPhase::Stopping
            | AttemptPhase::Backoff
            | AttemptPhase::Merged
            | AttemptPhase::Failed
            | AttemptPhase::Released => return Rest::Busy,
        }
    }
    for entry in &state.queue {
        if !waits_for_person(state, entry) {
            return Rest::Busy;
        }
        left = true;
    }
    let red = red && state.awaits_baseline();
    let blind = state.blind_checks().is_some() || held;
    for (_, idea) in state.ideas.open() {
        if !scheduling::is_ready(state, idea) {
            continue;
        }
        if running && !red && !blind && !is_held_for_person(state, |all| all.profile_for(idea)) {
            return Rest::Busy;
        }
        left = true;
    }
    if left { Rest::NeedsPerson } else { Rest::Idle }
}

/// Whether no worktree can be made, which hardly ends without a person.
fn are_worktrees_held(state: &State) -> bool {
    let held = state.swarm.worktrees_held.as_ref();
    held.is_some_and(WorktreesHold::waits_for_person)
}

/// Whether work waits for somebody to mend the target. What is broken outside the repository may
/// come back by itself.
fn is_target_red(state: &State) -> bool {
    let failed = state.red_baseline();
    failed.is_some_and(|failed| !failed.environment)
}

/// Whether the profile or its account is on hold, and hardly ends that without a person.
fn is_held_for_person<'a>(
    state: &'a State,
    profile: impl Fn(&'a Settings) -> &'a ProfileName,
) -> bool {
    let settings = state.settings.as_deref();
    settings.is_some_and(|all| state.is_held_for_person(all, profile(all)))
}

/// Whether the whole merge queue waits for a person.
fn blocks_queue(state: &State) -> bool {
    let verifies = state.settings.as_deref().is_some_and(|all| all.verify);
    verifies && state.is_gate_broken()
}

/// Whether an entry of the merge queue cannot continue without a person. The ideas that it waits
/// for are judged on their own.
fn waits_for_person(state: &State, entry: &MergeEntry) -> bool {
    let asked = entry.waits.as_ref().is_some_and(|waits| waits.person);
    let stuck = blocks_queue(state) && !entry.phase.is_busy();
    let locked = !scheduling::is_idea_unlocked(state, &entry.idea) && !entry.phase.is_busy();
    // The target is checked only while the swarm runs.
    let running = matches!(
        state.swarm.phase,
        SwarmPhase::Running | SwarmPhase::Recovering
    );
    let checks = running && !is_target_red(state);
    let red = state.is_held_by_target(entry) && !checks;
    // So are they probed.
    let blind = !entry.phase.is_busy()
        && (state.blind_checks().is_some() || (state.awaits_probe() && !running));
    let attempt = state.agents.get(&entry.agent);
    let at_boundary = attempt.is_some_and(|attempt| attempt.phase == AttemptPhase::Backoff);
    match entry.phase {
        MergePhase::Person => true,
        // Its resolver waits for the end of a pause; in a running swarm this phase does not last.
        MergePhase::Resolver => at_boundary,
        MergePhase::Queued | MergePhase::Building | MergePhase::Verifying | MergePhase::Landing => {
            entry.held || asked || stuck || locked || red || blind
        }
    }
}
