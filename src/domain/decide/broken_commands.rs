//! Quality commands that nothing can pass: the shell cannot find or execute the program, or it
//! never finishes in time.
//!
//! Invariant: exit codes 126 and 127 are a fault of the environment and never an idea's: the swarm
//! pauses, and what needs the command waits until a person resumes it or changes the configuration.
//! A warning stays until the command runs to its end or the configuration changes. Called when a
//! quality command ends.

use super::decision::Plan;
use super::swarm;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::observation::RunEndKind;
use crate::domain::warning::WarningKind;

/// The tree that a quality command checked.
pub(super) enum CheckedTree<'a> {
    /// The worktree of an attempt.
    Worktree(&'a AgentId, &'a IdeaId),
    /// The work of an idea, merged with the target.
    Merged(&'a IdeaId),
}

impl CheckedTree<'_> {
    fn describe(&self) -> String {
        match self {
            Self::Worktree(_, idea) => format!("in the worktree of {idea}"),
            Self::Merged(idea) => format!("on the merged tree of {idea}"),
        }
    }

    /// What to do if the idea itself removed the program.
    fn remedy(&self) -> String {
        match self {
            Self::Worktree(agent, idea) => format!(
                "If {idea} itself broke the command, first tell its agent: swarm agent say {agent} \
                \"...\""
            ),
            Self::Merged(idea) => {
                format!("If {idea} itself broke the command, first: swarm idea cancel {idea}")
            }
        }
    }
}

/// Raises or clears the warning about a quality command that has ended. Returns whether the
/// environment is at fault: then the swarm pauses, and the command runs again after that.
pub(super) fn hold(
    plan: &mut Plan<'_>,
    tree: &CheckedTree<'_>,
    index: usize,
    command: &str,
    how: &RunEndKind,
) -> bool {
    let key = WarningKind::Check.about(index);
    let (code, why) = match how {
        // Exit codes of a shell, from POSIX.
        RunEndKind::Exited { code: code @ 126 } => (*code, "execute"),
        RunEndKind::Exited { code: code @ 127 } => (*code, "find"),
        RunEndKind::Exited { .. } => {
            plan.clear_warning(&key);
            return false;
        }
        RunEndKind::TimedOut => {
            warn_of_time_limit(plan, &key, command);
            return false;
        }
        // None of these says whether the command works.
        RunEndKind::Signalled { .. }
        | RunEndKind::Idle
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::OutputLimit
        | RunEndKind::NotStarted { .. }
        | RunEndKind::Lost => return false,
    };
    // Others met it before.
    if plan.state.swarm.broken_command.as_deref() == Some(command) {
        return true;
    }
    let message = format!(
        "the quality command `{command}` fails with exit code {code} {}: the shell cannot {why} \
        its program. No idea is to blame, so nothing starts. Install the program, or change \
        qualityCommands in .swarm/config.json; then: swarm resume. {}",
        tree.describe(),
        tree.remedy()
    );
    plan.warn(&key, &message);
    if let Err(refused) = swarm::pause_for_command(plan, &message, command) {
        plan.warn(&key, &format!("{message} ({refused})"));
    }
    true
}

fn warn_of_time_limit(plan: &mut Plan<'_>, key: &str, command: &str) {
    let settings = plan.state.settings.as_deref();
    let minutes = settings.map_or(0, |settings| settings.quality_timeout_ms / 60_000);
    plan.warn(
        key,
        &format!(
            "the quality command `{command}` did not finish within {minutes} min \
            (qualityTimeoutMinutes). Nothing can pass it, and each try costs an iteration; speed \
            it up, or raise qualityTimeoutMinutes in .swarm/config.json"
        ),
    );
}

/// Clears warnings about commands that a new configuration changed.
pub(super) fn configured(plan: &mut Plan<'_>) {
    let keys = plan.state.warnings.keys();
    let ours: Vec<String> = keys
        .filter(|key| WarningKind::of(key) == Some(WarningKind::Check))
        .cloned()
        .collect();
    for key in ours {
        plan.clear_warning(&key);
    }
}
