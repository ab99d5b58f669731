//! The specification of a run's process, or why none is possible. Returned by `launch`.

use crate::daemon::effects::failure::kind_of;
use crate::domain::ids::AgentId;
use crate::domain::outcome::{Failure, FailureKind};
use crate::process::RunSpec;

/// A process and the files in its run's directory.
pub(crate) type Prepared = (RunSpec, Vec<(&'static str, Vec<u8>)>);

/// No process can be specified for a run; a person must correct something first.
pub(crate) fn unusable(error: impl std::fmt::Display) -> Failure {
    Failure {
        kind: FailureKind::AgentUnusable,
        message: error.to_string(),
    }
}

pub(super) fn other(error: impl std::error::Error + 'static) -> Failure {
    Failure {
        kind: kind_of(&error),
        message: error.to_string(),
    }
}

pub(super) fn ended(agent: &AgentId) -> Failure {
    Failure::other(format!("agent {agent} has ended"))
}
