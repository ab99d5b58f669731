//! What people are told about the check of the untouched target.

use super::WarningView;
use crate::domain::attention::{baseline_failure, baseline_output};
use crate::domain::settings::BaselineMode;
use crate::domain::state::State;

/// Says that swarm checks nothing, because there is nothing to check with.
const NO_QUALITY_COMMANDS: &str = "no quality command is configured, so swarm checks nothing \
    before work lands; add your project's commands to qualityCommands in .swarm/config.json";

/// Warnings that hold nothing up.
pub(super) fn warnings(state: &State) -> Vec<WarningView> {
    let Some(settings) = state.settings.as_deref() else {
        return Vec::new();
    };
    let failed = state.swarm.baseline.failed.as_ref();
    let failed = failed.filter(|_| settings.baseline == BaselineMode::Warn);
    let failed = failed.map(|failed| {
        let warning = WarningView::new("target", baseline_failure(failed, settings));
        match baseline_output(failed) {
            Some(command) => warning.command(command),
            None => warning,
        }
    });
    let nothing = settings.quality_commands.is_empty();
    let nothing = nothing.then(|| WarningView::new("no-checks", NO_QUALITY_COMMANDS));
    nothing.into_iter().chain(failed).collect()
}
