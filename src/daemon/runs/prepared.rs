//! A process that a run would start, or why none can be made.

use crate::daemon::effects::outcome::kind_of;
use crate::domain::ids::AgentId;
use crate::domain::observation::{FailureKind, Outcome};
use crate::process::RunSpec;

/// A process and the files in its run's directory.
pub(crate) type Prepared = (RunSpec, Vec<(&'static str, Vec<u8>)>);

/// A run that no process can be made of.
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
    /// A person has to put something right first.
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
