//! Checks the untouched target: the quality commands run on it once, in the merge worktree, before
//! the first iteration of any idea; and as a control, in a worktree beside it, before work is
//! charged for a failed check. A control ends as soon as no failed check is in doubt any more.
//!
//! Invariant: under `checks.baseline: "require"`, no first iteration begins on a commit of the
//! target that has not passed, and none at all while a merge waits. No merge waits for a control. A
//! run that was stopped is no result, nor is one whose runner was killed.
//! `advance` calls [`check`], [`control`] and [`may_begin`]; claiming asks the state.

use super::attempt::claim;
use super::attempt::iterations::{may_check_out, may_start};
use super::attempt::run_end::{failure_of, is_stopped, killed_too_often, run_ended};
use super::blame;
use super::decision::{End, Plan, shorten};
use super::environment_faults::broken_commands::{CheckCommand, CommandKind};
use super::environment_faults::{canary, hold_for, nobodys_fault, worktrees};
use super::merge::queue;
use super::setup;
use crate::domain::effect::{self, Effect, Purpose, TargetTree};
use crate::domain::event::{
    self, BaselineCleared, BaselineFailed, BaselinePassed, BaselineStarted, ChecksProbed,
};
use crate::domain::ids::{AgentId, Oid, RunId};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::{BaselineReady, Failure};
use crate::domain::scheduling;
use crate::domain::settings::Settings;
use crate::domain::state::baseline::{BaselineCheck, BaselineFailure, RUN_OWNER};
use crate::domain::state::{Attempt, AttemptEnd, IdeaStatus, State, Task};
use crate::domain::time::Timestamp;

/// Time until a failed check is repeated; it doubles.
const WAIT_MS: i64 = 30_000;
const WAIT_MAX_MS: i64 = 600_000;

/// Takes the next step of the check: checks the target out, runs the next setup or quality command,
/// or stops one that nobody waits for any more.
pub(super) fn check(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    blame::doubt_target(plan);
    if !plan.events.is_empty() {
        return;
    }
    if state.is_pending(Effect::is_baseline) {
        return stop_unneeded(plan, settings);
    }
    if state.is_doubt_over() {
        return plan.emit(BaselineCleared::default());
    }
    let wanted = settings.checks_baseline() && may_start(plan);
    let tree = state.next_target_tree();
    match &state.swarm.baseline.checking {
        // Its worktree is free again; the check starts over when it is needed.
        Some(check) if !(probes(plan, check) || wanted && is_needed(state, settings)) => {
            plan.emit(BaselineCleared::default());
        }
        Some(check) if check.tree == TargetTree::Control && !state.has_room_for_control() => {}
        Some(check) => run_next(plan, check, settings),
        None => {
            let free = tree == TargetTree::Verify && !queue::is_busy(state);
            if wanted && may_check_out(plan) && is_due(plan) && free {
                begin(plan, settings, tree);
            }
            if plan.events.is_empty() && canary::is_wanted(plan) {
                canary::begin(plan, settings);
            }
        }
    }
}

/// Whether the check leads to a probe that is due.
fn probes(plan: &Plan<'_>, check: &BaselineCheck) -> bool {
    check.tree == TargetTree::Verify && canary::is_wanted(plan)
}

/// Begins a control. After the merge queue's next step, because the checks of landings go first.
pub(super) fn control(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let tree = state.next_target_tree();
    let idle = state.swarm.baseline.checking.is_none() && !state.is_pending(Effect::is_baseline);
    let wanted = settings.checks_baseline() && may_check_out(plan) && is_due(plan);
    if tree == TargetTree::Control && idle && wanted && state.has_room_for_control() {
        begin(plan, settings, tree);
    }
}

/// Whether a merge or a failed check waits for the result, an idea would begin after it with a free
/// slot, or ideas have begun that need not wait for it.
fn is_needed(state: &State, settings: &Settings) -> bool {
    let mut ideas = state.ideas.open();
    let ready = ideas.any(|(_, idea)| scheduling::is_ready(state, idea));
    let begun = !settings.requires_baseline() && !state.agents.is_empty();
    ready || begun || state.held_by_target().next().is_some() || state.is_check_in_doubt()
}

/// Stops a command whose result counts no longer, or that nobody waits for. A pause stops none.
fn stop_unneeded(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let check = state.swarm.baseline.checking.as_ref();
    let needed = settings.checks_baseline() && is_needed(state, settings) && !state.is_doubt_over();
    let probes = check.is_some_and(|check| check.tree == TargetTree::Verify);
    let probes = probes && state.is_probe_due();
    let runs = state.runs_under_way().map(|(_, it)| it);
    for effect::Run { run, purpose, .. } in runs.filter(|it| it.purpose.checks_target()) {
        let current = check.and_then(|check| check.run.as_ref()) == Some(run);
        if !(current && (probes || (needed && !purpose.is_probe()))) {
            plan.stop_run(run, false);
        }
    }
}

/// Whether the target's last known commit must be checked now.
fn is_due(plan: &Plan<'_>) -> bool {
    let baseline = &plan.state.swarm.baseline;
    let waits = |failed: &BaselineFailure| {
        // Without anybody who waits for it, it is not repeated until something has changed.
        !plan.state.is_baseline_awaited() || failed.not_before > plan.now
    };
    !plan.state.is_target_green() && !baseline.failed.as_ref().is_some_and(waits)
}

/// Checks the target out, if an idea is about to begin, or a merge or a failed check waits for it.
fn begin(plan: &mut Plan<'_>, settings: &Settings, tree: TargetTree) {
    let state = plan.state;
    let waits = state.held_by_target().next().is_some() || state.is_check_in_doubt();
    if waits || claim::has_candidate(plan, settings) {
        plan.request(effect::PrepareBaseline {
            target: settings.target.clone(),
            tree,
        });
    }
}

fn run_next(plan: &mut Plan<'_>, check: &BaselineCheck, settings: &Settings) {
    if let Some(due) = &check.setup {
        return setup::start(plan, check.tree.setup(), due, settings);
    }
    let index = check.next;
    let Some(command) = settings.quality_commands.get(index) else {
        if probes(plan, check) {
            return canary::start(plan, check, settings);
        }
        return plan.emit(BaselineCleared::default());
    };
    let run = plan.run_id(&format!("{RUN_OWNER}-{}", index + 1));
    plan.emit(BaselineStarted {
        index,
        run: run.clone(),
        command: Some(shorten(command)),
        probe: false,
    });
    let purpose = Purpose::Baseline {
        index,
        command: command.clone(),
        tree: check.tree,
    };
    plan.request_run(run, purpose, settings.quality_timeout_ms);
}

/// When a failed check is repeated.
pub(super) fn deadline(state: &State) -> Option<Timestamp> {
    state.red_baseline().map(|failed| failed.not_before)
}

/// Handles the check-out of the target.
pub(super) fn ready(
    plan: &mut Plan<'_>,
    effect: &effect::PrepareBaseline,
    outcome: Result<BaselineReady, Failure>,
) {
    let settings = plan.state.settings.as_deref();
    // The configuration may have changed since; then another check-out is requested.
    let uses = |it: &Settings| it.checks_baseline() || it.probes_checks();
    if settings.is_none_or(|it| !uses(it) || it.target != effect.target) {
        return;
    }
    let failure = match outcome {
        Ok(BaselineReady {
            commit,
            warm,
            setup,
            probe,
        }) => {
            worktrees::free(plan);
            let tree = effect.tree;
            let setup = setup::prepared(plan, tree.name(), warm, &setup);
            return plan.emit(event::BaselineReady {
                commit,
                warm,
                setup,
                tree,
                probe,
            });
        }
        Err(failure) => failure,
    };
    if let Some(fault) = nobodys_fault(&failure) {
        return hold_for(plan, fault);
    }
    if only_probes(plan.state) {
        return canary::no_verdict(plan, None, "", &failure.message);
    }
    let not_before = again_at(plan, None);
    plan.emit(BaselineFailed {
        commit: None,
        command: None,
        how: shorten(&failure.message),
        output: None,
        run: None,
        not_before,
    });
}

/// Whether the target is checked out only to probe the quality commands.
fn only_probes(state: &State) -> bool {
    let settings = state.settings.as_deref();
    let is_checked = settings.is_some_and(Settings::checks_baseline);
    state.is_probe_due() && (!is_checked || state.is_target_green())
}

/// Time of the next check after one that failed at this command; the wait grows. It goes on growing
/// where an outage has only paused: a service that limits its use fails the next check again.
fn again_at(plan: &Plan<'_>, command: Option<&str>) -> Timestamp {
    let failed = plan.state.swarm.baseline.failed.as_ref();
    let earlier = command.map_or(0, |it| plan.state.earlier_waits(it, plan.now));
    let waits = failed.map_or(0, |failed| failed.tries) + earlier;
    let wait = WAIT_MS << waits.min(16);
    plan.now.plus_millis(wait.min(WAIT_MAX_MS))
}

/// Handles the end of a quality or setup command on the untouched target.
pub(super) fn command_over(
    plan: &mut Plan<'_>,
    run: &RunId,
    command: CheckCommand<'_>,
    outcome: &Result<RunEnd, Failure>,
) {
    let end = run_ended(plan, run, outcome);
    let state = plan.state;
    let baseline = &state.swarm.baseline;
    let of_run = |check: &&BaselineCheck| check.run.as_ref() == Some(run);
    // The quality commands or the target branch have changed: the check starts over.
    let (Some(check), Some(settings)) = (
        baseline.checking.as_ref().filter(of_run),
        state.settings.as_deref(),
    ) else {
        return;
    };
    if let Some(fault) = outcome.as_ref().err().and_then(nobodys_fault) {
        return hold_for(plan, fault);
    }
    if let Some(how) = killed_too_often(state, &end.how, baseline.lost_runs) {
        let how = format!("its runner {how}");
        return failed(plan, check, run, command.command, (how, None));
    }
    match failure_of(&end.how) {
        None if matches!(end.how, RunEndKind::Exited { .. }) => {
            passed(plan, check, command, settings);
        }
        Some(_) if blame::has_collided(state, run, &end) => {
            blame::warn_of_collision(plan, command.command, check.tree.name(), &end);
            plan.emit(BaselineCleared::default());
        }
        Some(how) if !is_stopped(state, run, &end.how) => {
            failed(plan, check, run, command.command, (how, end.last_words));
        }
        // Stopped or lost: not judged; the target is checked out and checked again.
        _ => plan.emit(BaselineCleared::default()),
    }
}

fn passed(
    plan: &mut Plan<'_>,
    check: &BaselineCheck,
    command: CheckCommand<'_>,
    settings: &Settings,
) {
    let index = command.index;
    match command.kind {
        CommandKind::Setup => setup::pass(plan, check.tree.setup(), index, settings),
        CommandKind::Quality => plan.emit(BaselinePassed {
            commit: check.commit.clone(),
            index,
            last: index + 1 >= settings.quality_commands.len(),
        }),
    }
}

fn failed(
    plan: &mut Plan<'_>,
    check: &BaselineCheck,
    run: &RunId,
    command: &str,
    (how, output): (String, Option<String>),
) {
    if plan.state.is_at_probe(check) && plan.state.is_probe_due() {
        let why = format!("the setup command `{command}` failed ({how})");
        let digest = check.probe.as_deref().unwrap_or_default();
        return canary::no_verdict(plan, Some(&check.commit), digest, &why);
    }
    let command = shorten(command);
    let not_before = again_at(plan, Some(&command));
    plan.emit(BaselineFailed {
        commit: Some(check.commit.clone()),
        command: Some(command),
        how: shorten(&how),
        output: output.as_deref().map(shorten),
        run: Some(run.clone()),
        not_before,
    });
}

/// Forgets a failed or interrupted check, so that the target is checked at once when work is about
/// to begin: somebody may have fixed the cause. The same goes for a probe with an alarm or without
/// a verdict.
pub(super) fn check_again(plan: &mut Plan<'_>) {
    let baseline = &plan.state.swarm.baseline;
    let idle = |check: &BaselineCheck| check.run.is_none();
    let is_open = |probed: &ChecksProbed| probed.found.is_open();
    let probed = baseline.probed.as_deref();
    let probe = plan.state.probe_alarms().is_some() || probed.is_some_and(is_open);
    if probe || baseline.failed.is_some() || baseline.checking.as_ref().is_some_and(idle) {
        plan.emit(BaselineCleared { probe });
    }
}

/// The target was looked up while its check stands failed, or an alarm of a probe holds all up:
/// another commit is checked at once.
pub(super) fn target_at(plan: &mut Plan<'_>, commit: &Oid) {
    let failed = plan.state.swarm.baseline.failed.as_ref();
    let checked = failed.and_then(|failed| failed.commit.as_ref());
    let alarms = plan.state.blind_checks();
    let probed = alarms.and_then(|probed| probed.commit.as_ref());
    if [checked, probed]
        .into_iter()
        .flatten()
        .any(|known| known != commit)
    {
        check_again(plan);
    }
}

/// Whether the attempt may begin its first iteration. If the commit that it starts from has not
/// passed, its idea waits again, without a worktree: the next attempt starts from where the target
/// is then. Earlier work is kept, and only the target must have passed.
pub(super) fn may_begin(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    settings: &Settings,
) -> bool {
    let first = attempt.iteration == 0 && attempt.task == Task::Work;
    if !first || !settings.requires_baseline() {
        return true;
    }
    let baseline = &plan.state.swarm.baseline;
    let passed = match (&attempt.kept, &attempt.base) {
        (None, Some(base)) => baseline.passed.contains(base),
        (Some(_), _) | (None, None) => plan.state.is_target_green(),
    };
    // A landing may have moved the target before the log says so.
    if !passed && !plan.state.is_pending(Effect::is_landing) {
        let why = "the commit that it would start from has not passed the checks of the target";
        let end = End {
            keep_worktree: attempt.kept.is_some(),
            ..End::keeping(AttemptEnd::Released, IdeaStatus::Pending, Some(why.into()))
        };
        plan.end(agent, end);
    }
    passed
}
