//! Folds events about the swarm as a whole: its phase, settings, target, warnings, effects,
//! repairs.

use std::collections::BTreeMap;

use super::idea::{audit, is_done, unused, with_idea};
use super::{attempt, baseline, checks, records, setup};
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::{
    AttemptEnded, DaemonStarted, EffectFinished, EffectRequested, MachineSlept, ModeSet, PauseSet,
    PhaseChanged, SettingsLoaded, StateRepaired, TargetRewritten, TargetSeen, WarningRaised,
};
use crate::domain::ids::{IdeaId, Oid, RunId};
use crate::domain::operation::InboxFile;
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::baseline::Baseline;
use crate::domain::state::checkpoint::Reason;
use crate::domain::state::{AttemptEnd, IdeaStatus, Owed, Slept, State, UnusedWorktree, Warning};
use crate::domain::time::Timestamp;

/// Number of times at which the machine slept that are remembered.
const SLEEPS_KEPT: usize = 20;

/// A new daemon retries the cleanup that failed before, and looks at the target again.
pub(super) fn start(state: &mut State, at: Timestamp, started: &DaemonStarted) {
    if let Some(counters) = started.counters {
        state.counters = state.counters.at_least(counters);
    }
    if let Some(host) = &started.host {
        let before = std::mem::replace(&mut state.swarm.host, host.clone());
        if host.worktrees_new {
            state.setups.clear();
        }
        baseline::change_environment(state, at, before.environment, host.environment.as_ref());
    }
    // Somebody may have moved the target while no daemon ran.
    state.swarm.baseline.green = false;
    let owed = &mut state.owed;
    owed.worktrees.append(&mut owed.worktrees_failed);
    owed.inbox.append(&mut owed.inbox_failed);
}

pub(super) fn change_phase(state: &mut State, changed: &PhaseChanged) {
    state.swarm.phase = changed.phase;
    state.swarm.drain_deadline = changed.deadline;
}

pub(super) fn pause(state: &mut State, pause: &PauseSet) {
    state.swarm.paused = true;
    state.swarm.pause_reason = Some(pause.reason.clone());
    if pause.command.is_some() {
        state.swarm.broken_command.clone_from(&pause.command);
    }
}

pub(super) fn lift_pause(state: &mut State) {
    state.swarm.paused = false;
    state.swarm.pause_reason = None;
    state.swarm.failures_in_a_row = 0;
    state.swarm.gave_up = None;
    state.swarm.held_until = None;
    state.swarm.broken_command = None;
}

/// A changed gate starts again: commands that passed belonged to another gate.
pub(super) fn load_settings(state: &mut State, at: Timestamp, loaded: &SettingsLoaded) {
    let SettingsLoaded { hash, settings } = loaded;
    state.config_hash.clone_from(hash);
    // The change may be what makes the command work.
    state.swarm.broken_command = None;
    let before = state.settings.replace(settings.clone());
    autopilot_off(state);
    let Some(before) = before else {
        return;
    };
    configure_baseline(state, at, &before, settings);
    checks::configure(state, &before, settings);
    setup::configure(state, &before, settings);
    let same = before.quality_commands == settings.quality_commands;
    if same && before.verify == settings.verify {
        return;
    }
    for attempt in state.agents.values_mut().filter(|_| !same) {
        attempt.gate_next = 0;
    }
    for entry in &mut state.queue {
        entry.verify_next = 0;
        entry.verified = None;
    }
}

/// Other setup or quality commands or another target must be checked anew. Any other change may
/// have fixed what failed.
fn configure_baseline(state: &mut State, at: Timestamp, before: &Settings, now: &Settings) {
    let same = before.quality_commands == now.quality_commands
        && before.setup == now.setup
        && before.target == now.target
        && before.baseline == now.baseline;
    if same {
        state.swarm.baseline.failed = None;
    } else {
        checks::outage::end(state, at);
        state.swarm.baseline = Baseline::default();
    }
}

pub(super) fn set_mode(state: &mut State, set: &ModeSet) {
    state.swarm.mode_override = set.mode;
    autopilot_off(state);
}

/// The next start of autopilot needs its checkpoint again.
fn autopilot_off(state: &mut State) {
    state.swarm.autopilot_checkpoint &= state.mode() == Mode::Autopilot;
}

/// Adopts the new history. What an earlier rewrite lost stays missing until somebody chooses.
pub(super) fn rewrite_target(state: &mut State, at: Timestamp, rewritten: &TargetRewritten) {
    let TargetRewritten { to, dropped, .. } = rewritten;
    if let Some(target) = &mut state.swarm.target {
        target.commit = to.clone();
    }
    baseline::see_target(state, to);
    state.swarm.rebase = true;
    for id in dropped {
        with_idea(state, id, at, |idea| {
            audit(idea, at, "dropped_by_rewrite", to.as_str());
        });
    }
    if dropped.is_empty() {
        return;
    }
    let before = state.swarm.rewritten.replace(rewritten.clone());
    if let (Some(before), Some(now)) = (before, &mut state.swarm.rewritten) {
        let earlier = before.dropped.into_iter();
        now.dropped
            .extend(earlier.filter(|id| !dropped.contains(id)));
    }
}

pub(super) fn see_target(state: &mut State, seen: &TargetSeen) {
    state.swarm.target = Some(seen.clone());
    baseline::see_target(state, &seen.commit);
}

pub(super) fn raise_warning(state: &mut State, at: Timestamp, raised: &WarningRaised) {
    let warning = Warning {
        message: raised.message.clone(),
        commands: raised.commands.clone(),
        since: at,
    };
    state.warnings.insert(raised.key.clone(), warning);
}

/// The owed cleanup is now requested; a run that was asked to stop is remembered.
pub(super) fn request(state: &mut State, requested: &EffectRequested) {
    let EffectRequested { id, effect } = requested;
    state.counters.effects = state.counters.effects.max(id.0);
    if let Effect::Run(run) = effect {
        checks::begin_run(state, run);
    }
    match effect {
        Effect::StopRun(effect::StopRun { run, now }) => {
            let asked = state.stops.entry(run.clone()).or_default();
            *asked |= *now;
        }
        Effect::ReleaseWorktree(effect::ReleaseWorktree { worktree, .. }) => {
            let other = |unused: &UnusedWorktree| unused.worktree != *worktree;
            state.owed.worktrees.retain(other);
        }
        Effect::ArchiveInbox(effect::ArchiveInbox { name, sha256 }) => {
            let other = |file: &InboxFile| file.name != *name || file.sha256 != *sha256;
            state.owed.inbox.retain(other);
        }
        // The request is enough: a checkpoint that fails is a warning, not a reason to repeat it.
        Effect::MakeCheckpoint(effect::MakeCheckpoint { reason, .. }) => match reason {
            Reason::Periodic => state.swarm.landed_since_checkpoint = 0,
            Reason::BeforeAutopilot => state.swarm.autopilot_checkpoint = true,
            Reason::Manual | Reason::BeforeRollback => {}
        },
        // No event before this one announces the run.
        Effect::Run(run) if matches!(run.purpose, Purpose::Synthesis { .. }) => {
            state.counters.runs += 1;
        }
        Effect::Run(run) if matches!(run.purpose, Purpose::Replay { .. }) => {
            records::begin_replay(state, &run.run);
        }
        Effect::PrepareWorktree(_)
        | Effect::Run(_)
        | Effect::Seal(_)
        | Effect::SaveWork(_)
        | Effect::BuildMerge(_)
        | Effect::PrepareVerify(_)
        | Effect::PrepareBaseline(_)
        | Effect::Land(_)
        | Effect::StartResolution(_)
        | Effect::FinishResolution(_)
        | Effect::LendWorktree(_)
        | Effect::DeleteCheckpoint(_)
        | Effect::CheckRollback(_)
        | Effect::MoveTarget(_)
        | Effect::Notify(_)
        | Effect::JudgeReplay(_) => {}
    }
    state.outbox.insert(*id, effect.clone());
}

pub(super) fn finish(state: &mut State, finished: &EffectFinished) {
    let Some(effect) = state.outbox.remove(&finished.id) else {
        return;
    };
    if let Effect::Run(effect::Run { run, .. }) = &effect {
        state.stops.remove(run);
        checks::finish_run(state, run);
    }
    if finished.error.is_some() {
        tidying_failed(&mut state.owed, effect);
    }
}

fn tidying_failed(owed: &mut Owed, effect: Effect) {
    match effect {
        Effect::ReleaseWorktree(effect::ReleaseWorktree {
            worktree,
            branch,
            landed,
            ..
        }) => owed.worktrees_failed.push(UnusedWorktree {
            worktree,
            branch,
            landed,
        }),
        Effect::ArchiveInbox(effect::ArchiveInbox { name, sha256 }) => {
            owed.inbox_failed.push(InboxFile { name, sha256 });
        }
        Effect::PrepareWorktree(_)
        | Effect::Run(_)
        | Effect::StopRun(_)
        | Effect::Seal(_)
        | Effect::SaveWork(_)
        | Effect::BuildMerge(_)
        | Effect::PrepareVerify(_)
        | Effect::PrepareBaseline(_)
        | Effect::Land(_)
        | Effect::StartResolution(_)
        | Effect::FinishResolution(_)
        | Effect::LendWorktree(_)
        | Effect::MakeCheckpoint(_)
        | Effect::DeleteCheckpoint(_)
        | Effect::CheckRollback(_)
        | Effect::MoveTarget(_)
        | Effect::Notify(_)
        | Effect::JudgeReplay(_) => {}
    }
}

pub(super) fn repair(state: &mut State, at: Timestamp, repaired: &StateRepaired) {
    state.counters = state.counters.at_least(repaired.floors);
    for found in &repaired.landed {
        find_landing(state, at, &found.idea, &found.commit);
    }
}

/// Ends the work on an idea whose landing was found on the target. The worktree is released like an
/// abandoned one and everything in it is kept: the landed commit may be newer than the log.
fn find_landing(state: &mut State, at: Timestamp, id: &IdeaId, commit: &Oid) {
    let Some(kept) = state.ideas.change(id, |idea| idea.kept.take()) else {
        return;
    };
    state.queue.retain(|entry| entry.idea != *id);
    if let Some(agent) = state.attempt_at(id).map(|(agent, _)| agent.clone()) {
        state
            .outbox
            .retain(|_, effect| !effect.works_for(&agent, id));
        let ended = AttemptEnded {
            agent: agent.clone(),
            end: AttemptEnd::Merged,
            status: IdeaStatus::Done,
            message: None,
            not_before: None,
            keep_worktree: false,
        };
        attempt::end::end(state, at, &ended);
        for unused in &mut state.owed.worktrees {
            if state
                .ended
                .get(&agent)
                .is_some_and(|ended| ended.branch == unused.branch)
            {
                unused.landed = None;
            }
        }
    }
    state
        .owed
        .worktrees
        .extend(kept.and_then(|kept| unused(*kept)));
    let of_run = |effects: &BTreeMap<_, Effect>, run: &RunId| {
        effects.values().any(
            |effect| matches!(effect, Effect::Run(effect::Run { run: this, .. }) if this == run),
        )
    };
    let outbox = &state.outbox;
    state.stops.retain(|run, _| of_run(outbox, run));
    with_idea(state, id, at, |idea| is_done(idea, at, commit));
}

pub(super) fn sleep(state: &mut State, at: Timestamp, slept: &MachineSlept) {
    let all = &mut state.swarm.slept;
    if all.len() >= SLEEPS_KEPT {
        all.remove(0);
    }
    all.push(Slept {
        until: at,
        seconds: slept.seconds,
    });
}
