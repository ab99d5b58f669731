//! Warnings: what people should know that does not stop the work, and the commands to type.

use serde::Serialize;
use utoipa::ToSchema;

use super::TargetNow;
use super::warnings;
use crate::domain::state::{State, Warning};
use crate::domain::time::Timestamp;
use crate::domain::warning::WarningKind;

/// A warning that does not stop the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Warning)]
pub struct WarningView {
    /// What it is about: `disk`, `repository`, `target`, `config`, `hook`, `budget`, `stuck`,
    /// `no-checks`, `checks` (what a probe of them found), `daemon` (it was killed), `moved` (the
    /// swarm goes on elsewhere) and so on; `other` if a newer version of swarm raised it.
    #[schema(value_type = String)]
    pub kind: &'static str,
    /// What happened and why.
    pub message: String,
    /// The commands to type in the repository's root.
    pub commands: Vec<String>,
}

impl WarningView {
    /// A warning without commands.
    pub(in crate::view) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            commands: Vec::new(),
        }
    }

    /// Adds a command.
    pub(in crate::view) fn command(mut self, command: impl Into<String>) -> Self {
        self.commands.push(command.into());
        self
    }

    fn known(key: &str, warning: &Warning) -> Self {
        Self {
            kind: WarningKind::of(key).map_or("other", Into::into),
            message: warning.message.clone(),
            commands: warning.commands.clone(),
        }
    }
}

/// The warnings of the log, of the wanted kinds.
pub(in crate::view) fn raised(
    state: &State,
    wanted: impl Fn(Option<WarningKind>) -> bool,
) -> impl Iterator<Item = WarningView> {
    let all = state.warnings.iter();
    let wanted = all.filter(move |(key, _)| wanted(WarningKind::of(key)));
    wanted.map(|(key, warning)| WarningView::known(key, warning))
}

/// The warnings that everybody must see: nothing goes on, or not as configured.
pub fn standstills(
    state: &State,
    now: &TargetNow,
    stalled: Option<(Timestamp, String)>,
) -> Vec<WarningView> {
    let is_one = |warning: &WarningView| {
        ["log", "moved", "disk", "repository", "target", "config"].contains(&warning.kind)
    };
    let all = warnings(state, now, stalled).into_iter();
    all.filter(is_one).collect()
}
