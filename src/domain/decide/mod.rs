//! Decides what follows from an input: `(&State, &Input, now) -> Result<Vec<Event>, Rejection>`,
//! one file per family of inputs. Rules that need only the state and the time are in
//! [`mod@advance`].
//!
//! Invariant: pure; the same state, input and time give the same events. An observation is never
//! refused: one about something that has ended is ignored.

pub mod advance;
mod agents;
mod attempt;
mod attention;
mod baseline;
mod blame;
mod budget;
mod checkpoints;
mod decision;
mod environment_faults;
pub(crate) mod hooks;
mod ideas;
mod memory;
mod merge;
mod records;
mod redirect;
mod rollback;
mod setup;
mod swarm;
pub mod transfer;
mod undo;

pub use checkpoints::unknown as unknown_checkpoint;

use super::effect::{self, Effect, Purpose};
use super::event::{ClockWentBack, CommandTaken, EffectFinished, Event, MachineSlept};
use super::ids::{EffectId, IdeaId, RunId, attempt_name};
use super::observation::{Observation, RunEnd};
use super::operation::{self, Command};
use super::outcome::{Failure, InboxArchived, Outcome, StopDelivered, WorktreeReleased};
use super::rejection::Rejection;
use super::request::{Author, Operation, Request};
use super::state::State;
use super::time::Timestamp;
use super::warning::WarningKind;

pub use advance::{advance, next_deadline};

use decision::{Plan, shorten};
use environment_faults::broken_commands::CheckCommand;
use environment_faults::canary;
pub use ideas::MAX_TEXT_BYTES;
pub use merge::commands::entry_of as merge_entry;

/// What follows from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// These events.
    Events(Vec<Event>),
    /// Nothing: the operation was done before.
    DoneBefore(Operation),
}

/// Decides on a request: refuses what its sender may not ask for, and does an operation once.
pub fn request(state: &State, request: &Request, now: Timestamp) -> Result<Decided, Rejection> {
    operation::check(state, request)?;
    let op = request.operation.as_ref();
    if let Some(done) = op.and_then(|op| state.operations.find(op, &request.by)) {
        return Ok(Decided::DoneBefore(done.clone()));
    }
    let mut plan = Plan::new(state, now);
    let answer = carry_out(&mut plan, &request.by, &request.command)?;
    let mut events = plan.events;
    if let (Some(op), Some(place)) = (op, place_of_operation(&events)) {
        let taken = CommandTaken {
            op: op.clone(),
            by: request.by.clone(),
            of: events[place.about].kind().to_owned(),
            answer,
        };
        events.insert(place.before, taken.into());
    }
    Ok(Decided::Events(events))
}

/// Where a decision announces the operation that it carries out.
struct OperationPlace {
    /// Index of the event before which it is announced.
    before: usize,
    /// Index of the event from which it counts as done.
    about: usize,
}

/// The first event is the decision; later ones follow from it. Of several retractions or
/// compactions the last one counts: after a torn log, the repeated request does the rest.
fn place_of_operation(events: &[Event]) -> Option<OperationPlace> {
    if let Some(Event::MemoryRetracted(_) | Event::MemoryCompacted(_)) = events.last() {
        let last = events.len() - 1;
        return Some(OperationPlace {
            before: last,
            about: last,
        });
    }
    let is_decision = |event: &Event| !matches!(event, Event::HookOwed(_));
    let about = events.iter().position(is_decision)?;
    Some(OperationPlace { before: 0, about })
}

/// Decides on a command of a person.
pub fn command(state: &State, command: &Command, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let mut plan = Plan::new(state, now);
    carry_out(&mut plan, &Author::Person, command)?;
    Ok(plan.events)
}

/// Carries out a command; returns the id or version that it makes, if it makes one.
fn carry_out(
    plan: &mut Plan<'_>,
    by: &Author,
    command: &Command,
) -> Result<Option<String>, Rejection> {
    transfer::refuse_moved(plan.state)?;
    if let Command::Memory(command) = command {
        return memory::command(plan, by, command);
    }
    if let Command::ReplayRecord {
        of,
        sha256,
        profile,
    } = command
    {
        let asked = records::replay::Asked {
            of,
            sha256,
            profile,
        };
        return records::replay::ask(plan, by, &asked).map(Some);
    }
    carry_out_other(plan, command)?;
    let added = plan.events.iter().find_map(Event::added_idea);
    Ok(added.map(IdeaId::to_string))
}

fn carry_out_other(plan: &mut Plan<'_>, command: &Command) -> Result<(), Rejection> {
    match command {
        // `carry_out` has carried them out.
        Command::Memory(_) | Command::ReplayRecord { .. } => {}
        Command::AddIdea(new) => ideas::add(plan, new)?,
        Command::EditIdea { id, edit } => ideas::edit(plan, id, edit)?,
        Command::RetryIdea { id } => ideas::retry(plan, id)?,
        Command::CancelIdea { id } => ideas::cancel(plan, id)?,
        Command::AssignIdea { id, profile } => ideas::assign(plan, id, profile.as_ref())?,
        Command::HoldIdea { id } => ideas::hold(plan, id)?,
        Command::UnholdIdea { id } => ideas::unhold(plan, id)?,
        Command::StopAgent { id } => agents::stop(plan, id)?,
        Command::RedirectAgent {
            id,
            idea,
            new_worktree,
        } => redirect::request(plan, id, idea, *new_worktree, None)?,
        Command::ImportAgent(import) => transfer::agent::import(plan, import)?,
        Command::SayToAgent { id, text } => agents::say(plan, id, text)?,
        Command::Pause { reason } => swarm::pause(plan, reason.as_deref())?,
        Command::Resume => swarm::resume(plan)?,
        Command::RetryMerge { id } => merge::commands::retry(plan, id)?,
        Command::ApproveMerge { id, commit } => {
            merge::review::approve(plan, id, commit.as_ref())?;
        }
        Command::RejectMerge { id, why } => merge::review::reject(plan, id, why)?,
        Command::ResolveMerge { id } => merge::commands::resolve(plan, id)?,
        Command::SettleTarget { choice } => merge::commands::settle_target(plan, *choice)?,
        Command::CreateCheckpoint { name, tag } => checkpoints::create(plan, name, *tag)?,
        Command::DeleteCheckpoint { name } => checkpoints::delete(plan, name)?,
        Command::RollBack { name, pause, from } => {
            rollback::begin(plan, name, *pause, from.as_ref(), None)?;
        }
        Command::Undo { seq, from } => undo::undo(plan, *seq, from.as_ref())?,
        Command::ApproveHook { hook, content } => hooks::approve(plan, *hook, content),
        Command::LoadSettings { hash, settings } => swarm::load(plan, hash, settings),
        Command::SetMode { mode } => swarm::set_mode(plan, *mode),
        Command::Shutdown { keep_agents } => swarm::shutdown(plan, *keep_agents)?,
        Command::ShutdownNow => swarm::shutdown_now(plan)?,
    }
    Ok(())
}

/// Decides on an observation of the shell.
pub fn observation(state: &State, seen: &Observation, now: Timestamp) -> Vec<Event> {
    let mut plan = Plan::new(state, now);
    match seen {
        Observation::DaemonStarted {
            version,
            counters,
            host,
        } => swarm::started(&mut plan, version, *counters, host.as_ref()),
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
            attempt::conversation::seen(&mut plan, run, session);
        }
        Observation::ModelAnswered { run } => attempt::provider::answered(&mut plan, run),
        Observation::ProviderAwaited { run, why } => {
            attempt::provider_wait::begins(&mut plan, run, why);
        }
        Observation::UsageSeen { run, usage } => budget::seen(&mut plan, run, usage),
        Observation::EffectDone { effect, outcome } => effect_done(&mut plan, *effect, outcome),
        Observation::TargetAt { commit } => baseline::target_at(&mut plan, commit),
        Observation::TargetRewritten { from, rewrite } => {
            merge::outcomes::target_seen_rewritten(&mut plan, from, rewrite);
        }
        Observation::LandingsFound { at, found } => {
            merge::outcomes::found_again(&mut plan, at, found);
        }
        Observation::BlindAccepted { commands } => canary::accepted(&mut plan, commands),
        Observation::ClockWentBack { by_ms } => plan.emit(ClockWentBack { by_ms: *by_ms }),
        Observation::MachineSlept { seconds } => plan.emit(MachineSlept { seconds: *seconds }),
        Observation::MemoryShown {
            run,
            items,
            fresh,
            held,
        } => memory::shown(&mut plan, run, items, *fresh, *held),
        Observation::MemoryRead {
            run,
            items,
            by_tool,
        } => memory::read(&mut plan, run, items, *by_tool),
        Observation::IterationRecorded { run, recorded } => {
            records::recorded(&mut plan, run, recorded);
        }
        Observation::RecordsOld { before } => records::expire(&mut plan, *before),
        Observation::Trouble { key, message } => plan.warn(key, message),
        Observation::TroubleOver { key } => plan.clear_warning(key),
        Observation::Tick => {}
    }
    plan.events
}

/// Handles an outcome: what follows from it, then `effectFinished`. An effect that is not in the
/// outbox has finished before.
fn effect_done(plan: &mut Plan<'_>, id: EffectId, outcome: &Result<Outcome, Failure>) {
    let Some(effect) = plan.state.outbox.get(&id) else {
        return;
    };
    let outcome = outcome.clone();
    let error = follow(plan, effect, Ended { id, outcome });
    plan.emit(EffectFinished { id, error });
}

/// An effect that is over, on its way to the rule for it.
struct Ended {
    id: EffectId,
    outcome: Result<Outcome, Failure>,
}

impl Ended {
    /// Gives the rule the outcome as the type of its effect; returns why the effect failed, if it
    /// did. Only here can an effect meet the outcome of another kind of effect: it has failed then.
    fn to<E, T>(
        self,
        rule: impl FnOnce(&mut Plan<'_>, &E, Result<T, Failure>),
        plan: &mut Plan<'_>,
        effect: &E,
    ) -> Option<String>
    where
        T: TryFrom<Outcome, Error = derive_more::TryIntoError<Outcome>>,
    {
        let id = self.id;
        let outcome = self.outcome.and_then(|outcome| {
            T::try_from(outcome).map_err(|other| {
                let other = other.input;
                Failure::other(format!("this cannot be the outcome of {id}: {other:?}"))
            })
        });
        let error = outcome.as_ref().err();
        let error = error.map(|failure| shorten(&failure.message));
        rule(plan, effect, outcome);
        error
    }
}

/// Dispatches an outcome to the rule of its effect; returns why the effect failed, if it did.
fn follow(plan: &mut Plan<'_>, effect: &Effect, ended: Ended) -> Option<String> {
    match effect {
        Effect::PrepareWorktree(it) => ended.to(attempt::outcomes::prepared, plan, it),
        Effect::Run(it) => ended.to(run_over, plan, it),
        Effect::StopRun(it) => ended.to(stopped, plan, it),
        Effect::Seal(it) => ended.to(attempt::outcomes::sealed, plan, it),
        Effect::SaveWork(it) => ended.to(redirect::saved, plan, it),
        Effect::BuildMerge(it) => ended.to(merge::outcomes::built, plan, it),
        Effect::PrepareVerify(it) => ended.to(merge::outcomes::verify_ready, plan, it),
        Effect::PrepareBaseline(it) => ended.to(baseline::ready, plan, it),
        Effect::Land(it) => ended.to(merge::outcomes::landed, plan, it),
        Effect::StartResolution(it) => ended.to(merge::conflict::resolution_started, plan, it),
        Effect::FinishResolution(it) => ended.to(merge::conflict::resolution_finished, plan, it),
        Effect::ReleaseWorktree(it) => ended.to(released, plan, it),
        Effect::LendWorktree(it) => ended.to(attempt::lending::lent, plan, it),
        Effect::MakeCheckpoint(it) => ended.to(checkpoints::made, plan, it),
        Effect::DeleteCheckpoint(it) => ended.to(checkpoints::deleted, plan, it),
        Effect::CheckRollback(it) => ended.to(rollback::checked, plan, it),
        Effect::MoveTarget(it) => ended.to(rollback::moved, plan, it),
        Effect::ArchiveInbox(it) => ended.to(archived, plan, it),
        Effect::Notify(it) => ended.to(attention::notified, plan, it),
        Effect::JudgeReplay(it) => ended.to(records::replay::judged, plan, it),
    }
}

#[allow(clippy::needless_pass_by_value)] // as every rule of an effect takes its outcome
fn run_over(plan: &mut Plan<'_>, effect: &effect::Run, outcome: Result<RunEnd, Failure>) {
    let run = &effect.run;
    match &effect.purpose {
        Purpose::Iteration { agent, .. } => {
            attempt::outcomes::iteration_over(plan, agent, run, &outcome);
        }
        Purpose::Gate {
            agent,
            index,
            command,
        } => {
            let command = CheckCommand::quality(*index, command);
            attempt::gate::gate_over(plan, agent, run, command, &outcome);
        }
        Purpose::CommitHooks { agent } => {
            attempt::commit_hooks::over(plan, agent, run, &outcome);
        }
        Purpose::Verify {
            idea,
            index,
            command,
        } => {
            let command = CheckCommand::quality(*index, command);
            merge::outcomes::verify_over(plan, idea, run, command, &outcome);
        }
        Purpose::Baseline { index, command, .. } => {
            let command = CheckCommand::quality(*index, command);
            baseline::command_over(plan, run, command, &outcome);
        }
        Purpose::Canary { commit, digest } => canary::over(plan, run, (commit, digest), outcome),
        Purpose::Setup {
            tree,
            index,
            command,
        } => setup::command_over(plan, effect, (tree, *index, command), &outcome),
        Purpose::Hook { hook, seq, .. } => hooks::call_over(plan, *hook, *seq, run, &outcome),
        Purpose::Synthesis { profile, up_to } => {
            let run = memory::synthesis::Run {
                id: run,
                profile,
                up_to: *up_to,
            };
            memory::synthesis::over(plan, &run, &outcome);
        }
        Purpose::Replay { profile, .. } => {
            records::replay::over(plan, (run, profile), &outcome);
        }
    }
    plan.clear_warning(&stop_key(run));
}

fn stop_key(run: &RunId) -> String {
    WarningKind::Run.about(run)
}

/// A run that could not be asked to stop is killed; one that could not be killed ends by itself or
/// at its time limit.
fn stopped(plan: &mut Plan<'_>, effect: &effect::StopRun, outcome: Result<StopDelivered, Failure>) {
    let effect::StopRun { run, now } = effect;
    let Err(failure) = outcome else {
        return;
    };
    if plan.state.run_effect(run).is_none() {
        return;
    }
    if *now {
        plan.warn(&stop_key(run), &failure.message);
    } else {
        plan.stop_run(run, true);
    }
}

fn released(
    plan: &mut Plan<'_>,
    effect: &effect::ReleaseWorktree,
    outcome: Result<WorktreeReleased, Failure>,
) {
    let worktree = &effect.worktree;
    tidied(
        plan,
        &WarningKind::Worktree.about(worktree),
        outcome.as_ref().err(),
    );
    let Ok(released) = outcome else {
        return;
    };
    undo::rescued(plan, worktree, &released);
    if let Some(place) = released.kept {
        kept_aside(plan, &attempt_name(&effect.branch), &place);
    }
}

/// Warns about repositories inside a worktree: their content has not landed.
fn kept_aside(plan: &mut Plan<'_>, attempt: &str, place: &str) {
    let message = format!(
        "the agent of {attempt} created a git repository inside its worktree; its content has not \
        landed and is kept in {place}: copy what you need, then delete that folder"
    );
    plan.warn(&WarningKind::NestedRepository.about(attempt), &message);
}

fn archived(
    plan: &mut Plan<'_>,
    effect: &effect::ArchiveInbox,
    outcome: Result<InboxArchived, Failure>,
) {
    tidied(
        plan,
        &WarningKind::Inbox.about(&effect.name),
        outcome.err().as_ref(),
    );
}

/// Failed cleanup is a warning; the next daemon tries again.
fn tidied(plan: &mut Plan<'_>, key: &str, failure: Option<&Failure>) {
    match failure {
        Some(failure) => plan.warn(key, &failure.message),
        None => plan.clear_warning(key),
    }
}
