//! Decides what follows from an input: `(&State, &Input, now) -> Result<Vec<Event>, Rejection>`,
//! one file per family of inputs. Rules that need only the state and the time are in
//! [`mod@advance`].
//!
//! Invariant: pure; the same state, input and time give the same events. An observation is never
//! refused: one about something that has ended is ignored.

pub mod advance;
mod agents;
mod attempt;
mod broken_commands;
mod budget;
mod checkpoints;
mod decision;
mod environment_faults;
pub(crate) mod hooks;
mod ideas;
mod merge;
mod redirect;
mod rollback;
mod swarm;

pub use checkpoints::unknown as unknown_checkpoint;

use super::command::Command;
use super::effect::{self, Effect, Purpose};
use super::event::{ClockWentBack, EffectFinished, Event};
use super::ids::{EffectId, RunId};
use super::observation::{FailureKind, Observation, Outcome};
use super::rejection::Rejection;
use super::state::State;
use super::time::Timestamp;

pub use advance::{advance, next_deadline};
/// Key prefix of the warning about git repositories that an agent created; the worktree's name
/// follows.
pub const KEPT_ASIDE: &str = "kept-aside-";

use decision::{Plan, shorten};
pub use ideas::MAX_TEXT_BYTES;
pub use merge::conflict::DROPPED_CHANGES;

/// Decides on a command of a person or agent.
pub fn command(state: &State, command: &Command, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let mut plan = Plan::new(state, now);
    match command {
        Command::AddIdea(new) => ideas::add(&mut plan, new)?,
        Command::EditIdea { id, edit } => ideas::edit(&mut plan, id, edit)?,
        Command::RetryIdea { id } => ideas::retry(&mut plan, id)?,
        Command::CancelIdea { id } => ideas::cancel(&mut plan, id)?,
        Command::AssignIdea { id, profile } => ideas::assign(&mut plan, id, profile.as_ref())?,
        Command::StopAgent { id } => agents::stop(&mut plan, id)?,
        Command::RedirectAgent {
            id,
            idea,
            new_worktree,
        } => redirect::request(&mut plan, id, idea, *new_worktree)?,
        Command::SayToAgent { id, text } => agents::say(&mut plan, id, text)?,
        Command::Pause { reason } => swarm::pause(&mut plan, reason.as_deref())?,
        Command::Resume => swarm::resume(&mut plan)?,
        Command::RetryMerge { id } => merge::outcomes::retry(&mut plan, id)?,
        Command::ResolveMerge { id } => merge::outcomes::resolve(&mut plan, id)?,
        Command::SettleTarget { choice } => merge::outcomes::settle_target(&mut plan, *choice)?,
        Command::CreateCheckpoint { name } => checkpoints::create(&mut plan, name)?,
        Command::DeleteCheckpoint { name } => checkpoints::delete(&mut plan, name)?,
        Command::RollBack { name, pause, from } => {
            rollback::begin(&mut plan, name, *pause, from.as_ref())?;
        }
        Command::ApproveHook { hook, content } => hooks::approve(&mut plan, *hook, content),
        Command::LoadSettings { hash, settings } => swarm::load(&mut plan, hash, settings),
        Command::SetMode { mode } => swarm::set_mode(&mut plan, *mode),
        Command::Shutdown { keep_agents } => swarm::shutdown(&mut plan, *keep_agents)?,
        Command::ShutdownNow => swarm::shutdown_now(&mut plan)?,
    }
    Ok(plan.events)
}

/// Decides on an observation of the shell.
pub fn observation(state: &State, seen: &Observation, now: Timestamp) -> Vec<Event> {
    let mut plan = Plan::new(state, now);
    match seen {
        Observation::DaemonStarted { version } => swarm::started(&mut plan, version),
        Observation::RecoveryDone => swarm::recovered(&mut plan),
        Observation::RunStarted {
            run,
            pid,
            adapter,
            resumed,
        } => attempt::outcomes::run_started(&mut plan, run, *pid, adapter, *resumed),
        Observation::SignalSeen {
            run,
            offset,
            signal,
        } => attempt::signals::seen(&mut plan, run, *offset, signal),
        Observation::SessionSeen { run, session } => {
            attempt::provider::session_seen(&mut plan, run, session);
        }
        Observation::ModelAnswered { run } => attempt::provider::answered(&mut plan, run),
        Observation::UsageSeen { run, usage } => budget::seen(&mut plan, run, usage),
        Observation::EffectDone { effect, outcome } => effect_done(&mut plan, *effect, outcome),
        Observation::ClockWentBack { by_ms } => plan.emit(ClockWentBack { by_ms: *by_ms }),
        Observation::Trouble { key, message } => plan.warn(key, message),
        Observation::TroubleOver { key } => plan.clear_warning(key),
        Observation::Tick => {}
    }
    plan.events
}

/// Handles an outcome: what follows from it, then `effectFinished`. An effect that is not in the
/// outbox has finished before.
fn effect_done(plan: &mut Plan<'_>, id: EffectId, outcome: &Outcome) {
    let Some(effect) = plan.state.outbox.get(&id) else {
        return;
    };
    let mismatch;
    let outcome = if fits(effect, outcome) {
        outcome
    } else {
        mismatch = Outcome::Failed {
            kind: FailureKind::Other,
            message: format!("this cannot be the outcome of {id}: {outcome:?}"),
        };
        &mismatch
    };
    follow(plan, effect, outcome);
    let error = match outcome {
        Outcome::Failed { message, .. } => Some(shorten(message)),
        _ => None,
    };
    plan.emit(EffectFinished { id, error });
}

/// Whether the outcome belongs to this kind of effect.
fn fits(effect: &Effect, outcome: &Outcome) -> bool {
    use Outcome as O;
    match (effect, outcome) {
        (_, O::Failed { .. })
        | (Effect::PrepareWorktree(_), O::WorktreePrepared { .. })
        | (Effect::Run(_), O::RunEnded(_))
        | (Effect::StopRun(_), O::StopDelivered | O::Done)
        | (Effect::Seal(_), O::Sealed { .. } | O::Unsealable { .. })
        | (Effect::SaveWork(_), O::WorkSaved { .. } | O::Unsealable { .. })
        | (Effect::PrepareVerify(_), O::VerifyReady)
        | (Effect::StartResolution(_), O::ResolutionStarted { .. })
        | (Effect::ReleaseWorktree(_), O::Released { .. })
        | (Effect::ArchiveInbox(_), O::Done) => true,
        (Effect::BuildMerge(_), outcome) => matches!(
            outcome,
            O::Built { .. }
                | O::NothingToMerge { .. }
                | O::Conflicted { .. }
                | O::BroughtOver { .. }
                | O::TargetRewritten { .. }
        ),
        (Effect::Land(_), outcome) => matches!(
            outcome,
            O::Landed | O::TargetMoved { .. } | O::CheckoutBlocked { .. }
        ),
        (Effect::MakeCheckpoint(_), outcome) => matches!(outcome, O::CheckpointMade(_)),
        (Effect::DeleteCheckpoint(_), outcome) => matches!(outcome, O::Done),
        (Effect::CheckRollback(_), outcome) => {
            matches!(outcome, O::RollbackReady(_) | O::CheckoutBlocked { .. })
        }
        (Effect::MoveTarget(_), outcome) => matches!(
            outcome,
            O::TargetMovedTo | O::TargetMoved { .. } | O::CheckoutBlocked { .. }
        ),
        (Effect::FinishResolution(_), outcome) => matches!(
            outcome,
            O::ResolutionFinished { .. } | O::StillConflicted { .. }
        ),
        _ => false,
    }
}

/// Dispatches an outcome to the rules of its effect.
fn follow(plan: &mut Plan<'_>, effect: &Effect, outcome: &Outcome) {
    match effect {
        Effect::PrepareWorktree(effect::PrepareWorktree { agent, from, .. }) => {
            attempt::outcomes::prepared(plan, agent, from.is_some(), outcome);
        }
        Effect::Run(effect::Run { run, purpose, .. }) => {
            run_over(plan, run, purpose, outcome);
            plan.clear_warning(&stop_key(run));
        }
        Effect::StopRun(effect::StopRun { run, now }) => stopped(plan, run, *now, outcome),
        Effect::Seal(effect::Seal { agent, .. }) => attempt::outcomes::sealed(plan, agent, outcome),
        Effect::SaveWork(effect::SaveWork { agent, .. }) => redirect::saved(plan, agent, outcome),
        Effect::BuildMerge(effect::BuildMerge { idea, source, .. }) => {
            merge::outcomes::built(plan, idea, source, outcome);
        }
        Effect::PrepareVerify(effect::PrepareVerify { idea, .. }) => {
            merge::outcomes::verify_ready(plan, idea, outcome);
        }
        Effect::Land(effect::Land { idea, commit, .. }) => {
            merge::outcomes::landed(plan, idea, commit, outcome);
        }
        Effect::StartResolution(effect::StartResolution { idea, .. }) => {
            merge::conflict::resolution_started(plan, idea, outcome);
        }
        Effect::FinishResolution(effect::FinishResolution { idea, .. }) => {
            merge::conflict::resolution_finished(plan, idea, outcome);
        }
        Effect::ReleaseWorktree(effect::ReleaseWorktree { worktree, .. }) => {
            tidied(plan, &format!("release-{worktree}"), outcome);
            kept_aside(plan, worktree, outcome);
        }
        Effect::MakeCheckpoint(effect::MakeCheckpoint { name, reason, .. }) => {
            checkpoints::made(plan, name, *reason, outcome);
        }
        Effect::DeleteCheckpoint(effect::DeleteCheckpoint { name, .. }) => {
            checkpoints::deleted(plan, name, outcome);
        }
        Effect::CheckRollback(_) => rollback::checked(plan, outcome),
        Effect::MoveTarget(effect::MoveTarget { target, .. }) => {
            rollback::moved(plan, target, outcome);
        }
        Effect::ArchiveInbox(effect::ArchiveInbox { name, .. }) => {
            tidied(plan, &format!("inbox-{name}"), outcome);
        }
    }
}

fn run_over(plan: &mut Plan<'_>, run: &RunId, purpose: &Purpose, outcome: &Outcome) {
    match purpose {
        Purpose::Iteration { agent, .. } => {
            attempt::outcomes::iteration_over(plan, agent, run, outcome);
        }
        Purpose::Gate {
            agent,
            index,
            command,
        } => attempt::outcomes::gate_over(plan, agent, run, *index, command, outcome),
        Purpose::Verify {
            idea,
            index,
            command,
        } => merge::outcomes::verify_over(plan, idea, run, *index, command, outcome),
        Purpose::Hook { hook, seq, .. } => hooks::call_over(plan, *hook, *seq, run, outcome),
    }
}

fn stop_key(run: &RunId) -> String {
    format!("stop-{run}")
}

/// A run that could not be asked to stop is killed; one that could not be killed ends by itself or
/// at its time limit.
fn stopped(plan: &mut Plan<'_>, run: &RunId, now: bool, outcome: &Outcome) {
    let Outcome::Failed { message, .. } = outcome else {
        return;
    };
    if plan.state.run_effect(run).is_none() {
        return;
    }
    if now {
        plan.warn(&stop_key(run), message);
    } else {
        plan.stop_run(run, true);
    }
}

/// Warns about repositories inside a worktree: their content has not landed.
fn kept_aside(plan: &mut Plan<'_>, worktree: &str, outcome: &Outcome) {
    let Outcome::Released { kept: Some(place) } = outcome else {
        return;
    };
    let message = format!(
        "the agent of {worktree} created a git repository inside its worktree; its content has not \
        landed and is kept in {place}: copy what you need, then delete that folder"
    );
    plan.warn(&format!("{KEPT_ASIDE}{worktree}"), &message);
}

/// Failed cleanup is a warning; the next daemon tries again.
fn tidied(plan: &mut Plan<'_>, key: &str, outcome: &Outcome) {
    match outcome {
        Outcome::Failed { message, .. } => plan.warn(key, message),
        _ => plan.clear_warning(key),
    }
}
