//! Quality and setup commands that nothing can pass: the shell cannot find or execute the program,
//! or it never finishes in time.
//!
//! Invariant: exit codes 126 and 127 are a fault of the environment and never an idea's: the swarm
//! pauses, and what needs the command waits until a person resumes it or changes the configuration.
//! A warning stays until the command runs to its end or the configuration changes. Called when a
//! quality command ends.

use crate::domain::decide::decision::Plan;
use crate::domain::decide::swarm;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::observation::RunEndKind;
use crate::domain::state::State;
use crate::domain::state::setup::SetupDue;
use crate::domain::warning::WarningKind;

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::domain::decide) enum CommandKind {
    /// Makes a tree ready for use.
    Setup,
    /// Judges a tree.
    Quality,
}

/// A configured command that a tree must pass.
#[derive(Debug, Clone, Copy)]
pub(in crate::domain::decide) struct CheckCommand<'a> {
    pub(in crate::domain::decide) kind: CommandKind,
    /// Index in the configuration, from 0.
    pub(in crate::domain::decide) index: usize,
    pub(in crate::domain::decide) command: &'a str,
}

impl<'a> CheckCommand<'a> {
    pub(in crate::domain::decide) fn quality(index: usize, command: &'a str) -> Self {
        Self {
            kind: CommandKind::Quality,
            index,
            command,
        }
    }

    /// Whether it is what a tree has to pass next: the setup that is due comes first.
    pub(in crate::domain::decide) fn is_next(
        &self,
        state: &State,
        setup: Option<&SetupDue>,
        quality_next: usize,
    ) -> bool {
        let next = match (self.kind, setup) {
            (CommandKind::Setup, Some(due)) => due.next,
            (CommandKind::Quality, None) => quality_next,
            (CommandKind::Setup, None) | (CommandKind::Quality, Some(_)) => return false,
        };
        next == self.index && self.is_current(state)
    }

    /// Whether it is still configured at this index.
    pub(in crate::domain::decide) fn is_current(&self, state: &State) -> bool {
        let Some(settings) = state.settings.as_deref() else {
            return false;
        };
        let commands = match self.kind {
            CommandKind::Setup => &settings.setup,
            CommandKind::Quality => &settings.quality_commands,
        };
        commands.get(self.index).map(String::as_str) == Some(self.command)
    }

    /// Key of the warning about it.
    pub(in crate::domain::decide) fn warning_key(&self) -> String {
        let kind = match self.kind {
            CommandKind::Setup => WarningKind::Setup,
            CommandKind::Quality => WarningKind::Check,
        };
        kind.about(self.index)
    }

    fn name(&self) -> &'static str {
        match self.kind {
            CommandKind::Setup => "setup command",
            CommandKind::Quality => "quality command",
        }
    }

    fn configuration_key(&self) -> &'static str {
        match self.kind {
            CommandKind::Setup => "worktree.setup",
            CommandKind::Quality => "qualityCommands",
        }
    }
}

/// The tree that a command ran in.
pub(in crate::domain::decide) enum CheckedTree<'a> {
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

/// Raises or clears the warning about a command that has ended. Returns whether the
/// environment is at fault: then the swarm pauses, and the command runs again after that.
pub(in crate::domain::decide) fn hold(
    plan: &mut Plan<'_>,
    tree: &CheckedTree<'_>,
    command: CheckCommand<'_>,
    how: &RunEndKind,
) -> bool {
    let key = command.warning_key();
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
    if plan.state.swarm.broken_command.as_deref() == Some(command.command) {
        return true;
    }
    let message = format!(
        "the {} `{}` fails with exit code {code} {}: the shell cannot {why} its program. No idea \
        is to blame, so nothing starts. Install the program, or change {} in .swarm/config.json; \
        then: swarm resume. {}",
        command.name(),
        command.command,
        tree.describe(),
        command.configuration_key(),
        tree.remedy()
    );
    plan.warn(&key, &message);
    if let Err(refused) = swarm::pause_for_command(plan, &message, command.command) {
        plan.warn(&key, &format!("{message} ({refused})"));
    }
    true
}

fn warn_of_time_limit(plan: &mut Plan<'_>, key: &str, command: CheckCommand<'_>) {
    let settings = plan.state.settings.as_deref();
    let minutes = settings.map_or(0, |settings| settings.quality_timeout_ms / 60_000);
    plan.warn(
        key,
        &format!(
            "the {} `{}` did not finish within {minutes} min \
            (qualityTimeoutMinutes). Nothing can pass it, and each try costs an iteration; speed \
            it up, or raise qualityTimeoutMinutes in .swarm/config.json",
            command.name(),
            command.command
        ),
    );
}

/// Clears warnings about commands that a new configuration changed.
pub(in crate::domain::decide) fn configured(plan: &mut Plan<'_>) {
    let keys = plan.state.warnings.keys();
    let ours: Vec<String> = keys
        .filter(|key| {
            let kind = WarningKind::of(key);
            matches!(kind, Some(WarningKind::Check | WarningKind::Setup))
        })
        .cloned()
        .collect();
    for key in ours {
        plan.clear_warning(&key);
    }
}
