//! The specification of a run's process, or why none is possible. Returned by `launch`.

use crate::daemon::effects::outcome::kind_of;
use crate::domain::ids::AgentId;
use crate::domain::observation::{FailureKind, Outcome};
use crate::process::RunSpec;

/// A process and the files in its run's directory.
pub(crate) type Prepared = (RunSpec, Vec<(&'static str, Vec<u8>)>);

/// Why no process can be specified for a run.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Unusable {
    kind: FailureKind,
    message: String,
}

impl From<Unusable> for Outcome {
    fn from(unusable: Unusable) -> Self {
        Self::Failed {
            kind: unusable.kind,
            message: unusable.message,
        }
    }
}

impl Unusable {
    /// A person must correct something first.
    pub(crate) fn because(why: impl std::fmt::Display) -> Self {
        Self {
            kind: FailureKind::AgentUnusable,
            message: why.to_string(),
        }
    }
}

pub(super) fn unusable(error: impl std::fmt::Display) -> Unusable {
    Unusable::because(error)
}

pub(super) fn other(error: impl std::error::Error + 'static) -> Unusable {
    Unusable {
        kind: kind_of(&error),
        message: error.to_string(),
    }
}

pub(super) fn ended(agent: &AgentId) -> Unusable {
    Unusable {
        kind: FailureKind::Other,
        message: format!("agent {agent} has ended"),
    }
}
