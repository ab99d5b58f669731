//! Sets up trees before they are used: the setup commands run one by one, in an agent's worktree
//! before its first iteration, in the merge worktree before the quality commands, and again
//! wherever their key has changed.
//!
//! Invariant: before the first iteration and on a merged tree a failure is never an idea's fault,
//! and nothing is paid for: the command is repeated twice, then a person is asked. In an agent's
//! worktree after its first iteration it is a failed check.

use super::attempt::gate;
use super::attempt::run_end::{failure_of, is_stopped, killed_too_often, run_ended};
use super::baseline;
use super::blame;
use super::decision::{End, Plan, shorten};
use super::environment_faults::broken_commands::{self, CheckCommand, CheckedTree, CommandKind};
use super::environment_faults::{nobodys_fault, release};
use super::merge;
use super::swarm;
use crate::domain::effect::{self, Purpose, SetupTree};
use crate::domain::event::{SetupPassed, SetupStarted};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase, MergeInput};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::{Failure, TreeSetup};
use crate::domain::settings::Settings;
use crate::domain::state::baseline::RUN_OWNER;
use crate::domain::state::setup::{SetupDue, failures_after};
use crate::domain::state::{Attempt, AttemptEnd, IdeaStatus, MergeEntry, State, Waits};
use crate::domain::warning::WarningKind;

/// Pauses before a failed command is repeated: a registry that cannot be reached for a moment must
/// not end the night. After the last of them a person is asked.
const AGAIN_AFTER_MS: [i64; 2] = [10_000, 60_000];

/// Pauses after that, where swarm goes on trying while it asks: on a merged tree.
const SLOW_RETRY_MS: i64 = 600_000;

/// Key of the warning about files that are not copied.
const NOT_COPIED: &str = WarningKind::LocalFiles.only();

/// Handles what a prepared tree needs besides its commit: see [`due`].
pub(super) fn prepared(
    plan: &mut Plan<'_>,
    worktree: &str,
    warm: bool,
    setup: &TreeSetup,
) -> Option<String> {
    if setup.not_copied.is_empty() {
        plan.clear_warning(NOT_COPIED);
    } else {
        plan.warn(NOT_COPIED, &setup.not_copied.join(". "));
    }
    due(plan.state, worktree, warm, setup.key.as_deref())
}

/// Key of the setup that must run in a worktree before it is used; `None` if it is ready. `key`
/// stands for its present content.
pub(super) fn due(state: &State, worktree: &str, warm: bool, key: Option<&str>) -> Option<String> {
    let settings = state.settings.as_deref()?;
    let done = state.setups.get(worktree).map(String::as_str);
    let is_ready = settings.setup.is_empty() || (warm && key.is_some() && done == key);
    (!is_ready).then(|| key.unwrap_or_default().to_owned())
}

/// Starts the next command of a setup that is due.
pub(super) fn start(plan: &mut Plan<'_>, tree: SetupTree, due: &SetupDue, settings: &Settings) {
    let index = due.next;
    let Some(command) = settings.setup.get(index).cloned() else {
        return pass(plan, tree, index, settings);
    };
    let owner = match &tree {
        SetupTree::Worktree { agent } => agent.as_str(),
        SetupTree::Merged { idea } => idea.as_str(),
        SetupTree::Target | SetupTree::Control => RUN_OWNER,
    };
    let run = plan.run_id(&format!("{owner}-s{}", index + 1));
    plan.emit(SetupStarted {
        tree: tree.clone(),
        index,
        run: run.clone(),
    });
    let purpose = Purpose::Setup {
        tree,
        index,
        command,
    };
    plan.request_run(run, purpose, settings.quality_timeout_ms);
}

/// Records that a setup command passed.
pub(super) fn pass(plan: &mut Plan<'_>, tree: SetupTree, index: usize, settings: &Settings) {
    plan.emit(SetupPassed {
        tree,
        index,
        last: index + 1 >= settings.setup.len(),
    });
}

/// Continues the setup of a new attempt's worktree.
pub(super) fn prepare(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    due: &SetupDue,
    settings: &Settings,
) {
    let later = attempt.not_before.is_some_and(|time| time > plan.now);
    if !later && !plan.state.waits_for_command(attempt) {
        let agent = agent.clone();
        start(plan, SetupTree::Worktree { agent }, due, settings);
    }
}

/// Handles the end of a setup command.
pub(super) fn command_over(
    plan: &mut Plan<'_>,
    effect: &effect::Run,
    (tree, index, command): (&SetupTree, usize, &str),
    outcome: &Result<RunEnd, Failure>,
) {
    let run = &effect.run;
    let command = CheckCommand {
        kind: CommandKind::Setup,
        index,
        command,
    };
    match tree {
        SetupTree::Merged { idea } => {
            merge::outcomes::verify_over(plan, idea, run, command, outcome);
        }
        SetupTree::Target | SetupTree::Control => {
            baseline::command_over(plan, run, command, outcome);
        }
        SetupTree::Worktree { agent } => {
            let attempt = plan.attempt(agent);
            if attempt.is_some_and(|attempt| attempt.phase == AttemptPhase::Preparing) {
                before_work(plan, agent, run, command, outcome);
            } else {
                gate::gate_over(plan, agent, run, command, outcome);
            }
        }
    }
}

/// Handles the end of a setup command before an attempt's first iteration.
fn before_work(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    run: &RunId,
    command: CheckCommand<'_>,
    outcome: &Result<RunEnd, Failure>,
) {
    let end = run_ended(plan, run, outcome);
    let attempt = plan.attempt(agent).filter(|it| it.ending.is_none());
    let (Some(attempt), Some(settings)) = (attempt, plan.state.settings.as_deref()) else {
        return;
    };
    if let Some(fault) = outcome.as_ref().err().and_then(nobodys_fault) {
        return release(plan, agent, fault);
    }
    let Some(due) = &attempt.setup else {
        // It is in the log already that this was the last one, or nothing is configured any more.
        plan.move_attempt(agent, AttemptInput::Prepared);
        return;
    };
    // Another setup is configured: it starts from its first command.
    if due.next != command.index || !command.is_current(plan.state) {
        return;
    }
    let is_counted = attempt.run.as_ref() != Some(run);
    let tries = if is_counted {
        due.tries
    } else {
        due.tries_after(&end.how)
    };
    if let Some(how) = killed_too_often(plan.state, &end.how, attempt.lost_runs) {
        return hold(plan, agent, command, &format!("its runner {how}"), None);
    }
    let stopped = is_stopped(plan.state, run, &end.how);
    match failure_of(&end.how) {
        None if matches!(end.how, RunEndKind::Exited { .. }) => {
            passed(plan, agent, command, settings);
        }
        Some(how) if !stopped => {
            failed(plan, agent, attempt, command, (&end, &how, tries));
        }
        // Stopped or lost: not judged; it runs again when the swarm continues.
        _ => {}
    }
}

fn passed(plan: &mut Plan<'_>, agent: &AgentId, command: CheckCommand<'_>, settings: &Settings) {
    plan.clear_warning(&command.warning_key());
    let tree = SetupTree::Worktree {
        agent: agent.clone(),
    };
    pass(plan, tree, command.index, settings);
    if command.index + 1 >= settings.setup.len() {
        plan.move_attempt(agent, AttemptInput::Prepared);
    }
}

fn failed(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    command: CheckCommand<'_>,
    (end, how, tries): (&RunEnd, &str, u32),
) {
    let tree = CheckedTree::Worktree(agent, &attempt.idea);
    if broken_commands::hold(plan, &tree, command, &end.how) {
        return;
    }
    if end.held_port.is_some() {
        blame::warn_of_collision(plan, command.command, &attempt.worktree, end);
    }
    match retry_after(tries) {
        Some(wait) => {
            let not_before = Some(plan.now.plus_millis(wait));
            plan.move_attempt_until(agent, AttemptInput::Hold, not_before);
        }
        None => hold(plan, agent, command, how, end.last_words.as_deref()),
    }
}

/// Ends the attempts whose setup has failed, when a person resumes the swarm: the person may have
/// mended the target, so the next attempt starts from where it is then. Earlier work is kept, and
/// its setup is repeated where it is.
pub(super) fn start_over(plan: &mut Plan<'_>) {
    let state = plan.state;
    for (agent, attempt) in &state.agents {
        let failed = attempt.setup.as_ref().is_some_and(|due| due.tries > 0);
        if attempt.phase != AttemptPhase::Preparing
            || attempt.ending.is_some()
            || attempt.kept.is_some()
            || attempt.iteration > 0
            || !(failed || state.waits_for_command(attempt))
            || state.is_under_way(agent, &attempt.idea)
        {
            continue;
        }
        let why = "its setup failed; the next attempt starts from the target as it is then";
        let end = End {
            keep_worktree: false,
            ..End::keeping(AttemptEnd::Released, IdeaStatus::Pending, Some(why.into()))
        };
        plan.end(agent, end);
    }
}

/// A setup command failed on a merged tree. Whether the idea or the environment is to blame cannot
/// be told, so the work stays in the queue: the command is repeated, and then a person is asked.
pub(super) fn failed_on_merge(
    plan: &mut Plan<'_>,
    entry: &MergeEntry,
    run: &RunId,
    command: CheckCommand<'_>,
    (how, end): (&str, &RunEnd),
) {
    let is_counted = entry.run.as_ref() != Some(run);
    let failures = if is_counted {
        entry.setup_failures
    } else {
        failures_after(entry.setup_failures, &end.how)
    };
    let again = retry_after(failures);
    let output = end.last_words.as_deref();
    let output = output.map_or_else(String::new, |words| format!(": {}", shorten(words)));
    let fails = format!(
        "the setup command `{}` fails on the merged tree ({how}){output}",
        command.command
    );
    let reason = match again {
        Some(_) => format!("{fails}. It is repeated soon"),
        None => format!(
            "{fails}. It failed {failures} times in a row and is repeated every {} min. The work \
            stays as it is, and no iteration is spent. All output: .git/swarm/runs/{run}/. Fix the \
            cause, or change worktree.setup in .swarm/config.json",
            SLOW_RETRY_MS / 60_000
        ),
    };
    let waits = Waits {
        reason: shorten(&reason),
        files: vec![],
        person: again.is_none(),
        target: false,
    };
    let not_before = plan.now.plus_millis(again.unwrap_or(SLOW_RETRY_MS));
    plan.move_merge_waiting(
        &entry.idea,
        MergeInput::Requeue,
        Some(not_before),
        Some(waits),
    );
}

/// Pause after this many failures in a row; `None` if a person is asked.
fn retry_after(failures: u32) -> Option<i64> {
    let before = usize::try_from(failures).unwrap_or(usize::MAX);
    AGAIN_AFTER_MS.get(before.saturating_sub(1)).copied()
}

/// Pauses the swarm: the command fails again and again where no agent has worked yet.
fn hold(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    command: CheckCommand<'_>,
    how: &str,
    output: Option<&str>,
) {
    if plan.state.swarm.broken_command.as_deref() == Some(command.command) {
        return;
    }
    let output = output.map_or_else(String::new, |words| format!(": {}", shorten(words)));
    let message = format!(
        "the setup command `{}` keeps failing before any work begins ({how}){output}. No idea is \
        to blame, so nothing starts and no iteration is spent. All output: swarm agent logs \
        {agent}. Fix the cause, or change worktree.setup in .swarm/config.json; then: swarm resume",
        command.command
    );
    let key = command.warning_key();
    plan.warn(&key, &message);
    if let Err(refused) = swarm::pause_for_command(plan, &message, command.command) {
        plan.warn(&key, &format!("{message} ({refused})"));
    }
}
