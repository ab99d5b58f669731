//! What people are told about the check of the untouched target.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::attention::{baseline_failure, baseline_output};
use crate::domain::ids::Oid;
use crate::domain::settings::{BaselineMode, Settings};
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::WarningView;

/// The check of the untouched target that is running now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BaselineCheck)]
pub struct BaselineView {
    /// The commit of the target.
    #[schema(value_type = String)]
    pub commit: Oid,
    /// The quality or setup command that runs; absent between two commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub command: Option<String>,
    /// Whether the quality commands are probed: whether they see the tree that they check.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub probe: bool,
    /// When it began.
    #[schema(schema_with = crate::view::schema::time, required)]
    pub since: Timestamp,
}

/// The check of the untouched target that is running now.
pub(in crate::view) fn running(state: &State) -> Option<BaselineView> {
    let check = state.swarm.baseline.checking.as_ref()?;
    Some(BaselineView {
        commit: check.commit.clone(),
        command: state.baseline_command().map(str::to_owned),
        probe: check.setup.is_none() && state.is_at_probe(check),
        since: check.since,
    })
}

/// Says that swarm checks nothing, because there is nothing to check with.
const NO_QUALITY_COMMANDS: &str = "no quality command is configured, so swarm checks nothing \
    before work lands; add your project's commands to qualityCommands in .swarm/config.json";

/// Warnings that hold nothing up.
pub(in crate::view) fn warnings(state: &State) -> Vec<WarningView> {
    let Some(settings) = state.settings.as_deref() else {
        return Vec::new();
    };
    let failed = state.swarm.baseline.failed.as_ref();
    let failed = failed
        .filter(|_| settings.baseline == BaselineMode::Warn && state.red_baseline().is_none());
    let failed = failed.map(|failed| {
        let warning = WarningView::new("target", baseline_failure(failed, settings));
        match baseline_output(failed) {
            Some(command) => warning.command(command),
            None => warning,
        }
    });
    let nothing = settings.quality_commands.is_empty();
    let nothing = nothing.then(|| WarningView::new("no-checks", NO_QUALITY_COMMANDS));
    let probed = probe_warnings(state, settings);
    nothing.into_iter().chain(failed).chain(probed).collect()
}

/// What a probe found out about the checks that holds nothing up. A tree without source files needs
/// no probe.
fn probe_warnings(state: &State, settings: &Settings) -> Vec<WarningView> {
    let probed = state.swarm.baseline.probed.as_deref();
    let Some(probed) = probed.filter(|_| settings.probes_checks()) else {
        return Vec::new();
    };
    let alarms = &probed.found.alarms;
    let alarms = alarms.iter().filter(|_| !settings.requires_canary());
    let alarms = alarms.map(|alarm| {
        let warning = WarningView::new("checks", alarm.message.clone());
        warning.command("swarm doctor")
    });
    let notes = probed.found.notes.iter();
    alarms
        .chain(notes.map(|note| WarningView::new("checks", note.clone())))
        .collect()
}
