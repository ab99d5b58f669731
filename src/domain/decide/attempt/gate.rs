//! Decides on the checks in an attempt's worktree: what passes goes on, what fails is charged where
//! [`blame`] says so.
//!
//! Invariant: as in [`outcomes`](super::outcomes).

use super::outcomes::{block, fail, working};
use super::run_end::{failure_of, is_stopped, killed_too_often, run_ended};
use super::stuck;
use crate::domain::decide::blame::{self, Blame};
use crate::domain::decide::decision::Plan;
use crate::domain::decide::environment_faults::broken_commands::{
    self, CheckCommand, CheckedTree, CommandKind,
};
use crate::domain::decide::environment_faults::{nobodys_fault, release};
use crate::domain::decide::setup;
use crate::domain::effect::{Purpose, SetupTree};
use crate::domain::event::{GateDoubted, GateExcused, GateFailed, GatePassed, GateStarted};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::Failure;
use crate::domain::settings::Settings;
use crate::domain::state::baseline::Doubt;
use crate::domain::state::{Attempt, Feedback};

/// Starts the next quality command in the worktree, unless too many checks run.
pub(crate) fn start_check(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    command: &str,
    settings: &Settings,
) {
    if !plan.state.has_room_for_check(attempt) {
        return;
    }
    let index = attempt.gate_next;
    let run = plan.run_id(&format!("{agent}-q{}", index + 1));
    plan.emit(GateStarted {
        agent: agent.clone(),
        index,
        run: run.clone(),
    });
    let purpose = Purpose::Gate {
        agent: agent.clone(),
        index,
        command: command.to_owned(),
    };
    plan.request_run(run, purpose, settings.quality_timeout_ms);
}

/// Handles the end of a quality or setup command in the worktree.
pub(crate) fn gate_over(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    run: &RunId,
    command: CheckCommand<'_>,
    outcome: &Result<RunEnd, Failure>,
) {
    let end = run_ended(plan, run, outcome);
    let Some(attempt) = working(plan, agent, AttemptPhase::Gating) else {
        return;
    };
    if let Some(trouble) = outcome.as_ref().err().and_then(nobodys_fault) {
        return release(plan, agent, trouble);
    }
    // The commands have changed: the new gate starts from its first command.
    if !command.is_next(plan.state, attempt.setup.as_deref(), attempt.gate_next) {
        return;
    }
    let stopped = is_stopped(plan.state, run, &end.how);
    let tree = CheckedTree::Worktree(agent, &attempt.idea);
    // It runs again when a person has resumed the swarm.
    if !stopped && broken_commands::hold(plan, &tree, command, &end.how) {
        return;
    }
    if let Some(how) = killed_too_often(plan.state, &end.how, attempt.lost_runs) {
        let why = format!("the runner of `{}` {how}", command.command);
        return fail(plan, agent, why);
    }
    match failure_of(&end.how) {
        None if matches!(end.how, RunEndKind::Exited { .. }) => gate_passed(plan, agent, command),
        Some(how) if !stopped => gate_red(plan, (agent, attempt), command, (run, &how, &end)),
        // Stopped or lost: not judged; it runs again when the swarm continues.
        _ => {}
    }
}

fn gate_passed(plan: &mut Plan<'_>, agent: &AgentId, command: CheckCommand<'_>) {
    let (agent, index) = (agent.clone(), command.index);
    match (command.kind, plan.state.settings.as_deref()) {
        (CommandKind::Quality, _) => plan.emit(GatePassed { agent, index }),
        (CommandKind::Setup, Some(settings)) => {
            setup::pass(plan, SetupTree::Worktree { agent }, index, settings);
        }
        (CommandKind::Setup, None) => {}
    }
}

/// A command failed in the worktree.
fn gate_red(
    plan: &mut Plan<'_>,
    (agent, attempt): (&AgentId, &Attempt),
    command: CheckCommand<'_>,
    (run, how, end): (&RunId, &str, &RunEnd),
) {
    let doubt = blame::doubt(plan.state, command.command, (run, how, end));
    let doubt = blame::repeated(plan.state, doubt, attempt, end);
    let before = attempt.doubt();
    let judged = blame::judge(plan.state, before, command.command, (run, end));
    if judged == Blame::Collision {
        blame::warn_of_collision(plan, command.command, &attempt.worktree, end);
    }
    let agent = agent.clone();
    match judged {
        Blame::Work => charge(plan, &agent, attempt, &doubt),
        Blame::InDoubt if before.is_some_and(|before| before.run == *run) => {}
        Blame::InDoubt => plan.emit(GateDoubted { agent, doubt }),
        Blame::Nobody | Blame::Collision => plan.emit(GateExcused {
            agent,
            command: doubt.command,
            run: doubt.run,
            alone: judged == Blame::Collision && end.held_port.is_none(),
            port: end.held_port,
        }),
    }
}

/// Charges the work for a failed check: its agent is sent back, or it is stuck.
pub(crate) fn charge(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, doubt: &Doubt) {
    let failed = GateFailed {
        agent: agent.clone(),
        feedback: Feedback {
            command: doubt.command.clone(),
            how: doubt.how.clone(),
            run: Some(doubt.run.clone()),
            merged: false,
        },
        fingerprint: doubt.fingerprint.clone(),
        failed_tests: doubt.failed_tests,
    };
    gate_failed(plan, attempt, failed, doubt.output.as_deref());
}

/// Sends the agent back with what failed, unless it is stuck.
pub(super) fn gate_failed(
    plan: &mut Plan<'_>,
    attempt: &Attempt,
    failed: GateFailed,
    last_words: Option<&str>,
) {
    let agent = &failed.agent.clone();
    let stuck = stuck::same_failure(attempt, &failed, last_words)
        .or_else(|| stuck::same_check(plan, attempt, &failed))
        .or_else(|| stuck::sent_back_without_change(plan, attempt, &failed));
    if stuck.is_none() {
        let in_a_row = attempt.without_commit;
        stuck::warn(plan, agent, attempt, in_a_row, Some(&failed.feedback));
    }
    plan.emit(failed);
    match stuck {
        Some(why) => block(plan, agent, why),
        None => {
            plan.move_attempt(agent, AttemptInput::Hold);
        }
    }
}
