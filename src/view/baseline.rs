//! What people are told about the check of the untouched target.

use super::{NeedsYou, WarningView};
use crate::domain::settings::{BaselineMode, Settings};
use crate::domain::state::State;
use crate::domain::state::baseline::BaselineFailure;

/// Says that swarm checks nothing, because there is nothing to check with.
const NO_QUALITY_COMMANDS: &str = "no quality command is configured, so swarm checks nothing \
    before work lands; add your project's commands to qualityCommands in .swarm/config.json";

/// Nothing begins, because the target fails its own checks.
pub(super) fn red(state: &State) -> Option<NeedsYou> {
    let failed = state.red_baseline()?;
    let settings = state.settings.as_deref()?;
    let again = "swarm checks again by itself, after growing waits and when the branch or the \
        configuration changes";
    let resume = "swarm resume   # after the fix: checks again at once".to_owned();
    Some(NeedsYou {
        kind: "target",
        idea_id: None,
        message: format!("no idea begins: {}. {again}", what(failed, settings)),
        commands: output(failed).into_iter().chain([resume]).collect(),
    })
}

/// Warnings that hold nothing up.
pub(super) fn warnings(state: &State) -> Vec<WarningView> {
    let Some(settings) = state.settings.as_deref() else {
        return Vec::new();
    };
    let failed = state.swarm.baseline.failed.as_ref();
    let failed = failed.filter(|_| settings.baseline == BaselineMode::Warn);
    let failed = failed.map(|failed| {
        let warning = WarningView::new("target", what(failed, settings));
        match output(failed) {
            Some(command) => warning.command(command),
            None => warning,
        }
    });
    let nothing = settings.quality_commands.is_empty();
    let nothing = nothing.then(|| WarningView::new("no-checks", NO_QUALITY_COMMANDS));
    nothing.into_iter().chain(failed).collect()
}

/// The command that shows the output of the failed check.
fn output(failed: &BaselineFailure) -> Option<String> {
    let run = failed.run.as_ref()?;
    let folder = format!(".swarm/runs/{run}");
    Some(format!(
        "tail -n 50 {folder}/stdout.log {folder}/stderr.log"
    ))
}

/// Which command failed on which commit, how, and the end of its output.
fn what(failed: &BaselineFailure, settings: &Settings) -> String {
    let branch = &settings.target;
    let (Some(command), Some(commit)) = (&failed.command, &failed.commit) else {
        return format!("{branch} cannot be checked: {}", failed.how);
    };
    let output = failed.output.as_deref();
    let output = output.map_or_else(String::new, |output| format!(": {output}"));
    let is_setup = settings.setup.contains(command) && !settings.quality_commands.contains(command);
    let kind = if is_setup { "the setup command " } else { "" };
    format!(
        "{kind}`{command}` fails on {branch} at {commit:.10}, before any work ({}){output}",
        failed.how
    )
}
