//! The swarm as a whole: start, pause, resume, settings, shutdown.
//!
//! Invariant: a command that is repeated changes nothing. Called by [`super::command`] and
//! [`super::observation`].

use super::attempt::provider;
use super::baseline;
use super::blame;
use super::budget::unpriced;
use super::checkpoints::rolling_back;
use super::decision::{Plan, shorten};
use super::environment_faults::{broken_commands, worktrees};
use super::merge::commands;
use super::setup;
use crate::domain::event::{DaemonStarted, ModeSet, PauseLifted, PauseSet, SettingsLoaded};
use crate::domain::lifecycle::{SwarmInput, SwarmPhase};
use crate::domain::observation::Host;
use crate::domain::rejection::Rejection;
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::Counters;
use crate::domain::state::provider::HoldKind;
use crate::domain::warning::WarningKind;

pub(super) fn started(
    plan: &mut Plan<'_>,
    version: &str,
    counters: Option<Counters>,
    host: Option<&Host>,
) {
    plan.emit(DaemonStarted {
        version: version.to_owned(),
        counters,
        host: host.cloned(),
    });
    // A start is legal in every phase; see the state machine.
    let moved = plan.move_swarm(SwarmInput::Start, None, None);
    debug_assert!(moved.is_ok());
    // Somebody may have fixed the cause before starting again.
    provider::free(plan, |hold| {
        matches!(
            hold.kind,
            HoldKind::Login | HoldKind::Credit | HoldKind::Profile
        )
    });
    worktrees::free(plan);
    commands::look_again(plan);
    baseline::check_again(plan);
    blame::forget_held_ports(plan);
    // Records that are owed are tried again at once.
    plan.clear_warning(WarningKind::Records.only());
    plan.clear_warning(WarningKind::WorktreesFolder.only());
}

pub(super) fn recovered(plan: &mut Plan<'_>) {
    let paused = plan.state.swarm.paused;
    let reason = plan.state.swarm.pause_reason.as_deref();
    if plan.state.rollback.is_some() {
        if plan.state.swarm.phase == SwarmPhase::Recovering {
            let moved =
                plan.move_swarm(SwarmInput::RollBack, Some("continuing the rollback"), None);
            debug_assert!(moved.is_ok());
        }
        return;
    }
    // Any other phase means that somebody already requested a shutdown.
    if plan.state.swarm.phase == SwarmPhase::Recovering {
        let moved = plan.move_swarm(SwarmInput::Recovered { paused }, reason, None);
        debug_assert!(moved.is_ok());
    }
}

pub(super) fn pause(plan: &mut Plan<'_>, reason: Option<&str>) -> Result<(), Rejection> {
    if plan.state.rollback.is_some() {
        return Err(rolling_back("pause"));
    }
    // If repeated without a reason, the known reason says more.
    let known = plan.state.swarm.pause_reason.as_deref();
    let reason = shorten(reason.or(known).unwrap_or("paused by hand"));
    set_pause(plan, reason, None)
}

/// Pauses the swarm because a quality command cannot run; it does not run again until then.
pub(super) fn pause_for_command(
    plan: &mut Plan<'_>,
    reason: &str,
    command: &str,
) -> Result<(), Rejection> {
    if plan.state.rollback.is_some() {
        return Err(rolling_back("pause"));
    }
    set_pause(plan, shorten(reason), Some(command.to_owned()))
}

fn set_pause(
    plan: &mut Plan<'_>,
    reason: String,
    command: Option<String>,
) -> Result<(), Rejection> {
    plan.move_swarm(SwarmInput::Pause, Some(&reason), None)
        .map_err(|refused| later(plan, "pause", refused))?;
    let swarm = &plan.state.swarm;
    let is_new = command.is_some() && swarm.broken_command != command;
    if is_new || swarm.pause_reason.as_ref() != Some(&reason) {
        plan.emit(PauseSet { reason, command });
    }
    Ok(())
}

/// Why a pause or resume is impossible while a daemon starts or shuts down, and when to repeat it.
fn later(plan: &Plan<'_>, what: &str, refused: Rejection) -> Rejection {
    let (why, instead) = match plan.state.swarm.phase {
        SwarmPhase::Recovering => (
            "the daemon has just started and is checking what was left",
            format!("try again in a moment: swarm {what}"),
        ),
        SwarmPhase::Draining | SwarmPhase::Stopped => (
            "the daemon is shutting down",
            format!("start it again (swarm start), then: swarm {what}"),
        ),
        SwarmPhase::Running
        | SwarmPhase::Pausing
        | SwarmPhase::Paused
        | SwarmPhase::RollingBack => return refused,
    };
    Rejection::NotNow {
        what: what.to_owned(),
        why: why.to_owned(),
        instead: Some(instead),
    }
}

pub(super) fn resume(plan: &mut Plan<'_>) -> Result<(), Rejection> {
    if plan.state.rollback.is_some() {
        return Err(rolling_back("resume"));
    }
    plan.move_swarm(SwarmInput::Resume, None, None)
        .map_err(|refused| later(plan, "resume", refused))?;
    provider::free(plan, |_| true);
    worktrees::free(plan);
    baseline::check_again(plan);
    if plan.state.swarm.paused {
        setup::start_over(plan);
        plan.emit(PauseLifted {});
    }
    Ok(())
}

pub(super) fn load(plan: &mut Plan<'_>, hash: &str, settings: &Settings) {
    let same = plan.state.settings.as_deref() == Some(settings);
    if !same || plan.state.config_hash != hash {
        unpriced::configured(plan);
        broken_commands::configured(plan);
        // What makes them collide may have been in the configuration.
        plan.clear_warning(WarningKind::Collision.only());
        provider::free(plan, |hold| hold.kind == HoldKind::Profile);
        worktrees::free(plan);
        plan.emit(SettingsLoaded {
            hash: hash.to_owned(),
            settings: Box::new(settings.clone()),
        });
    }
}

/// Sets the mode; the mode of the configuration needs no override.
pub(super) fn set_mode(plan: &mut Plan<'_>, mode: Mode) {
    let settings = plan.state.settings.as_ref();
    let configured = settings.is_some_and(|settings| settings.mode == mode);
    let mode = (!configured).then_some(mode);
    if plan.state.swarm.mode_override != mode {
        plan.emit(ModeSet { mode });
    }
}

/// Starts the shutdown. With `keep_agents` nothing is drained: runs continue under their runners,
/// and the outbox tells the next start.
pub(super) fn shutdown(plan: &mut Plan<'_>, keep_agents: bool) -> Result<(), Rejection> {
    if keep_agents && plan.state.swarm.phase == SwarmPhase::Stopped {
        return Ok(());
    }
    if keep_agents {
        return plan.move_swarm(
            SwarmInput::Leave,
            Some("stopped; agents keep running"),
            None,
        );
    }
    let grace = plan
        .state
        .settings
        .as_ref()
        .map_or(0, |settings| settings.grace_ms);
    let deadline = plan.now.plus_millis(grace);
    plan.move_swarm(SwarmInput::Shutdown, None, Some(deadline))
}

/// Ends the wait for agents, even if it has not started.
pub(super) fn shutdown_now(plan: &mut Plan<'_>) -> Result<(), Rejection> {
    plan.end_swarm_by(plan.now)
}
