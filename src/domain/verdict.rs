//! What an agent's program reported about the end of its run, apart from its exit code.
//!
//! Invariant: success requires the program's own final report; an output without one was cut off,
//! whatever the exit code. The adapters in `agents` set it.

use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// Result of a run as its program reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Verdict {
    /// It reported that its turn was complete, and exited accordingly.
    Complete,
    /// It ended without a final report.
    Cut,
    /// It failed.
    Failed {
        /// What was at fault.
        cause: Cause,
        /// Its message, as one harmless line of at most 500 characters.
        message: String,
    },
}

/// What was at fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Cause {
    /// A usage or rate limit of the account.
    Limit {
        /// When the limit resets, if reported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// The provider: overloaded, failing or unreachable.
    Overloaded,
    /// The login: missing, expired or refused.
    Login,
    /// The account has no credit left, or its spending cap is reached.
    Credit,
    /// The profile: its program does not know an argument or the model. Only before the model has
    /// answered.
    Profile,
    /// The conversation to resume: missing or refused.
    Session,
    /// The conversation: too long, or with content that its provider refuses. Resuming it is
    /// useless.
    Exhausted,
    /// Anything else: the request, the program.
    Other,
}

impl Verdict {
    /// What the program said of its failure.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Failed { message, .. } => Some(message),
            Self::Complete | Self::Cut => None,
        }
    }

    /// Whether the account or the profile must wait, and the work is not at fault.
    pub fn is_of_provider(&self) -> bool {
        let Self::Failed { cause, .. } = self else {
            return false;
        };
        matches!(
            cause,
            Cause::Limit { .. } | Cause::Overloaded | Cause::Login | Cause::Credit | Cause::Profile
        )
    }
}
