//! What an agent's program itself said about the end of its run, beside its exit code.
//!
//! Invariant: success needs the program's own last word; an output that ends without one is cut
//! off, whatever the exit code.

use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// How a run went, by the program's own word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Verdict {
    /// Its turn is complete, it said, and it ended accordingly.
    Complete,
    /// It ended without a last word.
    Cut,
    /// It failed.
    Failed {
        /// What was to blame.
        cause: Cause,
        /// What it said, as one harmless line of at most 500 characters.
        message: String,
    },
}

/// What was to blame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Cause {
    /// The account's usage or rate limit.
    Limit {
        /// When it is reset, where that was told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// The service: overloaded, failing, not to be reached.
    Overloaded,
    /// The login: missing, expired, refused, not paid.
    Login,
    /// The conversation that was to be gone on with: missing, or refused as it is.
    Session,
    /// Anything else: the request, the program.
    Other,
}

impl Verdict {
    /// Whether an account has to wait: its service did not do its part.
    pub fn is_of_account(&self) -> bool {
        let Self::Failed { cause, .. } = self else {
            return false;
        };
        matches!(
            cause,
            Cause::Limit { .. } | Cause::Overloaded | Cause::Login
        )
    }
}
